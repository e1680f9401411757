"""API-call states: totals per thread and name, context creation, blocking calls, adjacency, time buckets."""

from __future__ import annotations

import numpy as np

from diagnose.artifacts.chunks import Bools, Ints
from diagnose.states.base import Batch
from diagnose.states.buckets import Buckets
from diagnose.states.intervals import Collector
from diagnose.states.kernels import Totals, add_totals, merge_totals
from diagnose.states.names import Flags

SITES = 20
Early = tuple[int, int, int, int]  # start, duration, tid, name code


class ApiTotals:
    """Per (tid, name code): totals of all calls; failures per (pid, name code, return code).

    `first_work[pid]`: start of the first successful launch or copy. `early[pid]`: the calls that begin
    before it and are longer than every call before them, from which the longest call before the first
    launch or copy is known whatever the order of rows: context creation.
    """

    stream = "api_calls"
    columns = frozenset({"start_ns", "end_ns", "global_tid", "name_id", "return_code"})

    def __init__(self, work: Flags) -> None:
        self.work = work
        self.totals: Totals = {}
        self.failures: dict[tuple[int, int, int], list[int]] = {}  # [count, first start]
        self.first_work: dict[int, int] = {}
        self.early: dict[int, list[Early]] = {}

    def update(self, batch: Batch) -> None:
        add_totals(self.totals, batch, "tid", "code")
        ok = np.ones(batch.rows, dtype=np.bool_)
        if batch.has("return_code"):
            codes = batch.column("return_code")
            ok = codes == 0
            for i in np.flatnonzero(~ok & batch.chunk.mask("return_code")).tolist():
                key = (int(batch.pid[i]), int(batch.code[i]), int(codes[i]))
                seen = self.failures.setdefault(key, [0, int(batch.start[i])])
                seen[0] += 1
                seen[1] = min(seen[1], int(batch.start[i]))
        self._early_calls(batch, ok & self.work.of(batch.code))

    def _early_calls(self, batch: Batch, working: Bools) -> None:
        groups = batch.groups("pid")
        parts = zip(
            groups.keys,
            groups.slices(batch.start),
            groups.slices(batch.duration),
            groups.slices(batch.tid),
            groups.slices(batch.code),
            groups.slices(working),
            strict=True,
        )
        for (pid,), start, duration, tid, code, work in parts:
            if work.any():
                first = int(start[work].min())
                self.first_work[pid] = min(first, self.first_work.get(pid, first))
            limit = self.first_work.get(pid)
            before = np.ones(len(start), dtype=np.bool_) if limit is None else start < limit
            if before.any():
                fresh = [v[before] for v in (start, duration, tid, code)]
                self.early[pid] = staircase(self.early.get(pid, []), *fresh)

    def context_call(self, pid: int) -> Early | None:
        """Longest call of the process that begins before its first launch or copy, None if there is none."""
        limit = self.first_work.get(pid)
        steps = [step for step in self.early.get(pid, []) if limit is None or step[0] < limit]
        return steps[-1] if steps else None

    def context_ns(self, pid: int) -> int:
        """Duration of that call; 0 if there is none."""
        found = self.context_call(pid)
        return found[1] if found else 0

    def merge(self, other: ApiTotals) -> None:
        merge_totals(self.totals, other.totals)
        for key, (count, first) in other.failures.items():
            seen = self.failures.setdefault(key, [0, first])
            seen[0] += count
            seen[1] = min(seen[1], first)
        for pid, first in other.first_work.items():
            self.first_work[pid] = min(first, self.first_work.get(pid, first))
        for pid, steps in other.early.items():
            fresh = np.array(steps, dtype=np.int64).reshape(-1, 4).T
            self.early[pid] = staircase(self.early.get(pid, []), *fresh)


def staircase(steps: list[Early], starts: Ints, durations: Ints, tids: Ints, codes: Ints) -> list[Early]:
    """Calls in start order that are longer than every earlier one (the running-maximum records)."""
    old = np.array(steps, dtype=np.int64).reshape(-1, 4)
    rows = np.concatenate((old, np.stack((starts, durations, tids, codes), axis=1)))
    rows = rows[np.lexsort((rows[:, 3], rows[:, 2], -rows[:, 1], rows[:, 0]))]
    longest = np.maximum.accumulate(rows[:, 1])
    record = np.concatenate(([True], longest[1:] > longest[:-1]))
    return [(s, d, tid, code) for s, d, tid, code in rows[record].tolist()]


class ApiIntervals:
    """Per tid: the union of the calls of a group, their longest rows, and their starts over time.

    `top` rows: (duration, start, name code, correlation).
    """

    stream = "api_calls"
    columns = frozenset({"start_ns", "end_ns", "global_tid", "name_id", "correlation"})

    def __init__(self, group: Flags) -> None:
        self.group = group
        self.unions: dict[int, Collector] = {}
        self.top: dict[int, list[tuple[int, int, int, int]]] = {}
        self.starts: dict[int, Buckets] = {}

    def update(self, batch: Batch) -> None:
        chosen = np.flatnonzero(self.group.of(batch.code))
        if not len(chosen):
            return
        part = Batch(batch.chunk.take(chosen), batch.names)
        groups = part.groups("tid")
        split = [groups.slices(v) for v in (part.start, part.end, part.code, part.correlation)]
        for (tid,), s, e, code, ids in zip(groups.keys, *split, strict=True):
            self.unions.setdefault(tid, Collector()).add(s, e)
            longest = np.argsort(s - e, kind="stable")[:SITES].tolist()
            rows = [(int(e[i] - s[i]), int(s[i]), int(code[i]), int(ids[i])) for i in longest]
            self.top[tid] = sorted(self.top.get(tid, []) + rows, reverse=True)[:SITES]
            self.starts.setdefault(tid, Buckets()).add(s, np.ones(len(s), dtype=np.int64))

    def merge(self, other: ApiIntervals) -> None:
        for tid, collector in other.unions.items():
            self.unions.setdefault(tid, Collector()).merge(collector)
        for tid, rows in other.top.items():
            self.top[tid] = sorted(self.top.get(tid, []) + rows, reverse=True)[:SITES]
        for tid, buckets in other.starts.items():
            self.starts.setdefault(tid, Buckets()).merge(buckets)


class SlowCalls:
    """Per tid: count and time of the calls of a group that last longer than `over_ns`."""

    stream = "api_calls"
    columns = frozenset({"start_ns", "end_ns", "global_tid", "name_id"})

    def __init__(self, group: Flags, over_ns: int) -> None:
        self.group, self.over_ns = group, over_ns
        self.slow: dict[int, list[int]] = {}

    def update(self, batch: Batch) -> None:
        chosen = self.group.of(batch.code) & (batch.duration > self.over_ns)
        if not chosen.any():
            return
        for tid in np.unique(batch.tid[chosen]).tolist():
            mine = chosen & (batch.tid == tid)
            seen = self.slow.setdefault(tid, [0, 0])
            seen[0] += int(mine.sum())
            seen[1] += int(batch.duration[mine].sum())

    def merge(self, other: SlowCalls) -> None:
        for tid, (count, time) in other.slow.items():
            seen = self.slow.setdefault(tid, [0, 0])
            seen[0] += count
            seen[1] += time


class AllocSyncAlloc:
    """Per tid: asynchronous allocations longer than `over_ns`, and how many follow alloc → sync.

    Other calls in between (launches, frees) are looked through. Needs call order within a thread:
    rows of one thread that come out of start order are counted in `disordered`.
    """

    stream = "api_calls"
    columns = frozenset({"start_ns", "end_ns", "global_tid", "name_id"})

    def __init__(self, alloc: Flags, sync: Flags, over_ns: int) -> None:
        self.alloc, self.sync, self.over_ns = alloc, sync, over_ns
        self.slow: dict[int, int] = {}
        self.after_sync: dict[int, int] = {}
        self.disordered = 0
        # Per tid: (any alloc seen, last of the two was a sync that came after an alloc, newest start)
        self._last: dict[int, tuple[bool, bool, int]] = {}

    def update(self, batch: Batch) -> None:
        allocs, syncs = self.alloc.of(batch.code), self.sync.of(batch.code)
        rows = np.flatnonzero(allocs | syncs)
        if not len(rows):
            return
        tids, starts = batch.tid[rows], batch.start[rows]
        is_alloc = allocs[rows]
        slow = is_alloc & (batch.duration[rows] > self.over_ns)
        for tid in np.unique(tids).tolist():
            mine = np.flatnonzero(tids == tid)
            seen, primed, newest = self._last.get(tid, (False, False, -(2**63)))
            s = starts[mine]
            self.disordered += int((s[1:] < s[:-1]).sum()) + int(s[0] < newest)
            a = is_alloc[mine]
            had_alloc = np.concatenate(([seen], np.logical_or.accumulate(a) | seen))
            # The call before is a sync, and an alloc came somewhere before that.
            before_sync = np.concatenate(([primed], ~a[:-1] & had_alloc[1:-1]))
            hits = slow[mine]
            self.slow[tid] = self.slow.get(tid, 0) + int(hits.sum())
            self.after_sync[tid] = self.after_sync.get(tid, 0) + int((hits & before_sync).sum())
            self._last[tid] = (bool(had_alloc[-1]), bool(not a[-1] and had_alloc[-1]), int(s[-1]))

    def merge(self, other: AllocSyncAlloc) -> None:
        for tid, count in other.slow.items():
            self.slow[tid] = self.slow.get(tid, 0) + count
        for tid, count in other.after_sync.items():
            self.after_sync[tid] = self.after_sync.get(tid, 0) + count
        self.disordered += other.disordered
