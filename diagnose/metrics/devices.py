"""Metrics over identity: which GPUs, their compute capability, form factor, NVLink kind, driver."""

from __future__ import annotations

from diagnose.catalogue import gpus
from diagnose.findings import Fact
from diagnose.metrics.measurements import Measurements
from diagnose.metrics.registry import known, metric, unknown
from diagnose.scope import Grain, Scope

READS = ("devices",)
BY_DEVICE: tuple[Grain, ...] = ("run", "device")


class Identity:
    """One GPU as the artifacts name it. `cc` as text ("8.9"), "" when nothing tells."""

    def __init__(self, name: str, cc: str, memory: int | None, source: str) -> None:
        self.name = name
        self.cc = cc or (gpus.compute_capability(name) if name else "")
        self.memory = memory
        self.source = source


def identities(m: Measurements, scope: Scope) -> list[Identity]:
    """GPUs of the scope: the ones the trace used, else all that any artifact shows."""
    traced = m.rows("trace_devices")
    used = {scope.device} if scope.device is not None else set(m.devices_used)
    chosen = [row for row in traced if row["device"] in used] if used else traced
    if chosen or (traced and used):
        return [Identity(r["name"], r["cc"] or "", r["memory_bytes"], "trace") for r in chosen]
    rows = [row for row in m.rows("devices") if row["name"] or row["cc"]]
    if scope.device is not None:
        named = {r["name"] for r in rows if r["name"]}
        # Without a trace record the ordinal is not the nvidia-smi index; equal names settle it.
        rows = rows if len(named) == 1 else []
    return [Identity(r["name"] or "", r["cc"] or "", r["memory_bytes"], "text") for r in rows]


def _capabilities(m: Measurements, scope: Scope) -> list[float] | Fact:
    found = identities(m, scope)
    if not found:
        return unknown("no artifact tells which GPU ran", "devices")
    if not all(one.cc for one in found):
        return unknown("the compute capability of a GPU is not known", "devices.cc")
    # "12.1" is higher than "12.0" but "8.10" does not exist: one decimal digit is enough.
    return [float(one.cc) for one in found]


@metric("number", READS, grains=BY_DEVICE)
def compute_capability_max(m: Measurements, scope: Scope) -> Fact:
    """Highest compute capability among the GPUs used (all visible ones when use is unknown)."""
    found = _capabilities(m, scope)
    return found if isinstance(found, Fact) else known(max(found), "GPU identity")


@metric("number", READS, grains=BY_DEVICE)
def compute_capability_min(m: Measurements, scope: Scope) -> Fact:
    """Lowest compute capability among the GPUs used (all visible ones when use is unknown)."""
    found = _capabilities(m, scope)
    return found if isinstance(found, Fact) else known(min(found), "GPU identity")


def _same(values: set[str], what: str) -> Fact:
    if not values or "" in values:
        return unknown(f"the {what} is not known", "devices")
    return known("mixed" if len(values) > 1 else values.pop(), "GPU identity")


@metric("text", READS, grains=BY_DEVICE)
def device_form(m: Measurements, scope: Scope) -> Fact:
    """Form factor by product name: SXM, PCIe, or mixed."""
    found = identities(m, scope)
    return _same({gpus.form(one.name) for one in found}, "form factor")


@metric("text", READS, grains=BY_DEVICE)
def device_nvlink_kind(m: Measurements, scope: Scope) -> Fact:
    """What NVLink the product can have: none, bridge, nvswitch, …"""
    found = identities(m, scope)
    return _same({gpus.nvlink_kind(one.name) for one in found}, "NVLink kind of the product")


@metric("text", READS, grains=BY_DEVICE)
def device_name(m: Measurements, scope: Scope) -> Fact:
    """Product name."""
    return _same({one.name for one in identities(m, scope)}, "name of the GPU")


@metric("count", ("devices", "gpu_pairs", "nvlinks"), grains=("run",))
def device_count(m: Measurements, scope: Scope) -> Fact:
    """GPUs that any artifact shows (the largest number one of them gives)."""
    del scope
    pairs = {g for r in m.rows("gpu_pairs") for g in (r["gpu_a"], r["gpu_b"])}
    links = {r["gpu"] for r in m.rows("nvlinks") if r["gpu"] is not None}
    named = {r["gpu"] for r in m.rows("devices") if r["gpu"] is not None}
    count = max(len(pairs), len(links), len(named), len(m.rows("trace_devices")), len(m.devices_used))
    return known(float(count), "all artifacts") if count else unknown("no artifact shows a GPU", "devices")


@metric("bytes", READS, grains=BY_DEVICE)
def memory_total_bytes(m: Measurements, scope: Scope) -> Fact:
    """Memory of the GPU as recorded (smallest of the scope)."""
    sizes = [one.memory for one in identities(m, scope) if one.memory]
    return (
        known(float(min(sizes)), "GPU identity") if sizes else unknown("memory size not recorded", "devices")
    )


@metric("number", ("devices",), grains=("run",))
def driver_branch(m: Measurements, scope: Scope) -> Fact:
    """Major number of the driver, e.g. 525."""
    del scope
    told = [m.facts.driver, *(str(row.get("driver") or "") for row in m.rows("devices"))]
    majors = {text.split(".")[0] for text in told if text}
    if len(majors) != 1 or not next(iter(majors)).isdigit():
        return unknown("driver version not recorded, or not the same everywhere", "devices")
    return known(float(majors.pop()), "GPU identity")
