"""Kernel states: totals per name, busy intervals, and what follows what on a stream."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from diagnose.artifacts.chunks import Bools, Ints
from diagnose.states.base import Batch, OutOfOrder
from diagnose.states.intervals import Collector
from diagnose.states.names import Flags


@dataclass(slots=True)
class Total:
    """Count, summed, shortest and longest duration, first start, last start and last end (ns)."""

    count: int = 0
    sum_ns: int = 0
    min_ns: int = 2**62
    max_ns: int = 0
    first_start: int = 2**62
    last_start: int = -(2**62)
    last_end: int = -(2**62)

    def add(self, other: Total) -> None:
        self.count += other.count
        self.sum_ns += other.sum_ns
        self.min_ns = min(self.min_ns, other.min_ns)
        self.max_ns = max(self.max_ns, other.max_ns)
        self.first_start = min(self.first_start, other.first_start)
        self.last_start = max(self.last_start, other.last_start)
        self.last_end = max(self.last_end, other.last_end)


Totals = dict[tuple[int, ...], Total]


def add_totals(totals: Totals, batch: Batch, *columns: str) -> None:
    """Adds the batch's rows to `totals`, keyed by `columns` (see `Batch.groups`)."""
    if batch.rows == 0:
        return
    groups = batch.groups(*columns)
    first = groups.first
    duration, start, end = (groups.sorted(v) for v in (batch.duration, batch.start, batch.end))
    counts = np.diff(np.append(first, batch.rows))
    parts = zip(
        groups.keys,
        counts.tolist(),
        np.add.reduceat(duration, first).tolist(),
        np.minimum.reduceat(duration, first).tolist(),
        np.maximum.reduceat(duration, first).tolist(),
        np.minimum.reduceat(start, first).tolist(),
        np.maximum.reduceat(start, first).tolist(),
        np.maximum.reduceat(end, first).tolist(),
        strict=True,
    )
    for key, *values in parts:
        found = totals.get(key)
        if found is None:
            totals[key] = Total(*values)
        else:
            found.add(Total(*values))


def merge_totals(mine: Totals, other: Totals) -> None:
    for key, total in other.items():
        mine.setdefault(key, Total()).add(total)


class KernelTotals:
    """Per (pid, device, name code): totals; `graph_nodes`: kernels that ran inside CUDA graphs, per pid."""

    stream = "kernels"
    columns = frozenset({"start_ns", "end_ns", "device", "global_pid", "name_id", "graph_node"})

    def __init__(self) -> None:
        self.totals: Totals = {}
        self.graph_nodes: dict[int, int] = {}

    def update(self, batch: Batch) -> None:
        add_totals(self.totals, batch, "pid", "device", "code")
        if batch.has("graph_node"):
            nodes = batch.chunk.mask("graph_node") & (batch.column("graph_node") != 0)
            if nodes.any():
                for pid, count in zip(*np.unique(batch.pid[nodes], return_counts=True), strict=True):
                    self.graph_nodes[int(pid)] = self.graph_nodes.get(int(pid), 0) + int(count)

    def merge(self, other: KernelTotals) -> None:
        merge_totals(self.totals, other.totals)
        for pid, count in other.graph_nodes.items():
            self.graph_nodes[pid] = self.graph_nodes.get(pid, 0) + count


class BusyIntervals:
    """Per (pid, device): the union of the rows' intervals; only rows of `family` when given."""

    def __init__(self, stream: str, family: Flags | None = None) -> None:
        self.stream = stream
        self.family = family
        named = {"name_id"} if family else set()
        self.columns = frozenset({"start_ns", "end_ns", "device", "global_pid"} | named)
        self.unions: dict[tuple[int, ...], Collector] = {}

    def update(self, batch: Batch) -> None:
        chosen: Bools | None = self.family.of(batch.code) if self.family else None
        if chosen is not None and not chosen.any():
            return
        groups = batch.groups("pid", "device")
        starts, ends = groups.slices(batch.start), groups.slices(batch.end)
        masks = groups.slices(chosen) if chosen is not None else [None] * len(starts)
        for key, s, e, m in zip(groups.keys, starts, ends, masks, strict=True):
            if m is not None:
                s, e = s[m], e[m]
            self.unions.setdefault(key, Collector()).add(s, e)

    def merge(self, other: BusyIntervals) -> None:
        for key, collector in other.unions.items():
            self.unions.setdefault(key, Collector()).merge(collector)


@dataclass(slots=True)
class Matched:
    """Kernels of the first family on one (pid, device) and those whose follower is of the second."""

    firsts: int = 0
    first_ns: int = 0
    matched: int = 0
    then_ns: int = 0
    gap_ns: int = 0
    overlapped: int = 0
    sites: list[tuple[int, int, int, int, int, int, int]] = field(default_factory=list)
    claims: Collector = field(default_factory=Collector)

    def add(self, other: Matched) -> None:
        self.firsts += other.firsts
        self.first_ns += other.first_ns
        self.matched += other.matched
        self.then_ns += other.then_ns
        self.gap_ns += other.gap_ns
        self.overlapped += other.overlapped
        self.sites = sorted(self.sites + other.sites, reverse=True)[:SITES]
        self.claims.merge(other.claims)


SITES = 20


class Pairs:
    """What follows a kernel of family `first` on its stream: of family `then`, or not.

    Kernels of `skip` are looked through. The stream is (pid, device, context, stream). `matched[key]`
    has per (pid, device) the counts, summed `then` time, the gaps between the two, and the longest
    followers (`sites`: duration, start of then, stream, code of first, code of then, correlation, pid).
    Needs start order within a stream (raises OutOfOrder).
    """

    stream = "kernels"
    columns = frozenset(
        {"start_ns", "end_ns", "device", "global_pid", "name_id", "context", "stream", "correlation"}
    )

    def __init__(self, first: Flags, then: Flags, skip: Flags | None) -> None:
        self.first, self.then, self.skip = first, then, skip
        self.matched: dict[tuple[int, int], Matched] = {}
        # Per stream: the last kernel that was not skipped (start, end, code), and its newest start.
        self._open: dict[tuple[int, ...], tuple[int, int, int]] = {}
        self._newest: dict[tuple[int, ...], int] = {}

    def update(self, batch: Batch) -> None:
        if not all(batch.has(name) for name in ("context", "stream", "device")):
            return
        groups = batch.groups("pid", "device", "context", "stream")
        is_first, is_then = self.first.of(batch.code), self.then.of(batch.code)
        skipped = self.skip.of(batch.code) & ~is_first & ~is_then if self.skip else None
        bounds = [*groups.first.tolist(), batch.rows]
        start, end, code = groups.sorted(batch.start), groups.sorted(batch.end), groups.sorted(batch.code)
        firsts, thens = groups.sorted(is_first), groups.sorted(is_then)
        skips = groups.sorted(skipped) if skipped is not None else None
        ids = groups.sorted(batch.correlation)
        for i, key in enumerate(groups.keys):
            part = slice(bounds[i], bounds[i + 1])
            s = start[part]
            if s[0] < self._newest.get(key, -(2**63)) or (s[1:] < s[:-1]).any():
                raise OutOfOrder
            self._newest[key] = int(s[-1])
            rows = np.arange(bounds[i], bounds[i + 1])
            if skips is not None:
                rows = rows[~skips[part]]
            if len(rows):
                self._chain(key, rows, start, end, code, firsts, thens, ids)

    def _chain(
        self,
        key: tuple[int, ...],
        rows: Ints,
        start: Ints,
        end: Ints,
        code: Ints,
        firsts: Bools,
        thens: Bools,
        ids: Ints,
    ) -> None:
        """Pairs each `first` among `rows` (one stream, skipped ones removed) with the row after it."""
        pid, device, _, stream = key
        previous = self._open.get(key)
        open_first = previous is not None and bool(self.first.flags[previous[2]])
        leading = rows[:-1][firsts[rows[:-1]]]
        last = int(rows[-1])
        self._open[key] = (int(start[last]), int(end[last]), int(code[last]))
        mine = firsts[rows]
        if not open_first and not mine.any():
            return
        into = self.matched.setdefault((pid, device), Matched())
        into.firsts += int(mine.sum())
        into.first_ns += int((end[rows] - start[rows])[mine].sum())
        follower = rows[1:][firsts[rows[:-1]]]
        before_end, before_code = end[leading], code[leading]
        if open_first and previous is not None:
            follower = np.concatenate(([rows[0]], follower))
            before_end = np.concatenate(([previous[1]], before_end))
            before_code = np.concatenate(([previous[2]], before_code))
        hit = thens[follower]
        if not hit.any():
            return
        follower, before_end, before_code = follower[hit], before_end[hit], before_code[hit]
        s, e = start[follower], end[follower]
        into.matched += len(follower)
        into.then_ns += int((e - s).sum())
        into.gap_ns += int(np.maximum(s - before_end, 0).sum())
        into.claims.add(s, e)
        longest = np.argsort(s - e, kind="stable")[:SITES]
        found = [
            (
                int(e[j] - s[j]),
                int(s[j]),
                stream,
                int(before_code[j]),
                int(code[follower[j]]),
                int(ids[follower[j]]),
                pid,
            )
            for j in longest
        ]
        into.sites = sorted(into.sites + found, reverse=True)[:SITES]

    def merge(self, other: Pairs) -> None:
        """Takes over another part of the trace; pairs across the seam belong to neither (one a stream)."""
        for key, matched in other.matched.items():
            self.matched.setdefault(key, Matched()).add(matched)


class TopKernels:
    """The longest kernels of a family per (pid, device): (duration, start, stream, code, correlation)."""

    stream = "kernels"
    columns = frozenset({"start_ns", "end_ns", "device", "global_pid", "name_id", "stream", "correlation"})

    def __init__(self, family: Flags | None, keep: int = SITES) -> None:
        self.family, self.keep = family, keep
        self.top: dict[tuple[int, ...], list[tuple[int, int, int, int, int]]] = {}

    def update(self, batch: Batch) -> None:
        chosen = self.family.of(batch.code) if self.family else np.ones(batch.rows, dtype=np.bool_)
        groups = batch.groups("pid", "device")
        columns = (batch.duration, batch.start, batch.stream, batch.code, batch.correlation)
        split = [groups.slices(v) for v in columns]
        for key, mine, *values in zip(groups.keys, groups.slices(chosen), *split, strict=True):
            if not mine.any():
                continue
            of_family = [v[mine] for v in values]
            longest = np.argsort(-of_family[0], kind="stable")[: self.keep]
            rows = list(zip(*(v[longest].tolist() for v in of_family), strict=True))
            self.top[key] = sorted(self.top.get(key, []) + rows, reverse=True)[: self.keep]

    def merge(self, other: TopKernels) -> None:
        for key, rows in other.top.items():
            self.top[key] = sorted(self.top.get(key, []) + rows, reverse=True)[: self.keep]
