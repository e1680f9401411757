"""A fixed number of time buckets whose width doubles by merging neighbours when time runs on."""

from __future__ import annotations

import numpy as np

from diagnose.artifacts.chunks import Ints

COUNT = 1024
EXACT = 4096


class Buckets:
    """Sums of `values` by start time. Times may come in any order; `width_ns` is the resolution."""

    def __init__(self, count: int = COUNT) -> None:
        self.count = count
        self.origin: int | None = None
        self.width_ns = 1 << 10
        self.sums: Ints = np.zeros(count, dtype=np.int64)
        self.late_ns = 0  # a value may have started this much later than its bucket says (after merging)
        # The first values as they came: `before` is exact while they are all.
        self._kept: list[tuple[Ints, Ints]] | None = []
        self._rows = 0

    def add(self, starts: Ints, values: Ints) -> None:
        if not len(starts):
            return
        self._rows += len(starts)
        if self._kept is not None:
            self._kept.append((starts, values))
            self._kept = self._kept if self._rows <= EXACT else None
        low, high = int(starts.min()), int(starts.max())
        if self.origin is None:
            self.origin = low
        while low < self.origin or high >= self.origin + self.width_ns * self.count:
            self._double(downwards=low < self.origin)
        at = (starts - self.origin) // self.width_ns
        np.add.at(self.sums, at, values)

    def _double(self, *, downwards: bool) -> None:
        """Twice the width; with `downwards` the covered range grows towards earlier times."""
        assert self.origin is not None
        half = self.sums.reshape(-1, 2).sum(axis=1)
        self.sums = np.zeros(self.count, dtype=np.int64)
        if downwards:
            self.sums[self.count // 2 :] = half
            self.origin -= self.width_ns * self.count
        else:
            self.sums[: self.count // 2] = half
        self.width_ns *= 2

    def merge(self, other: Buckets) -> None:
        if other.origin is None:
            return
        if other._kept is not None:
            for starts, values in other._kept:
                self.add(starts, values)
            return
        held = np.flatnonzero(other.sums)
        self._kept = None
        self.late_ns = max(self.late_ns, other.late_ns + other.width_ns)
        self.add(other.origin + held * other.width_ns, other.sums[held])

    def before(self, time_ns: float) -> tuple[int, int]:
        """Sum that starts before `time_ns`, as [low, high]: the bucket it falls into is uncertain."""
        if self.origin is None:
            return 0, 0
        if self._kept is not None:
            exact = sum(int(values[starts < time_ns].sum()) for starts, values in self._kept)
            return exact, exact
        at = (time_ns - self.origin) / self.width_ns
        sure = int(np.clip(np.floor(at - self.late_ns / self.width_ns), 0, self.count))
        upto = int(np.clip(np.ceil(at), 0, self.count))
        return int(self.sums[:sure].sum()), int(self.sums[:upto].sum())
