"""Which successful launches have a GPU row: one bit per correlation id and process.

Lost events show as launches without a kernel between the smallest and the largest id that has one;
launches outside that range mean a capture cut in time. Launches between the begin and the end of a
stream capture only record into a CUDA graph: no kernel runs under their id (CUDA C++ Programming
Guide, "Creating a Graph Using Stream Capture").
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from diagnose.artifacts.chunks import Ints
from diagnose.states.base import Batch
from diagnose.states.names import Flags, Names

MAX_ID = 1 << 31  # 256 MB of bits would be reached here; ids of real traces stay far below


class Bits:
    def __init__(self) -> None:
        self.bytes: NDArray[np.uint8] = np.zeros(1024, dtype=np.uint8)
        self.low = MAX_ID
        self.high = -1

    def set(self, ids: Ints) -> None:
        ids = ids[(ids > 0) & (ids < MAX_ID)]
        if not len(ids):
            return
        if (ids[1:] < ids[:-1]).any():
            ids = np.sort(ids)
        self.low, self.high = min(self.low, int(ids[0])), max(self.high, int(ids[-1]))
        need = (self.high >> 3) + 1
        if need > len(self.bytes):
            grown = np.zeros(max(need, 2 * len(self.bytes)), dtype=np.uint8)
            grown[: len(self.bytes)] = self.bytes
            self.bytes = grown
        at = ids >> 3
        bit = np.left_shift(1, ids & 7).astype(np.uint8)
        first = np.flatnonzero(np.concatenate(([True], at[1:] != at[:-1])))
        self.bytes[at[first]] |= np.bitwise_or.reduceat(bit, first)

    def merge(self, other: Bits) -> None:
        if len(other.bytes) > len(self.bytes):
            grown = np.zeros(len(other.bytes), dtype=np.uint8)
            grown[: len(self.bytes)] = self.bytes
            self.bytes = grown
        self.bytes[: len(other.bytes)] |= other.bytes
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)


class CorrelationBits:
    """Per pid the ids of a stream's rows; for api_calls only successful launches (`launch`)."""

    def __init__(self, stream: str, launch: Flags | None = None) -> None:
        self.stream, self.launch = stream, launch
        extra = {"name_id", "return_code", "global_tid"} if launch else {"global_pid"}
        self.columns = frozenset({"start_ns", "end_ns", "correlation"} | extra)
        self.bits: dict[int, Bits] = {}

    def update(self, batch: Batch) -> None:
        if not batch.has("correlation"):
            return
        chosen = batch.chunk.mask("correlation")
        if self.launch is not None:
            chosen = chosen & self.launch.of(batch.code)
            if batch.has("return_code"):
                chosen &= batch.column("return_code") == 0
        ids, pids = batch.column("correlation"), batch.pid
        if not chosen.all():
            ids, pids = ids[chosen], pids[chosen]
        if not len(ids):
            return
        low, high = int(pids.min()), int(pids.max())
        for pid in [low] if low == high else np.unique(pids).tolist():
            self.bits.setdefault(pid, Bits()).set(ids if low == high else ids[pids == pid])

    def merge(self, other: CorrelationBits) -> None:
        for pid, bits in other.bits.items():
            self.bits.setdefault(pid, Bits()).merge(bits)


class Captures:
    """Per pid the correlation ids of the calls that begin (+1) and end (-1) a stream capture."""

    stream = "api_calls"
    columns = frozenset({"start_ns", "end_ns", "global_tid", "name_id", "correlation"})

    def __init__(self, names: Names) -> None:
        self.begin, self.end = (
            Flags(names, lambda new, w=word: np.array([n.startswith(w) for n in new], dtype=np.bool_))  # type: ignore[misc]
            for word in (
                ("cudaStreamBeginCapture", "cuStreamBeginCapture"),
                ("cudaStreamEndCapture", "cuStreamEndCapture"),
            )
        )
        self.marks: dict[int, list[tuple[int, int]]] = {}

    def update(self, batch: Batch) -> None:
        if not batch.has("correlation"):
            return
        begin, end = self.begin.of(batch.code), self.end.of(batch.code)
        for i in np.flatnonzero((begin | end) & batch.chunk.mask("correlation")).tolist():
            mark = (int(batch.correlation[i]), 1 if begin[i] else -1)
            self.marks.setdefault(int(batch.pid[i]), []).append(mark)

    def merge(self, other: Captures) -> None:
        for pid, marks in other.marks.items():
            self.marks.setdefault(pid, []).extend(marks)

    def ranges(self, pid: int) -> list[tuple[int, int]]:
        """Id ranges (both ends included) in which a capture is open; one without an end is none."""
        out: list[tuple[int, int]] = []
        depth, opened = 0, 0
        for at, step in sorted(self.marks.get(pid, [])):
            if depth == 0 and step > 0:
                opened = at
            elif depth == 1 and step < 0:
                out.append((opened, at))
            depth = max(depth + step, 0)
        return out


def missing_share(
    launches: Bits | None, rows: Bits | None, captured: list[tuple[int, int]] | None = None
) -> tuple[int, int]:
    """(launches without a GPU row, launches) among the ids between the first and last GPU row.

    Ids within the ranges `captured` (both ends included) are left out.
    """
    if launches is None or rows is None or rows.high < 0:
        return 0, 0
    size = max(len(launches.bytes), len(rows.bytes), (rows.high >> 3) + 1)
    a = np.zeros(size, dtype=np.uint8)
    b = np.zeros(size, dtype=np.uint8)
    a[: len(launches.bytes)] = launches.bytes
    b[: len(rows.bytes)] = rows.bytes
    first, last = rows.low >> 3, rows.high >> 3
    a, b = a[first : last + 1].copy(), b[first : last + 1]
    a[0] &= (0xFF << (rows.low & 7)) & 0xFF
    a[-1] &= 0xFF >> (7 - (rows.high & 7))
    for low, high in captured or ():
        _clear(a, low - (first << 3), high - (first << 3))
    return int(np.bitwise_count(a & ~b).sum()), int(np.bitwise_count(a).sum())


def _clear(bits: NDArray[np.uint8], low: int, high: int) -> None:
    """Clears the bits low..high, both included."""
    low, high = max(low, 0), min(high, 8 * len(bits) - 1)
    if high < low:
        return
    i, j = low >> 3, high >> 3
    below, above = (1 << (low & 7)) - 1, (0xFF << ((high & 7) + 1)) & 0xFF
    if i == j:
        bits[i] &= below | above
    else:
        bits[i] &= below
        bits[i + 1 : j] = 0
        bits[j] &= above
