"""Memory-event states: live device bytes over time, and the size of stream-ordered pools over time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from diagnose.artifacts.chunks import Ints
from diagnose.states.base import Batch
from diagnose.states.buckets import EXACT, Buckets

DEVICE_MEMORY = 2  # memKind; 1 is pinned host memory, which is not on the GPU


@dataclass(slots=True)
class Pool:
    """One pool of one process: mean size and use a time bucket, newest row, largest size (bytes)."""

    rows: Buckets = field(default_factory=Buckets)
    size: Buckets = field(default_factory=Buckets)
    used: Buckets = field(default_factory=Buckets)
    first: int = 2**62
    newest: tuple[int, int, int] = (-(2**63), 0, 0)  # (time, size, used)
    peak: tuple[int, int, int] = (-1, 0, 0)  # (largest size, minus the first time it had it, used)
    threshold: int | None = None
    # The rows themselves while they are few: sizes are then exact, else means of a time bucket.
    kept: list[tuple[Ints, Ints, Ints]] | None = field(default_factory=list)
    held: int = 0

    def keep(self, start: Ints, size: Ints, used: Ints) -> None:
        self.held += len(start)
        if self.kept is not None:
            self.kept.append((start, size, used))
            self.kept = self.kept if self.held <= EXACT else None

    def merge(self, other: Pool) -> None:
        for mine, theirs in ((self.rows, other.rows), (self.size, other.size), (self.used, other.used)):
            mine.merge(theirs)
        if other.kept is None:
            self.kept = None
        for part in other.kept or []:
            self.keep(*part)
        self.first = min(self.first, other.first)
        self.newest = max(self.newest, other.newest)
        self.peak = max(self.peak, other.peak)
        self.threshold = other.threshold if self.threshold is None else self.threshold

    def series(self) -> tuple[Ints, Ints, Ints]:
        """(time ns, size, used) of each row, or means of the time buckets when rows are many."""
        if self.kept:
            start, size, used = (np.concatenate(parts) for parts in zip(*self.kept, strict=True))
            order = np.argsort(start, kind="stable")
            return start[order], size[order], used[order]
        held = np.flatnonzero(self.rows.sums)
        count = self.rows.sums[held]
        times = (self.rows.origin or 0) + held * self.rows.width_ns
        return times, self.size.sums[held] // count, self.used.sums[held] // count

    def quartiles(self) -> tuple[float, float, float, float] | None:
        """Median size in the first and last quarter of the pool's time, then median use in both."""
        times, size, used = self.series()
        last = self.newest[0]
        if len(times) < 8 or last <= self.first:
            return None
        quarter = (last - self.first) / 4
        early, late = times < self.first + quarter, times >= last - quarter
        if not early.any() or not late.any():
            return None
        values = [np.median(v[part]) for v in (size, used) for part in (early, late)]
        return float(values[0]), float(values[1]), float(values[2]), float(values[3])


class Pools:
    """Per (pid, pool address): `Pool`. Rows without pool columns (ordinary cudaMalloc) are left out."""

    stream = "allocations"
    columns = frozenset(
        {
            "start_ns",
            "global_pid",
            "pool_address",
            "pool_size",
            "pool_used",
            "pool_threshold",
            "operation",
            "bytes",
        }
    )

    def __init__(self) -> None:
        self.pools: dict[tuple[int, int], Pool] = {}
        self.rows = 0
        # Sizes of allocations from pools: powers of two would be too coarse for bounds, so exact counts.
        self.sizes: dict[int, dict[int, int]] = {}

    def update(self, batch: Batch) -> None:
        self.rows += batch.rows
        if not all(batch.has(name) for name in ("pool_size", "pool_used")):
            return
        chosen = batch.chunk.mask("pool_size") & batch.chunk.mask("pool_used")
        if not chosen.any():
            return
        part = Batch(batch.chunk.take(chosen), batch.names)
        address, pid = part.filled("pool_address"), part.pid
        for key in {(int(p), int(a)) for p, a in zip(pid.tolist(), address.tolist(), strict=True)}:
            mine = (pid == key[0]) & (address == key[1])
            self._add(self.pools.setdefault(key, Pool()), part, mine)
        if part.has("operation") and part.has("bytes"):
            new = part.column("operation") == 0
            for p in np.unique(pid[new]).tolist():
                counts = self.sizes.setdefault(p, {})
                values, n = np.unique(part.column("bytes")[new & (pid == p)], return_counts=True)
                if len(counts) < 1 << 18:
                    for value, count in zip(values.tolist(), n.tolist(), strict=True):
                        counts[value] = counts.get(value, 0) + count

    def _add(self, pool: Pool, part: Batch, mine: Ints) -> None:
        start, size, used = (part.column(name)[mine] for name in ("start_ns", "pool_size", "pool_used"))
        pool.rows.add(start, np.ones(len(start), dtype=np.int64))
        pool.size.add(start, size)
        pool.used.add(start, used)
        pool.keep(start, size, used)
        pool.first = min(pool.first, int(start.min()))
        last = int(np.lexsort((np.arange(len(start)), start))[-1])
        pool.newest = max(pool.newest, (int(start[last]), int(size[last]), int(used[last])))
        top = int(np.lexsort((used, -start, size))[-1])
        pool.peak = max(pool.peak, (int(size[top]), -int(start[top]), int(used[top])))
        if part.has("pool_threshold"):
            known = mine & part.chunk.mask("pool_threshold")
            if known.any():
                pool.threshold = int(part.column("pool_threshold")[known][-1])

    def merge(self, other: Pools) -> None:
        self.rows += other.rows
        for key, pool in other.pools.items():
            self.pools.setdefault(key, Pool()).merge(pool)
        for pid, sizes in other.sizes.items():
            counts = self.sizes.setdefault(pid, {})
            for value, count in sizes.items():
                counts[value] = counts.get(value, 0) + count


class LiveBytes:
    """Per pid: device bytes allocated minus freed, by time bucket (sums of signed sizes)."""

    stream = "allocations"
    columns = frozenset({"start_ns", "global_pid", "bytes", "operation", "memory_kind"})

    def __init__(self) -> None:
        self.change: dict[int, Buckets] = {}

    def update(self, batch: Batch) -> None:
        if not all(batch.has(name) for name in ("bytes", "operation", "memory_kind")):
            return
        chosen = (batch.column("memory_kind") == DEVICE_MEMORY) & np.isin(batch.column("operation"), (0, 1))
        if not chosen.any():
            return
        sign = np.where(batch.column("operation") == 0, 1, -1)
        signed = (batch.column("bytes") * sign)[chosen]
        start, pid = batch.start[chosen], batch.pid[chosen]
        for p in np.unique(pid).tolist():
            self.change.setdefault(p, Buckets()).add(start[pid == p], signed[pid == p])

    def live(self, pid: int) -> tuple[Ints, Ints]:
        """(time ns, live bytes at the end of the bucket) for every bucket since the first event."""
        found = self.change.get(pid)
        if found is None or found.origin is None:
            none = np.zeros(0, dtype=np.int64)
            return none, none
        return found.origin + np.arange(found.count) * found.width_ns, np.cumsum(found.sums)

    def merge(self, other: LiveBytes) -> None:
        for pid, buckets in other.change.items():
            self.change.setdefault(pid, Buckets()).merge(buckets)
