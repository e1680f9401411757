"""Metrics over links between GPUs: topology matrix, NVLink states and counters."""

from __future__ import annotations

from diagnose.artifacts.base import Row
from diagnose.findings import Fact
from diagnose.metrics.measurements import Measurements
from diagnose.metrics.registry import known, metric, unknown
from diagnose.scope import Grain, Scope

RUN: tuple[Grain, ...] = ("run",)


def _pairs(m: Measurements) -> list[Row] | Fact:
    """One row a GPU pair; a `topo -mp` matrix cannot show NVLink and does not count."""
    rows = m.rows("gpu_pairs")
    if not rows:
        return unknown("no topology matrix", "gpu_pairs")
    shown = [row for row in rows if not row["hides_nvlink"]]
    if not shown:
        return unknown("the topology matrix is from `topo -mp`, which hides NVLink", "gpu_pairs")
    best: dict[tuple[int, int], Row] = {}
    for row in shown:
        best[(row["gpu_a"], row["gpu_b"])] = row
    return list(best.values())


@metric("count", ("gpu_pairs",), grains=RUN)
def pairs_count(m: Measurements, scope: Scope) -> Fact:
    """GPU pairs in the topology matrix."""
    del scope
    found = _pairs(m)
    return found if isinstance(found, Fact) else known(float(len(found)), "topology matrix")


@metric("count", ("gpu_pairs",), grains=RUN)
def nvlink_pairs(m: Measurements, scope: Scope) -> Fact:
    """GPU pairs joined by NVLink (NV<n>)."""
    del scope
    found = _pairs(m)
    if isinstance(found, Fact):
        return found
    joined = sum(row["nvlinks"] > 0 for row in found)
    return known(
        float(joined),
        "topology matrix",
        numerator=float(joined),
        denominator=float(len(found)),
        parts_unit="count",
    )


@metric("count", ("gpu_pairs",), grains=RUN)
def pcie_pairs(m: Measurements, scope: Scope) -> Fact:
    """GPU pairs whose path is PCIe or the CPU interconnect (PIX, PXB, PHB, NODE, SYS)."""
    del scope
    found = _pairs(m)
    if isinstance(found, Fact):
        return found
    apart = sum(row["nvlinks"] == 0 for row in found)
    return known(
        float(apart),
        "topology matrix",
        numerator=float(apart),
        denominator=float(len(found)),
        parts_unit="count",
    )


@metric("flag", ("gpu_pairs",), grains=RUN)
def topo_hides_nvlink(m: Measurements, scope: Scope) -> Fact:
    """True when the only matrix is from `topo -mp`."""
    del scope
    rows = m.rows("gpu_pairs")
    if not rows:
        return unknown("no topology matrix", "gpu_pairs")
    return known(all(bool(row["hides_nvlink"]) for row in rows), "topology matrix")


@metric("text", ("nvlinks",), grains=RUN)
def nvlink_state(m: Measurements, scope: Scope) -> Fact:
    """active | some_inactive | all_inactive | unsupported, over all GPUs listed.

    `unsupported` and `all_inactive` both mean that no link is up; MIG hides the state (unknown).
    """
    del scope
    states = {str(row["state"]) for row in m.rows("nvlinks")}
    if not states or states == {"unknown"}:
        return unknown("no NVLink state", "nvlinks")
    if "active" in states:
        return known("active" if states == {"active"} else "some_inactive", "nvlink -s")
    if "unknown" in states:
        return unknown("the NVLink state of a GPU is unknown (MIG mode hides it)", "nvlinks")
    return known("unsupported" if states == {"unsupported"} else "all_inactive", "nvlink -s")


@metric("count", ("nvlinks",), grains=RUN)
def nvlink_active_links(m: Measurements, scope: Scope) -> Fact:
    """Active links, summed over GPUs."""
    del scope
    rows = m.rows("nvlinks")
    if not rows or all(row["state"] == "unknown" for row in rows):
        return unknown("no NVLink state", "nvlinks")
    active = {(row["gpu"], row["link"]) for row in rows if row["state"] == "active"}
    return known(float(len(active)), "nvlink -s")


@metric("bytes", ("nvlink_counters",), grains=RUN)
def nvlink_moved_bytes(m: Measurements, scope: Scope) -> Fact:
    """Bytes sent over NVLink between the first and last snapshot of the cumulative counters.

    Receive counters are left out: they count the same bytes at the other end. A counter that fell
    was reset and makes the value unknown.
    """
    del scope
    rows = m.rows("nvlink_counters")
    if len({(row["input"], row["snapshot"]) for row in rows}) < 2:
        return unknown("NVLink counters need two snapshots", "nvlink_counters")
    first: dict[tuple[int, int], float] = {}
    last: dict[tuple[int, int], float] = {}
    for row in sorted(rows, key=lambda r: (int(r["input"]), int(r["snapshot"]))):
        if row["tx_bytes"] is None:
            continue
        key = (row["gpu"], row["link"])
        first.setdefault(key, row["tx_bytes"])
        last[key] = row["tx_bytes"]
    deltas = [last[key] - first[key] for key in first]
    if not deltas or min(deltas) < 0:
        return unknown("the NVLink counters were reset between the snapshots", "nvlink_counters")
    return known(float(sum(deltas)), "nvlink -gt, two snapshots")
