"""Metrics over unified (managed) memory: moves by cause, how exposed they are, repeated moves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from diagnose.findings import ExhibitRow, Fact
from diagnose.metrics.copies import Chosen
from diagnose.metrics.kernels import source_of
from diagnose.metrics.measurements import Measurements
from diagnose.metrics.registry import claim, exhibit, known, metric, ratio, unknown
from diagnose.scope import Grain, Scope
from diagnose.states.copies import GRANULE_BITS, Copies, Granules
from diagnose.states.intervals import Intervals, subtract
from diagnose.states.trace_pass import TracePass

READS = ("copies", "kernels")
CHOICES = {
    "cause": ("any", "prefetch", "fault", "speculative", "eviction", "access_counters"),
    "kind": ("any", "htod", "dtoh"),
}
BY_PROCESS: tuple[Grain, ...] = ("run", "process")
NOT_RECORDED = "this capture could not record unified memory"
NOT_TRACED = ("Unified Memory cannot be traced", "Unified Memory trace is not supported")


def want_um(trace: TracePass, params: Mapping[str, Any]) -> None:
    kind, cause = "um_" + str(params.get("kind", "any")), str(params.get("cause", "any"))
    trace.want(("copies", kind, 0, cause), lambda: Copies(kind, 0, cause))


def want_granules(trace: TracePass, params: Mapping[str, Any]) -> None:
    cause = str(params.get("cause", "any"))
    trace.want(("granules", cause), lambda: Granules(cause))


def traceable(m: Measurements) -> bool:
    """False when the trace itself says that unified memory could not be recorded."""
    return not any(text in str(row["text"]) for row in m.rows("diagnostics") for text in NOT_TRACED)


def _choose(m: Measurements, scope: Scope, kind: str, cause: str, *columns: str) -> Chosen | Fact:
    needed = ["kind", *(["um_cause"] if cause != "any" else []), *columns]
    problem = m.copies_problem(scope, *needed)
    if problem is not None:
        return problem
    found = Chosen(m, scope, ("copies", "um_" + kind, 0, cause))
    if not found.total.count and not traceable(m):
        return unknown(NOT_RECORDED, "copies.um")
    return found


@metric("flag", READS, grains=("run",))
def um_traceable(m: Measurements, scope: Scope) -> Fact:
    """False when a diagnostic says that unified memory cannot be traced on this machine."""
    del scope
    problem = m.stream_problem("api_calls")
    return problem or known(traceable(m), "diagnostics")


@metric("bytes", READS, wants=want_um, choices=CHOICES)
def um_bytes(m: Measurements, scope: Scope, *, cause: str = "any", kind: str = "any") -> Fact:
    """Bytes of managed memory moved for that cause."""
    found = _choose(m, scope, kind, cause, "bytes")
    return found if isinstance(found, Fact) else known(float(found.total.bytes), source_of(scope, "copies"))


@metric("ratio", READS, wants=want_um, choices=CHOICES)
def um_busy_share(m: Measurements, scope: Scope, *, cause: str = "any", kind: str = "any") -> Fact:
    """Time with at least one such move running over the window W."""
    found = _choose(m, scope, kind, cause)
    if isinstance(found, Fact):
        return found
    covered, dropped = found.union.covered_ns, found.union.dropped_ns
    return ratio(float(covered), float(m.window_ns), source_of(scope, "copies"), "ns", slack=dropped)


@metric("ratio", READS, wants=want_um, choices=CHOICES)
def um_exposed_share(m: Measurements, scope: Scope, *, cause: str = "any", kind: str = "any") -> Fact:
    """Share of the move time during which no kernel ran."""
    found = _choose(m, scope, kind, cause)
    problem = m.kernels_problem(scope)
    if isinstance(found, Fact) or problem is not None:
        return found if isinstance(found, Fact) else problem  # type: ignore[return-value]
    alone = subtract(found.union, m.busy(scope))
    covered = found.union.covered_ns
    return ratio(float(alone.covered_ns), float(covered), source_of(scope, "copies and kernels"), "ns")


@metric("gb_s", READS, wants=want_um, choices=CHOICES)
def um_rate_gb_s(m: Measurements, scope: Scope, *, cause: str = "any", kind: str = "any") -> Fact:
    """Bytes moved over the time in which such a move ran (1e9 bytes a second)."""
    found = _choose(m, scope, kind, cause, "bytes")
    if isinstance(found, Fact):
        return found
    if not found.union.covered_ns:
        return unknown("no managed memory moved for that cause")
    return known(found.total.bytes / found.union.covered_ns, source_of(scope, "copies"))


def _moves(m: Measurements, scope: Scope, cause: str) -> list[int] | Fact:
    needed = ["kind", "address", *(["um_cause"] if cause != "any" else [])]
    if scope.pid is not None:
        needed.append("global_pid")
    problem = m.copies_problem(scope, *needed)
    if problem is not None:
        return problem
    state = m.state(("granules", cause))
    if state.full:
        return unknown("more than a million granules moved; only totals were kept")
    found = [
        count for pid, moves in state.moves.items() if m.same_process(scope, pid) for count in moves.values()
    ]
    return found if found or traceable(m) else unknown(NOT_RECORDED, "copies.um")


@metric("number", READS, grains=BY_PROCESS, wants=want_granules, choices={"cause": CHOICES["cause"]})
def um_region_moves(m: Measurements, scope: Scope, *, cause: str = "any") -> Fact:
    """Median number of times a touched 2 MiB granule moved to the device."""
    found = _moves(m, scope, cause)
    if isinstance(found, Fact):
        return found
    if not found:
        return unknown("no managed memory moved to the device for that cause")
    return known(float(np.median(found)), source_of(scope, "copies"))


@metric("bytes", READS, grains=BY_PROCESS, wants=want_granules, choices={"cause": CHOICES["cause"]})
def um_touched_bytes(m: Measurements, scope: Scope, *, cause: str = "any") -> Fact:
    """Distinct 2 MiB granules that moved to the device, times 2 MiB."""
    found = _moves(m, scope, cause)
    if isinstance(found, Fact):
        return found
    return known(float(len(found) << GRANULE_BITS), source_of(scope, "copies"))


@exhibit(READS, wants=want_um, choices=CHOICES)
def um_moves(
    m: Measurements, scope: Scope, limit: int, *, cause: str = "any", kind: str = "any"
) -> list[ExhibitRow]:
    """The longest moves of managed memory."""
    found = _choose(m, scope, kind, cause)
    if isinstance(found, Fact):
        return []
    return [
        ExhibitRow(
            start_ns=row[1],
            duration_ns=row[0],
            name=f"unified memory {cause} move",
            device=device if device >= 0 else None,
            pid=pid if pid >= 0 else None,
            detail=f"{row[3]:,} bytes",
        )
        for device, row, pid in found.top[:limit]
    ]


@claim(READS, wants=want_um, choices=CHOICES)
def um_exposed_claim(
    m: Measurements, scope: Scope, *, cause: str = "any", kind: str = "any"
) -> list[tuple[int, Intervals]]:
    """The intervals of moves during which no kernel ran, per device."""
    out = []
    for device in sorted({d for _, d in m.keys_in(scope)}):
        one = Scope(device, scope.pid)
        found = _choose(m, one, kind, cause)
        if not isinstance(found, Fact) and m.kernels_problem(one) is None:
            out.append((device, subtract(found.union, m.busy(one))))
    return out
