"""Metrics over kernels: counts, times and shares per family, and the busy share of a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from diagnose.catalogue import dtypes
from diagnose.findings import ExhibitRow, Fact
from diagnose.metrics.measurements import Measurements
from diagnose.metrics.registry import claim, exhibit, known, metric, ratio, unknown
from diagnose.metrics.totals import Columns
from diagnose.scope import Scope
from diagnose.states.intervals import Intervals, subtract
from diagnose.states.kernels import BusyIntervals, TopKernels
from diagnose.states.names import Complement
from diagnose.states.trace_pass import TracePass

READS = ("kernels",)


def want_family(trace: TracePass, params: Mapping[str, Any]) -> None:
    """Registers the family so that names are classified as they appear."""
    if params.get("family"):
        trace.union_family(str(params["family"]))


def _select(m: Measurements, scope: Scope, family: str) -> Columns | Fact:
    problem = m.kernels_problem(scope, *(["name_id"] if family else []))
    if problem is None and family:
        problem = m.names_problem(scope)
    return problem if problem is not None else m.kernel_table.select(scope, family)


def source_of(scope: Scope, table: str = "kernels") -> str:
    place = [f"GPU {scope.device}"] if scope.device is not None else []
    place += [f"process {scope.pid}"] if scope.pid is not None else []
    return f"{table}, {', '.join(place) or 'whole trace'}"


@metric("count", READS, wants=want_family)
def kernel_count(m: Measurements, scope: Scope, *, family: str = "") -> Fact:
    """Kernels of a family (all kernels without one)."""
    found = _select(m, scope, family)
    return found if isinstance(found, Fact) else known(float(found.count.sum()), source_of(scope))


@metric("ns", READS, wants=want_family)
def kernel_time_ns(m: Measurements, scope: Scope, *, family: str = "") -> Fact:
    """Summed duration of the kernels of a family."""
    found = _select(m, scope, family)
    return found if isinstance(found, Fact) else known(float(found.sum_ns.sum()), source_of(scope))


@metric("ratio", READS, wants=want_family)
def kernel_time_share(m: Measurements, scope: Scope, *, family: str) -> Fact:
    """Summed duration of the family over that of all kernels of the scope."""
    found = _select(m, scope, family)
    if isinstance(found, Fact):
        return found
    whole = float(m.kernel_table.select(scope).sum_ns.sum())
    return ratio(float(found.sum_ns.sum()), whole, source_of(scope), "ns")


@metric("ns", READS, wants=want_family)
def kernel_max_ns(m: Measurements, scope: Scope, *, family: str = "") -> Fact:
    """The longest kernel of a family; 0 when there is none."""
    found = _select(m, scope, family)
    if isinstance(found, Fact):
        return found
    return known(float(found.max_ns.max(initial=0)), source_of(scope))


@metric("flag", READS, wants=want_family)
def family_is_last(m: Measurements, scope: Scope, *, family: str) -> Fact:
    """True when no kernel of the scope starts after the family's last one; false if it has none."""
    found = _select(m, scope, family)
    if isinstance(found, Fact):
        return found
    if not len(found.code):
        return known(False, source_of(scope))
    newest = int(m.kernel_table.select(scope).last_start.max())
    return known(bool(int(found.last_start.max()) >= newest), source_of(scope))


@metric("ns", READS, wants=want_family)
def tail_after_family_ns(m: Measurements, scope: Scope, *, family: str) -> Fact:
    """From the end of the family's last kernel to the end of the window."""
    found = _select(m, scope, family)
    if isinstance(found, Fact):
        return found
    if not len(found.code) or m.window is None:
        return unknown("the family has no kernel")
    return known(float(m.window[1] - int(found.last_end.max())), source_of(scope))


@metric("ratio", READS, grains=("run", "device"))
def kernel_busy_share(m: Measurements, scope: Scope) -> Fact:
    """Time with at least one kernel running over the window W."""
    problem = m.kernels_problem(scope)
    if problem is not None:
        return problem
    busy = m.busy(scope)
    if busy.exact_ns is not None:
        return ratio(float(busy.exact_ns), float(m.window_ns), source_of(scope), "ns")
    return ratio(float(busy.covered_ns), float(m.window_ns), source_of(scope), "ns", slack=busy.dropped_ns)


@metric("ratio", READS, wants=want_family)
def output_dtype_share(m: Measurements, scope: Scope, *, family: str, dtype: str) -> Fact:
    """Share of the family's time in kernels whose name says that they write `dtype`.

    Only names that tell their output type count; unknown when none does.
    """
    found = _select(m, scope, family)
    if isinstance(found, Fact):
        return found
    names = m.kernel_table.trace.kernel_names.names
    written = [dtypes.decode(names[int(code)]).out for code in found.code]
    told = np.array([bool(out) for out in written], dtype=np.bool_)
    same = np.array([out == dtype for out in written], dtype=np.bool_)
    if not told.any():
        return unknown("no kernel name of the family tells its output type")
    return ratio(float(found.sum_ns[same].sum()), float(found.sum_ns[told].sum()), source_of(scope), "ns")


@metric("ns", ("kernels",), grains=("run",))
def window_ns(m: Measurements, scope: Scope) -> Fact:
    """The window W: first to last kernel, copy, memset, graph launch or API call."""
    del scope
    return known(float(m.window_ns), "trace") if m.window else unknown("there is no trace", "kernels")


@metric("ratio", ("kernels",), grains=("run", "device"))
def graphs_hidden_share(m: Measurements, scope: Scope) -> Fact:
    """Share of the busy time recorded only as whole CUDA graphs."""
    if m.trace is None:
        return unknown("there is no trace", "kernels")
    share = m.graphs_hidden(scope)
    if share is None:
        return unknown("CUDA graphs ran but none of their work was recorded", "kernels.graph")
    return known(share, source_of(scope, "graph launches"))


def want_exposed(trace: TracePass, params: Mapping[str, Any]) -> None:
    family = str(params["family"])
    flags = trace.union_family(family)
    trace.want(("busy", "kernels", family), lambda: BusyIntervals("kernels", flags))
    trace.want(("busy", "kernels", "not " + family), lambda: BusyIntervals("kernels", Complement(flags)))


def _exposed(m: Measurements, scope: Scope, family: str) -> Intervals:
    return subtract(m.busy(scope, family=family), m.busy(scope, family="not " + family))


@metric("ns", READS, wants=want_exposed)
def family_exposed_ns(m: Measurements, scope: Scope, *, family: str) -> Fact:
    """Time in which only kernels of the family run, the largest over the devices of the scope."""
    problem = m.kernels_problem(scope, "name_id", "device") or m.names_problem(scope)
    if problem is not None:
        return problem
    devices = [scope.device] if scope.device is not None else m.devices_used
    alone = [_exposed(m, Scope(d, scope.pid), family).covered_ns for d in devices]
    return known(float(max(alone, default=0)), source_of(scope))


@claim(READS, wants=want_exposed)
def family_exposed_claim(m: Measurements, scope: Scope, *, family: str) -> list[tuple[int, Intervals]]:
    """The intervals in which only kernels of the family run, per device."""
    if m.kernels_problem(scope, "name_id", "device") or m.names_problem(scope):
        return []
    devices = [scope.device] if scope.device is not None else m.devices_used
    return [(d, _exposed(m, Scope(d, scope.pid), family)) for d in devices]


def want_top(trace: TracePass, params: Mapping[str, Any]) -> None:
    family = str(params["family"])
    flags = trace.union_family(family)
    trace.want(("top", family), lambda: TopKernels(flags))


@exhibit(READS, wants=want_top)
def top_kernels(m: Measurements, scope: Scope, limit: int, *, family: str) -> list[ExhibitRow]:
    """The longest kernels of the family."""
    if m.kernels_problem(scope) is not None:
        return []
    top = m.state(("top", family)).top
    names = m.kernel_table.trace.kernel_names.names
    rows = sorted(((row, key) for key in m.keys_in(scope) for row in top.get(key, [])), reverse=True)
    return [
        ExhibitRow(
            start_ns=start,
            duration_ns=duration,
            name=names[code],
            device=device if device >= 0 else None,
            stream=stream if stream >= 0 else None,
            pid=pid if pid >= 0 else None,
            correlation=correlation if correlation > 0 else None,
        )
        for (duration, start, stream, code, correlation), (pid, device) in rows[:limit]
    ]
