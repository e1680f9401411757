"""Copy states: totals and intervals of explicit copies, unified-memory moves and their granules."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diagnose.artifacts.chunks import Bools
from diagnose.states.base import Batch
from diagnose.states.intervals import Collector

# copyKind of nsys exports (ENUM_CUDA_MEMCPY_OPER; CUPTI's CUpti_ActivityMemcpyKind differs above 10).
KINDS: dict[str, tuple[int, ...]] = {
    "htod": (1,),
    "dtoh": (2,),
    "dtod": (8,),
    "all": (1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
    "um_any": (11, 12, 13),
    "um_htod": (11,),
    "um_dtoh": (12,),
}
# migrationCause (ENUM_CUDA_UNIF_MEM_MIGRATION): 3 is the driver's own speculation, not a prefetch call.
CAUSES: dict[str, int] = {"prefetch": 1, "fault": 2, "speculative": 3, "eviction": 4, "access_counters": 5}
PAGEABLE, PINNED, UNKNOWN = 0, 1, 7
FROM_HOST = (1, 3, 9)  # HtoD, HtoA, HtoH: the source tells the host's memory kind
GRANULE_BITS = 21  # 2 MiB, the block of a user prefetch
SITES = 20


def chosen_copies(batch: Batch, kind: str, min_bytes: int, cause: str) -> Bools:
    """Rows of the batch of that kind, size and migration cause (a NULL cause matches none)."""
    wanted = KINDS[kind]
    kinds = batch.column("kind")
    chosen = np.isin(kinds, wanted) if len(wanted) > 1 else kinds == wanted[0]
    if min_bytes:
        chosen &= batch.column("bytes") >= min_bytes
    if cause != "any":
        chosen &= (batch.column("um_cause") == CAUSES[cause]) & batch.chunk.mask("um_cause")
    return chosen & batch.chunk.mask("kind")


@dataclass(slots=True)
class CopyTotal:
    """`pageable_ns`/`pinned_ns`: time of copies with a pageable / only pinned host side."""

    count: int = 0
    bytes: int = 0
    sum_ns: int = 0
    pageable_ns: int = 0
    pinned_ns: int = 0
    kind_unknown_ns: int = 0

    def add(self, other: CopyTotal) -> None:
        self.count += other.count
        self.bytes += other.bytes
        self.sum_ns += other.sum_ns
        self.pageable_ns += other.pageable_ns
        self.pinned_ns += other.pinned_ns
        self.kind_unknown_ns += other.kind_unknown_ns


class Copies:
    """Per (pid, device): totals, union of intervals, longest rows, for one kind, size and cause.

    `top` rows: (duration, start, stream, bytes, correlation, src memory).
    """

    stream = "copies"

    def __init__(self, kind: str, min_bytes: int = 0, cause: str = "any") -> None:
        self.kind, self.min_bytes, self.cause = kind, min_bytes, cause
        needs = {"start_ns", "end_ns", "device", "global_pid", "stream", "correlation", "bytes", "kind"}
        needs |= {"um_cause"} if cause != "any" else set()
        needs |= set() if kind.startswith("um") else {"src_memory", "dst_memory"}
        self.columns = frozenset(needs)
        self.totals: dict[tuple[int, ...], CopyTotal] = {}
        self.unions: dict[tuple[int, ...], Collector] = {}
        self.top: dict[tuple[int, ...], list[tuple[int, int, int, int, int, int]]] = {}

    def update(self, batch: Batch) -> None:
        if not batch.has("kind") or (self.cause != "any" and not batch.has("um_cause")):
            return
        if self.min_bytes and not batch.has("bytes"):
            return
        chosen = chosen_copies(batch, self.kind, self.min_bytes, self.cause)
        if not chosen.any():
            return
        part = Batch(batch.chunk.take(chosen), batch.names)
        size = part.column("bytes") if part.has("bytes") else np.zeros(part.rows, dtype=np.int64)
        source = part.filled("src_memory")
        host = np.where(np.isin(part.column("kind"), FROM_HOST), source, part.filled("dst_memory"))
        groups = part.groups("pid", "device")
        split = [
            groups.slices(v)
            for v in (part.start, part.end, size, host, part.stream, part.correlation, source)
        ]
        for key, s, e, b, h, stream, ids, src in zip(groups.keys, *split, strict=True):
            time = e - s
            total = CopyTotal(
                len(s),
                int(b.sum()),
                int(time.sum()),
                int(time[h == PAGEABLE].sum()),
                int(time[h == PINNED].sum()),
                int(time[(h < 0) | (h == UNKNOWN)].sum()),
            )
            self.totals.setdefault(key, CopyTotal()).add(total)
            self.unions.setdefault(key, Collector()).add(s, e)
            longest = np.argsort(-time, kind="stable")[:SITES].tolist()
            rows = [
                (int(time[i]), int(s[i]), int(stream[i]), int(b[i]), int(ids[i]), int(src[i]))
                for i in longest
            ]
            self.top[key] = sorted(self.top.get(key, []) + rows, reverse=True)[:SITES]

    def merge(self, other: Copies) -> None:
        for key, total in other.totals.items():
            self.totals.setdefault(key, CopyTotal()).add(total)
        for key, collector in other.unions.items():
            self.unions.setdefault(key, Collector()).merge(collector)
        for key, rows in other.top.items():
            self.top[key] = sorted(self.top.get(key, []) + rows, reverse=True)[:SITES]


class Granules:
    """Per pid: how often each 2 MiB granule of managed memory moved to the device (HtoD rows).

    At most `CAP` granules are kept; beyond that `full` is set and the median is not known.
    A move of a granule is one row that begins in it (a prefetch row is exactly one granule).
    """

    stream = "copies"
    columns = frozenset(
        {"start_ns", "end_ns", "device", "global_pid", "bytes", "kind", "um_cause", "address"}
    )
    CAP = 1 << 20

    def __init__(self, cause: str) -> None:
        self.cause = cause
        self.moves: dict[int, dict[int, int]] = {}
        self.full = False

    def update(self, batch: Batch) -> None:
        if not all(batch.has(name) for name in ("kind", "address")):
            return
        if self.cause != "any" and not batch.has("um_cause"):
            return
        chosen = chosen_copies(batch, "um_htod", 0, self.cause) & batch.chunk.mask("address")
        if not chosen.any() or self.full:
            return
        granule = batch.column("address")[chosen] >> GRANULE_BITS
        pids = batch.pid[chosen]
        for pid in np.unique(pids).tolist():
            ids, counts = np.unique(granule[pids == pid], return_counts=True)
            mine = self.moves.setdefault(pid, {})
            for i, n in zip(ids.tolist(), counts.tolist(), strict=True):
                mine[i] = mine.get(i, 0) + n
            self.full = self.full or len(mine) > self.CAP

    def merge(self, other: Granules) -> None:
        self.full = self.full or other.full
        for pid, moves in other.moves.items():
            mine = self.moves.setdefault(pid, {})
            for i, n in moves.items():
                mine[i] = mine.get(i, 0) + n
            self.full = self.full or len(mine) > self.CAP
