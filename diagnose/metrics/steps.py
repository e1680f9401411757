"""Metrics over steps: NVTX ranges that repeat, placed on the GPU by their first launch.

A step begins where the first kernel launched inside its range starts, and ends with the last kernel
before the next step begins. NVTX is CPU time, so the ranges themselves are not used as step times.
The NVTX table is read only when the family asked about has kernels at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from diagnose.artifacts.chunks import Ints
from diagnose.findings import Fact
from diagnose.metrics.kernels import source_of
from diagnose.metrics.measurements import Measurements
from diagnose.metrics.pairs import want_pairs
from diagnose.metrics.registry import known, metric, unknown
from diagnose.scope import Grain, Scope
from diagnose.states.intervals import Intervals, intersect
from diagnose.states.trace_pass import TracePass

READS = ("kernels", "ranges")
BY_DEVICE: tuple[Grain, ...] = ("device",)
MIN_STEPS, MAX_STEPS = 20, 20_000
MAX_RANGES = 2_000_000


@dataclass(frozen=True, slots=True)
class Steps:
    """GPU start and end of each step (ns), in order."""

    starts: Ints
    ends: Ints


def want_first(trace: TracePass, params: Mapping[str, Any]) -> None:
    trace.union_family(str(params["first"]))


def steps(m: Measurements, scope: Scope, first: str) -> Steps | Fact:
    key = ("steps", scope, first)
    if key not in m.cache:
        m.cache[key] = _steps(m, scope, first)
    return m.cache[key]  # type: ignore[no-any-return]


def _steps(m: Measurements, scope: Scope, first: str) -> Steps | Fact:
    problem = m.kernels_problem(scope, "name_id", "correlation") or m.names_problem(scope)
    if problem is not None:
        return problem
    assert m.trace is not None
    if not len(m.kernel_table.select(scope, first).code):
        return unknown("no kernel of the family ran")
    export = m.trace.export
    if not export.has("NVTX_EVENTS", "start", "end", "eventType", "globalTid"):
        return unknown("the trace holds no NVTX ranges", "ranges")
    found = _repeated_range(m)
    if found is None:
        return unknown("no NVTX range repeats at least 20 times on one thread", "ranges")
    tid, begins = found
    launches = _first_launches(m, tid, begins)
    starts = _kernel_starts(m, scope, launches, (tid >> 24) & 0xFFFFFF)
    if len(starts) < MIN_STEPS:
        return unknown("too few steps have a kernel on this GPU", "ranges")
    busy = m.busy(scope)
    last = np.searchsorted(busy.starts, starts[1:], side="left") - 1
    ends = np.minimum(busy.ends[last], starts[1:])
    good = ends > starts[:-1]
    return Steps(starts[:-1][good], ends[good])


def _repeated_range(m: Measurements) -> tuple[int, Ints] | None:
    """(thread, starts) of the range name that covers most time among those that repeat."""
    assert m.trace is not None
    export = m.trace.export
    text = "text" if export.has("NVTX_EVENTS", "text") else "NULL"
    text_id = "textId" if export.has("NVTX_EVENTS", "textId") else "NULL"
    rows = export.rows(
        f'SELECT globalTid, start, "end", {text}, {text_id} FROM NVTX_EVENTS '
        f'WHERE eventType IN (59, 60) AND "end" > start LIMIT {MAX_RANGES}'
    )
    names = export.strings({int(str(r[4])) for r in rows if r[3] is None and isinstance(r[4], int)})
    groups: dict[tuple[int, str], list[tuple[int, int]]] = {}
    for tid, start, end, words, words_id in rows:
        name = (
            str(words) if words is not None else names.get(words_id, "") if isinstance(words_id, int) else ""
        )
        if name and isinstance(tid, int) and isinstance(start, int) and isinstance(end, int):
            groups.setdefault((tid, re.sub(r"\d+", "#", name[:200])), []).append((start, end))
    best: tuple[int, int, Ints] | None = None
    for (tid, _), spans in groups.items():
        if not MIN_STEPS <= len(spans) <= MAX_STEPS:
            continue
        times = np.array(sorted(spans), dtype=np.int64)
        if (times[1:, 0] < times[:-1, 1]).any():
            continue  # nested or overlapping ranges of one name are no steps
        covered = int((times[:, 1] - times[:, 0]).sum())
        if best is None or covered > best[0]:
            best = (covered, tid, times[:, 0])
    return None if best is None else (best[1], best[2])


def _first_launches(m: Measurements, tid: int, begins: Ints) -> Ints:
    """Correlation id of the first launch on the thread at or after each step's begin (0: none)."""
    assert m.trace is not None
    flags = m.trace.group("launch")
    at: list[Ints] = []
    ids: list[Ints] = []
    for chunk in m.trace.export.stream("api_calls", ("start_ns", "global_tid", "correlation", "name_id")):
        mine = (chunk.columns["global_tid"] == tid) & flags.of(m.trace.api_names.codes(chunk))
        at.append(chunk.columns["start_ns"][mine])
        ids.append(chunk.columns["correlation"][mine])
    when, which = np.concatenate(at), np.concatenate(ids)
    order = np.argsort(when, kind="stable")
    when, which = when[order], which[order]
    place = np.searchsorted(when, begins, side="left")
    return (
        np.where(place < len(when), which[np.minimum(place, max(len(when) - 1, 0))], 0)
        if len(when)
        else begins * 0
    )


def _kernel_starts(m: Measurements, scope: Scope, launches: Ints, pid: int) -> Ints:
    """Sorted start times of the kernels of those launches on the scope's device."""
    assert m.trace is not None
    wanted = np.unique(launches[launches > 0])
    out: list[Ints] = []
    for chunk in m.trace.export.stream("kernels", ("start_ns", "correlation", "device", "global_pid")):
        mine = np.isin(chunk.columns["correlation"], wanted)
        if scope.device is not None:
            mine &= chunk.columns["device"] == scope.device
        if "global_pid" in chunk.columns:
            mine &= ((chunk.columns["global_pid"] >> 24) & 0xFFFFFF) == pid
        out.append(chunk.columns["start_ns"][mine])
    return np.unique(np.concatenate(out)) if out else np.zeros(0, dtype=np.int64)


@metric("count", READS, grains=BY_DEVICE, wants=want_first)
def step_count(m: Measurements, scope: Scope, *, first: str) -> Fact:
    """Steps found on the device."""
    found = steps(m, scope, first)
    return (
        found if isinstance(found, Fact) else known(float(len(found.starts)), source_of(scope, "NVTX ranges"))
    )


@metric("ratio", READS, grains=BY_DEVICE, wants=want_first)
def step_p99_ratio(m: Measurements, scope: Scope, *, first: str) -> Fact:
    """99th percentile of the step time over its median."""
    found = steps(m, scope, first)
    if isinstance(found, Fact):
        return found
    times = (found.ends - found.starts).astype(np.float64)
    p99, p50 = (float(np.percentile(times, q)) for q in (99, 50))
    return known(
        p99 / p50,
        source_of(scope, "NVTX ranges and kernels"),
        numerator=p99,
        denominator=p50,
        parts_unit="ns",
    )


@metric("number", READS, grains=BY_DEVICE, wants=want_pairs)
def step_time_correlation(m: Measurements, scope: Scope, *, first: str, then: str, skip: str = "") -> Fact:
    """Pearson correlation over steps between step time and the time of matched `then` kernels in it."""
    found = steps(m, scope, first)
    if isinstance(found, Fact):
        return found
    state = m.state(("pairs", first, then, skip))
    total = np.zeros(len(found.starts), dtype=np.float64)
    for key in m.keys_in(scope):
        if key not in state.matched:
            continue
        claims: Intervals = state.matched[key].claims.result()
        for i in range(len(total)):
            low = int(np.searchsorted(claims.ends, found.starts[i], side="right"))
            high = int(np.searchsorted(claims.starts, found.ends[i], side="left"))
            part = Intervals(claims.starts[low:high], claims.ends[low:high])
            step = Intervals(found.starts[i : i + 1], found.ends[i : i + 1])
            total[i] += intersect(part, step).covered_ns
    times = (found.ends - found.starts).astype(np.float64)
    if times.std() == 0.0 or total.std() == 0.0:
        return unknown("step times or cast times do not vary")
    return known(float(np.corrcoef(times, total)[0, 1]), source_of(scope, "NVTX ranges and kernels"))
