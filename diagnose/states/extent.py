"""First and last moment of a stream, its number of rows, and which columns it really had."""

from __future__ import annotations

from diagnose.states.base import Batch


class Extent:
    columns = frozenset({"start_ns", "end_ns"})

    def __init__(self, stream: str) -> None:
        self.stream = stream
        self.rows = 0
        self.first: int | None = None
        self.last: int | None = None

    def update(self, batch: Batch) -> None:
        if batch.rows == 0:
            return
        self.rows += batch.rows
        low = int(batch.start.min())
        high = int((batch.end if batch.has("end_ns") else batch.start).max())
        self.first = low if self.first is None else min(self.first, low)
        self.last = high if self.last is None else max(self.last, high)

    def merge(self, other: Extent) -> None:
        self.rows += other.rows
        for low in [other.first] if other.first is not None else []:
            self.first = low if self.first is None else min(self.first, low)
        for high in [other.last] if other.last is not None else []:
            self.last = high if self.last is None else max(self.last, high)
