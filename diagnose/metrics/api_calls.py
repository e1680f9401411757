"""Metrics over CUDA API calls: counts, host time on one thread, time blocked with an idle GPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from diagnose.catalogue import apis
from diagnose.findings import ExhibitRow, Fact
from diagnose.metrics.measurements import GPU_STREAMS, Measurements
from diagnose.metrics.registry import claim, exhibit, known, metric, ratio, unknown
from diagnose.scope import Grain, Scope
from diagnose.states.api_calls import AllocSyncAlloc, ApiIntervals, SlowCalls
from diagnose.states.intervals import Intervals, join, overlap_ns, subtract
from diagnose.states.trace_pass import TracePass

READS = ("api_calls",)
BY_PROCESS: tuple[Grain, ...] = ("process", "run")
GROUPS = {"group": tuple(sorted(apis.GROUPS))}


def pid_of(tid: int) -> int:
    """nsys global thread id → process id."""
    return (tid >> 24) & 0xFFFFFF


def want_group(trace: TracePass, params: Mapping[str, Any]) -> None:
    trace.group(str(params["group"]))


def want_intervals(trace: TracePass, params: Mapping[str, Any]) -> None:
    flags = trace.group(str(params["group"]))
    trace.want(("api", str(params["group"])), lambda: ApiIntervals(flags))


def want_slow(trace: TracePass, params: Mapping[str, Any]) -> None:
    flags, over = trace.group(str(params["group"])), float(params.get("over_us", 100))
    key = ("slow", str(params["group"]), over)
    trace.want(key, lambda: SlowCalls(flags, int(over * 1000)))


def _source(scope: Scope, extra: str = "") -> str:
    who = f"process {scope.pid}" if scope.pid is not None else "all processes"
    return f"api_calls, {who}" + (f", {extra}" if extra else "")


@metric("count", READS, grains=BY_PROCESS, wants=want_group, choices=GROUPS)
def api_count(m: Measurements, scope: Scope, *, group: str) -> Fact:
    """Calls of an API group."""
    problem = m.api_problem(scope)
    if problem is not None:
        return problem
    count = m.api_table.count(group, scope)
    if count and (doubt := m.duplicates_problem()):
        return doubt
    return known(float(count), _source(scope))


@metric("ns", READS, grains=BY_PROCESS, wants=want_group, choices=GROUPS)
def api_time_ns(m: Measurements, scope: Scope, *, group: str) -> Fact:
    """Summed duration of the calls of a group, over all threads."""
    problem = m.api_problem(scope)
    if problem is not None:
        return problem
    time = int(m.api_table.select(scope, group).sum_ns.sum())
    if time and (doubt := m.duplicates_problem()):
        return doubt
    return known(float(time), _source(scope))


def context_ns(m: Measurements, tid: int, group: str = "") -> int:
    """Time of the context creation that thread `tid` paid for, in a call of the group."""
    call = m.state("api_totals").context_call(pid_of(tid))
    if call is None or call[2] != tid:
        return 0
    within = not group or bool(m.api_table.trace.group(group).flags[call[3]])
    return int(call[1]) if within else 0


def busiest_thread(m: Measurements, scope: Scope, group: str) -> tuple[int, int] | None:
    """(thread, summed time of the group) of the thread that spends most in it, context creation left out."""
    rows = m.api_table.select(scope, group)
    best: tuple[int, int] | None = None
    for tid in np.unique(rows.owner).tolist():
        time = int(rows.sum_ns[rows.owner == tid].sum()) - context_ns(m, tid, group)
        if best is None or time > best[1]:
            best = (tid, time)
    return best


@metric("ratio", READS, grains=BY_PROCESS, wants=want_group, choices=GROUPS)
def api_wall_share(m: Measurements, scope: Scope, *, group: str) -> Fact:
    """Time of the group on the ONE thread that spends most in it, over W_steady of its process.

    W_steady is the window without the process's longest call before its first launch or copy
    (context creation). Never summed over threads: that can exceed the wall time.
    """
    problem = m.api_problem(scope)
    if problem is not None:
        return problem
    best = busiest_thread(m, scope, group)
    if best is None:
        return known(0.0, _source(scope))
    if doubt := m.duplicates_problem():
        return doubt
    tid, time = best
    steady = m.steady_ns(pid_of(tid))
    left_out = m.window_ns - steady
    place = f"thread {tid & 0xFFFFFF}, window without the longest call before any work ({left_out:,} ns)"
    return ratio(float(time), float(steady), _source(scope, place), "ns")


@metric("ratio", READS, grains=BY_PROCESS, wants=want_group, choices=GROUPS)
def api_time_share(m: Measurements, scope: Scope, *, group: str) -> Fact:
    """On that thread: time of the group over the time of all its API calls, context creation left out."""
    problem = m.api_problem(scope)
    if problem is not None:
        return problem
    best = busiest_thread(m, scope, group)
    if best is None:
        return known(0.0, _source(scope))
    if doubt := m.duplicates_problem():
        return doubt
    tid, time = best
    rows = m.api_table.select(scope)
    whole = int(rows.sum_ns[rows.owner == tid].sum()) - context_ns(m, tid)
    return ratio(float(time), float(whole), _source(scope, f"thread {tid & 0xFFFFFF}"), "ns")


def _calls(m: Measurements, scope: Scope, group: str) -> Intervals:
    state = m.state(("api", group))
    return join(
        [c.result() for tid, c in state.unions.items() if scope.pid is None or pid_of(tid) == scope.pid]
    )


def _idle(m: Measurements, scope: Scope, group: str) -> tuple[Intervals, Intervals] | Fact:
    """(calls of the group, the part of them without device activity of the same process)."""
    problem = m.api_problem(scope) or m.duplicates_problem()
    if problem is not None:
        return problem
    every = [p for p in m.api_table.pids if scope.pid is None or p == scope.pid]
    calls, alone = [], []
    for pid in every:
        one = Scope(pid=pid)
        mine = _calls(m, one, group)
        if not len(mine):
            continue
        doubt = m.activity_problem(one)
        if doubt is not None:
            return doubt
        calls.append(mine)
        alone.append(subtract(mine, m.busy(one, GPU_STREAMS)))
    return join(calls), join(alone)


@metric("ratio", ("api_calls", "kernels", "copies"), grains=BY_PROCESS, wants=want_intervals, choices=GROUPS)
def api_idle_share(m: Measurements, scope: Scope, *, group: str) -> Fact:
    """Share of the group's time without any kernel, copy, memset or graph of the same process."""
    found = _idle(m, scope, group)
    if isinstance(found, Fact):
        return found
    calls, alone = found
    if not len(calls):
        return unknown("no call of this group")
    share = ratio(
        float(alone.covered_ns), float(calls.covered_ns), _source(scope, "against device activity"), "ns"
    )
    if not alone.dropped_ns:
        return share
    # Closed gaps between calls can only have added idle time, closed gaps of the device only hidden it.
    added, hidden = calls.dropped_ns, alone.dropped_ns - calls.dropped_ns
    low = max(alone.covered_ns - added, 0) / calls.covered_ns
    high = min((alone.covered_ns + hidden) / max(calls.covered_ns - added, 1), 1.0)
    return replace(share, low=low, high=high)


@metric("ns", ("api_calls", "kernels", "copies"), grains=BY_PROCESS, wants=want_intervals, choices=GROUPS)
def api_idle_ns(m: Measurements, scope: Scope, *, group: str) -> Fact:
    """Time in the group without any device activity of the same process."""
    found = _idle(m, scope, group)
    if isinstance(found, Fact):
        return found
    return known(float(found[1].covered_ns), _source(scope, "against device activity"))


@metric("ns", ("api_calls", "kernels"), grains=BY_PROCESS, wants=want_intervals, choices=GROUPS)
def api_exposed_ns(m: Measurements, scope: Scope, *, group: str) -> Fact:
    """Time in the group during which no kernel of the same process ran (copies do not count as work)."""
    problem = m.api_problem(scope) or m.duplicates_problem() or m.kernels_problem(scope)
    if problem is not None:
        return problem
    calls = _calls(m, scope, group)
    return known(
        float(calls.covered_ns - overlap_ns(calls, m.busy(scope))), _source(scope, "against kernels")
    )


@metric("ns", READS, grains=BY_PROCESS, wants=want_slow, choices=GROUPS)
def api_slow_ns(m: Measurements, scope: Scope, *, group: str, over_us: float = 100) -> Fact:
    """Summed duration of the calls of a group that last longer than `over_us` microseconds."""
    problem = m.api_problem(scope) or m.duplicates_problem()
    if problem is not None:
        return problem
    slow = m.state(("slow", group, float(over_us))).slow
    time = sum(t for tid, (_, t) in slow.items() if scope.pid is None or pid_of(tid) == scope.pid)
    return known(float(time), _source(scope))


@metric("ratio", READS, grains=BY_PROCESS, wants=want_group, choices=GROUPS)
def api_per_launch(m: Measurements, scope: Scope, *, group: str) -> Fact:
    """Calls of the group per kernel or graph launch."""
    problem = m.api_problem(scope)
    if problem is not None:
        return problem
    count = m.api_table.count(group, scope)
    if count and (doubt := m.duplicates_problem()):
        return doubt
    launches = m.api_table.count("launch", scope) + m.api_table.count("graph_launch", scope)
    if not launches:
        return known(0.0, _source(scope)) if not count else unknown("the process launched no kernel")
    return ratio(float(count), float(launches), _source(scope), "count")


@metric("ratio", READS, grains=BY_PROCESS, wants=want_intervals, choices=GROUPS)
def api_first_tenth_share(m: Measurements, scope: Scope, *, group: str) -> Fact:
    """Share of the group's calls that begin in the first tenth of W (bounded by the bucket width)."""
    problem = m.api_problem(scope)
    if problem is not None:
        return problem
    if m.window is None:
        return unknown("there is no trace", "api_calls")
    limit = m.window[0] + m.window_ns / 10
    low = high = count = 0
    for tid, buckets in m.state(("api", group)).starts.items():
        if scope.pid is None or pid_of(tid) == scope.pid:
            a, b = buckets.before(limit)
            low, high, count = low + a, high + b, count + int(buckets.sums.sum())
    if not count:
        return unknown("no call of this group")
    if doubt := m.duplicates_problem():
        return doubt
    middle = (low + high) / 2
    return known(
        middle / count,
        _source(scope),
        numerator=middle,
        denominator=float(count),
        parts_unit="count",
        low=low / count,
        high=high / count,
    )


@metric("count", READS, grains=("run", "process"))
def launch_failures(m: Measurements, scope: Scope, *, codes: str = "1,98,209,801") -> Fact:
    """Kernel launches that returned one of the error codes (cudaError_t numbers)."""
    problem = m.api_problem(scope, "return_code")
    if problem is not None:
        return problem
    wanted = frozenset(int(c) for c in codes.split(",") if c.strip().isdigit())
    failed = m.api_table.failed("launch", scope, wanted) + m.api_table.failed("graph_launch", scope, wanted)
    if failed and (doubt := m.duplicates_problem()):
        return doubt
    return known(float(failed), _source(scope))


def want_adjacency(trace: TracePass, params: Mapping[str, Any]) -> None:
    over = float(params.get("over_us", 100))
    alloc, sync = trace.group("async_alloc"), trace.group("sync")
    trace.want(("alloc_sync_alloc", over), lambda: AllocSyncAlloc(alloc, sync, int(over * 1000)))


@metric("ratio", READS, grains=BY_PROCESS, wants=want_adjacency)
def alloc_sync_alloc_share(m: Measurements, scope: Scope, *, over_us: float = 100) -> Fact:
    """Share of the slow asynchronous allocations that come right after alloc → sync on their thread.

    Launches, frees and other calls in between are looked through.
    """
    problem = m.api_problem(scope) or m.duplicates_problem()
    if problem is not None:
        return problem
    state = m.state(("alloc_sync_alloc", float(over_us)))
    if state.disordered:
        return unknown("the calls of a thread are not in start order")
    slow = sum(n for tid, n in state.slow.items() if scope.pid is None or pid_of(tid) == scope.pid)
    after = sum(n for tid, n in state.after_sync.items() if scope.pid is None or pid_of(tid) == scope.pid)
    if not slow:
        return known(0.0, _source(scope), numerator=0.0, denominator=0.0, parts_unit="count")
    return ratio(float(after), float(slow), _source(scope), "count")


@exhibit(READS, wants=want_intervals, choices=GROUPS)
def top_api_calls(m: Measurements, scope: Scope, limit: int, *, group: str) -> list[ExhibitRow]:
    """The longest calls of a group."""
    if m.api_problem(scope) is not None:
        return []
    names = m.api_table.trace.api_names.names
    rows = [
        (row, tid)
        for tid, top in m.state(("api", group)).top.items()
        if scope.pid is None or pid_of(tid) == scope.pid
        for row in top
    ]
    rows.sort(reverse=True)
    return [
        ExhibitRow(
            start_ns=start,
            duration_ns=duration,
            name=apis.normalise(names[code]),
            pid=pid_of(tid),
            tid=tid & 0xFFFFFF,
            correlation=correlation if correlation > 0 else None,
        )
        for (duration, start, code, correlation), tid in rows[:limit]
    ]


@claim(("api_calls", "kernels", "copies"), wants=want_intervals, choices=GROUPS)
def api_idle_claim(m: Measurements, scope: Scope, *, group: str) -> list[tuple[int, Intervals]]:
    """The intervals of that idle time, charged to every device the process used."""
    found = _idle(m, scope, group)
    if isinstance(found, Fact):
        return []
    return [(device, found[1]) for device in sorted({d for _, d in m.keys_in(scope)})]


@claim(("api_calls", "kernels"), wants=want_intervals, choices=GROUPS)
def api_exposed_claim(m: Measurements, scope: Scope, *, group: str) -> list[tuple[int, Intervals]]:
    """The intervals of the group's calls during which no kernel of the process ran."""
    if m.api_problem(scope) is not None or m.kernels_problem(scope) is not None:
        return []
    alone = subtract(_calls(m, scope, group), m.busy(scope))
    return [(device, alone) for device in sorted({d for _, d in m.keys_in(scope)})]
