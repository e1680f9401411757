"""Arithmetic on sets of time intervals, and a bounded streaming union of them.

A set is two int64 arrays (starts, ends), disjoint and in order. All lengths are ns.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from diagnose.artifacts.chunks import Ints

CAP = 1 << 15  # intervals kept per key: 512 kB


@dataclass(frozen=True, slots=True)
class Intervals:
    """A disjoint, ordered set. `dropped_ns`: gaps that were closed to stay bounded (at most this much
    of the covered time is in truth uncovered). `exact_ns`: the true covered time, where it is known."""

    starts: Ints
    ends: Ints
    dropped_ns: int = 0
    exact_ns: int | None = None

    @property
    def covered_ns(self) -> int:
        return int((self.ends - self.starts).sum())

    def __len__(self) -> int:
        return len(self.starts)


def empty() -> Intervals:
    none = np.zeros(0, dtype=np.int64)
    return Intervals(none, none)


def union(starts: Ints, ends: Ints, dropped_ns: int = 0) -> Intervals:
    """The union of any intervals, in any order; empty ones (end <= start) vanish."""
    keep = ends > starts
    if not keep.all():
        starts, ends = starts[keep], ends[keep]
    if len(starts) == 0:
        return Intervals(starts, ends, dropped_ns)
    if (starts[1:] < starts[:-1]).any():
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], ends[order]
    reach = np.maximum.accumulate(ends)
    fresh = np.concatenate(([True], starts[1:] > reach[:-1]))
    first = np.flatnonzero(fresh)
    last = np.concatenate((first[1:], [len(starts)])) - 1
    return Intervals(starts[first], reach[last], dropped_ns)


def join(sets: list[Intervals]) -> Intervals:
    """The union of several sets."""
    if not sets:
        return empty()
    if len(sets) == 1:
        return sets[0]
    return union(
        np.concatenate([s.starts for s in sets]),
        np.concatenate([s.ends for s in sets]),
        sum(s.dropped_ns for s in sets),
    )


def overlap_ns(a: Intervals, b: Intervals) -> int:
    """Length of the intersection."""
    common = intersect(a, b)
    return common.covered_ns


def intersect(a: Intervals, b: Intervals) -> Intervals:
    dropped = a.dropped_ns + b.dropped_ns
    if not len(a) or not len(b):
        return Intervals(empty().starts, empty().ends, dropped)
    # Each interval of `a` meets the run of `b` from the first that ends after its start
    # to the last that starts before its end.
    first = np.searchsorted(b.ends, a.starts, side="right")
    last = np.searchsorted(b.starts, a.ends, side="left")
    counts = np.maximum(last - first, 0)
    mine = np.repeat(np.arange(len(a)), counts)
    offset = np.arange(len(mine)) - np.repeat(np.cumsum(counts) - counts, counts)
    theirs = np.repeat(first, counts) + offset
    starts = np.maximum(a.starts[mine], b.starts[theirs])
    ends = np.minimum(a.ends[mine], b.ends[theirs])
    return Intervals(starts, ends, dropped)


def subtract(a: Intervals, b: Intervals) -> Intervals:
    """What of `a` is not in `b`."""
    if not len(a) or not len(b):
        return Intervals(a.starts, a.ends, a.dropped_ns + b.dropped_ns)
    starts = np.concatenate(([np.iinfo(np.int64).min], b.ends))
    ends = np.concatenate((b.starts, [np.iinfo(np.int64).max]))
    return intersect(a, Intervals(starts, ends, b.dropped_ns))


def gaps(a: Intervals) -> Intervals:
    """The gaps between consecutive intervals."""
    return Intervals(a.ends[:-1], a.starts[1:], a.dropped_ns) if len(a) > 1 else empty()


@dataclass(slots=True)
class Collector:
    """Streaming union: add intervals in any order, at most about `cap` are kept.

    When full, the smallest gaps are closed and their length is added to `dropped_ns`, so that a
    covered length is known as [covered - dropped, covered].
    """

    cap: int = CAP
    _exact: int | None = 0
    _last_start: int = -(2**63)
    _reach: int = -(2**63)
    _parts: list[Intervals] = field(default_factory=list)
    _held: int = 0
    _dropped: int = 0

    def add(self, starts: Ints, ends: Ints) -> None:
        part = union(starts, ends)
        if len(part) == 0:
            return
        self._count(part, int(starts.max()))
        self._parts.append(part)
        self._held += len(part)
        if self._held > 2 * self.cap or len(self._parts) > 4096:
            self._compact()

    def _count(self, part: Intervals, last_start: int) -> None:
        """Keeps the exact covered time for as long as rows come in start order.

        What starts at or after the newest start so far can only add beyond the furthest end so far.
        """
        if self._exact is not None and int(part.starts[0]) >= self._last_start:
            beyond = np.maximum(part.ends, self._reach) - np.maximum(part.starts, self._reach)
            self._exact += int(beyond.sum())
        else:
            self._exact = None
        self._last_start = max(self._last_start, last_start)
        self._reach = max(self._reach, int(part.ends[-1]))

    def merge(self, other: Collector) -> None:
        self._exact = None  # the parts may interleave; the union itself tells while nothing was closed
        self._parts.extend(other._parts)
        self._held += other._held
        self._dropped += other._dropped
        if self._held > 2 * self.cap:
            self._compact()

    def _compact(self) -> None:
        whole = join([Intervals(p.starts, p.ends) for p in self._parts])
        if len(whole) > self.cap:
            lengths = whole.starts[1:] - whole.ends[:-1]
            # Halve, so that compaction stays rare.
            excess = len(whole) - self.cap // 2
            close = np.zeros(len(lengths), dtype=np.bool_)
            close[np.argpartition(lengths, excess - 1)[:excess]] = True
            self._dropped += int(lengths[close].sum())
            keep = np.concatenate(([True], ~close))
            first = np.flatnonzero(keep)
            last = np.concatenate((first[1:], [len(whole)])) - 1
            whole = Intervals(whole.starts[first], whole.ends[last])
        self._parts = [whole]
        self._held = len(whole)

    def result(self) -> Intervals:
        self._compact()
        whole = self._parts[0]
        exact = whole.covered_ns if self._dropped == 0 else self._exact
        return Intervals(whole.starts, whole.ends, self._dropped, exact)
