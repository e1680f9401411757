"""Metrics over memory events: growth of stream-ordered pools, slack, live bytes, allocation sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from diagnose.findings import ExhibitRow, Fact
from diagnose.metrics.measurements import Measurements
from diagnose.metrics.registry import exhibit, known, metric, ratio, unknown
from diagnose.scope import Grain, Scope
from diagnose.states.allocations import LiveBytes, Pool, Pools
from diagnose.states.trace_pass import TracePass

READS = ("allocations",)
BY_PROCESS: tuple[Grain, ...] = ("process", "run")


def want_pools(trace: TracePass, params: Mapping[str, Any]) -> None:
    del params
    trace.want("pools", Pools)
    trace.want("live_bytes", LiveBytes)


def _pool(m: Measurements, scope: Scope) -> tuple[int, Pool] | Fact:
    """(pid, pool) of the largest pool of the scope."""
    wanted = ("pool_size", "pool_used", *(["global_pid"] if scope.pid is not None else []))
    problem = m.stream_problem("allocations") or m.column_problem("allocations", *wanted)
    if problem is not None:
        return problem
    pools = m.state("pools").pools
    mine = [(key[0], pool) for key, pool in pools.items() if scope.pid is None or key[0] == scope.pid]
    if not mine:
        return unknown("no memory event carries a pool size", "allocations.pool_size")
    return max(mine, key=lambda item: item[1].peak[0])


def _source(scope: Scope) -> str:
    return "allocations, " + (f"process {scope.pid}" if scope.pid is not None else "largest pool")


@metric("ratio", READS, grains=BY_PROCESS, wants=want_pools)
def pool_growth_ratio(m: Measurements, scope: Scope) -> Fact:
    """Median pool size in the last quarter of the pool's time over that in the first quarter."""
    found = _pool(m, scope)
    if isinstance(found, Fact):
        return found
    quartiles = found[1].quartiles()
    if quartiles is None:
        return unknown("too few memory events to see a trend")
    return ratio(quartiles[1], quartiles[0], _source(scope), "bytes")


@metric("ratio", READS, grains=BY_PROCESS, wants=want_pools)
def pool_used_growth_ratio(m: Measurements, scope: Scope) -> Fact:
    """Growth of the bytes in use over the growth of the pool (first to last quarter); 0 when flat."""
    found = _pool(m, scope)
    if isinstance(found, Fact):
        return found
    quartiles = found[1].quartiles()
    if quartiles is None:
        return unknown("too few memory events to see a trend")
    early, late, used_early, used_late = quartiles
    if late <= early:
        return unknown("the pool did not grow")
    return ratio(max(used_late - used_early, 0.0), late - early, _source(scope), "bytes")


@metric("ratio", READS, grains=BY_PROCESS, wants=want_pools)
def pool_slack_ratio(m: Measurements, scope: Scope) -> Fact:
    """1 - used / size in the last quarter (medians)."""
    found = _pool(m, scope)
    if isinstance(found, Fact):
        return found
    quartiles = found[1].quartiles()
    if quartiles is None:
        return unknown("too few memory events to see a trend")
    return ratio(quartiles[1] - quartiles[3], quartiles[1], _source(scope), "bytes")


@metric("bytes", READS, grains=BY_PROCESS, wants=want_pools)
def pool_unused_bytes(m: Measurements, scope: Scope) -> Fact:
    """Size minus used at the moment of the largest pool size."""
    found = _pool(m, scope)
    if isinstance(found, Fact):
        return found
    size, _, used = found[1].peak
    return known(float(size - used), _source(scope))


@metric("bytes", READS, grains=BY_PROCESS, wants=want_pools)
def pool_peak_bytes(m: Measurements, scope: Scope) -> Fact:
    """Largest size of the pool."""
    found = _pool(m, scope)
    return found if isinstance(found, Fact) else known(float(found[1].peak[0]), _source(scope))


@metric("bytes", READS, grains=BY_PROCESS, wants=want_pools)
def pool_release_threshold(m: Measurements, scope: Scope) -> Fact:
    """Release threshold of the pool (0: unmapped at the next sync; 2^64-1: kept for ever)."""
    found = _pool(m, scope)
    if isinstance(found, Fact):
        return found
    threshold = found[1].threshold
    if threshold is None:
        return unknown("the release threshold was not recorded", "allocations.pool_threshold")
    # SQLite stores 2^64-1 as -1.
    return known(float(threshold) if threshold >= 0 else float(2**64 + threshold), _source(scope))


@metric("ratio", READS, grains=BY_PROCESS, wants=want_pools)
def live_growth_ratio(m: Measurements, scope: Scope) -> Fact:
    """Growth of live device bytes (allocated - freed) over the growth of the pool, first to last quarter."""
    found = _pool(m, scope)
    if isinstance(found, Fact):
        return found
    pid, pool = found
    problem = m.column_problem("allocations", "bytes", "operation", "memory_kind")
    quartiles = pool.quartiles()
    if problem is not None or quartiles is None:
        return problem or unknown("too few memory events to see a trend")
    if quartiles[1] <= quartiles[0]:
        return unknown("the pool did not grow")
    times, live = m.state("live_bytes").live(pid)
    first, last = pool.first, pool.newest[0]
    quarter = (last - first) / 4
    early = live[(times >= first) & (times < first + quarter)]
    late = live[(times >= last - quarter) & (times <= last)]
    if not len(early) or not len(late):
        return unknown("too few memory events to see a trend")
    grown = max(float(np.median(late) - np.median(early)), 0.0)
    return ratio(grown, quartiles[1] - quartiles[0], _source(scope), "bytes")


@metric("ratio", READS, grains=BY_PROCESS, wants=want_pools)
def alloc_size_share(m: Measurements, scope: Scope, *, lo_bytes: float, hi_bytes: float) -> Fact:
    """Share (by count) of the allocations from pools whose size lies within the bounds."""
    problem = m.stream_problem("allocations") or m.column_problem(
        "allocations", "bytes", "operation", "pool_size"
    )
    if problem is not None:
        return problem
    inside = total = 0
    for pid, sizes in m.state("pools").sizes.items():
        if scope.pid is None or pid == scope.pid:
            total += sum(sizes.values())
            inside += sum(n for size, n in sizes.items() if lo_bytes <= size <= hi_bytes)
    if not total:
        return unknown("no memory event carries a pool size", "allocations.pool_size")
    return ratio(float(inside), float(total), _source(scope), "count")


@exhibit(READS, wants=want_pools)
def pool_timeline(m: Measurements, scope: Scope, limit: int) -> list[ExhibitRow]:
    """Pool size and use at evenly spaced moments, the largest size among them."""
    found = _pool(m, scope)
    if isinstance(found, Fact):
        return []
    pid, pool = found
    times, size, used = pool.series()
    if not len(times):
        return []
    evenly = np.linspace(0, len(times) - 1, max(limit - 1, 2)).astype(int)
    picked = np.unique(np.concatenate((evenly, [int(np.argmax(size))])))
    mean = "" if pool.kept else " (means around this moment)"
    return [
        ExhibitRow(
            start_ns=int(times[i]),
            duration_ns=0,
            name="pool size",
            pid=pid if pid >= 0 else None,
            detail=f"{int(size[i]):,} bytes reserved, {int(used[i]):,} in use{mean}",
        )
        for i in picked
    ]
