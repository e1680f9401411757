"""GPU samples folded into time buckets while they are read: flat memory however long the log is.

Per GPU and column at most `BUCKETS` buckets are kept; their width doubles by merging neighbours when
time runs on. Each gives one row of `gpu_samples` whose `value` is the mean, with `low`, `high` and
`count` of the samples in it: means, extremes and counts over whole buckets are exact.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from diagnose.artifacts.base import Row

BUCKETS = 512
Floats = NDArray[np.float64]


class _Series:
    """Buckets of one GPU and column; NaN is no value."""

    def __init__(self) -> None:
        self.count: Floats = np.zeros(BUCKETS)
        self.sum: Floats = np.zeros(BUCKETS)
        self.low: Floats = np.full(BUCKETS, np.inf)
        self.high: Floats = np.full(BUCKETS, -np.inf)

    def add(self, at: NDArray[np.int64], values: Floats) -> None:
        good = ~np.isnan(values)
        at, values = at[good], values[good]
        self.count += np.bincount(at, minlength=BUCKETS)
        self.sum += np.bincount(at, weights=values, minlength=BUCKETS)
        np.minimum.at(self.low, at, values)
        np.maximum.at(self.high, at, values)

    def halve(self) -> None:
        half = BUCKETS // 2
        pad = np.zeros(half)
        self.count = np.concatenate((self.count.reshape(-1, 2).sum(axis=1), pad))
        self.sum = np.concatenate((self.sum.reshape(-1, 2).sum(axis=1), pad))
        self.low = np.concatenate((self.low.reshape(-1, 2).min(axis=1), np.full(half, np.inf)))
        self.high = np.concatenate((self.high.reshape(-1, 2).max(axis=1), np.full(half, -np.inf)))


class Folded:
    """Collects samples of one file in order of time. Times are seconds since the first sample."""

    def __init__(self, source: int) -> None:
        self.source = source
        self.width = 1.0
        self.first_time: float | None = None  # wall time of second 0, when rows are dated
        self.timed = True
        self.rows = 0
        self.units: dict[str, str] = {}
        self._series: dict[tuple[int, str], _Series] = {}
        self._columns: dict[str, None] = {}

    def add(self, gpus: NDArray[np.int64], seconds: Floats | None, columns: Mapping[str, Floats]) -> None:
        """Rows of one block: GPU, seconds since the first row (None: no time column), values a column."""
        if not len(gpus):
            return
        if seconds is None:
            self.timed = False
            seconds = np.arange(self.rows, self.rows + len(gpus), dtype=np.float64)
        self.rows += len(gpus)
        latest = float(seconds.max())
        while latest >= self.width * BUCKETS:
            self.width *= 2
            for series in self._series.values():
                series.halve()
        at = np.maximum(seconds // self.width, 0).astype(np.int64)
        self._columns.update(dict.fromkeys(columns))
        for gpu in np.unique(gpus).tolist():
            mine = gpus == gpu
            for name, values in columns.items():
                self._series.setdefault((gpu, name), _Series()).add(at[mine], values[mine])

    def table(self) -> list[Row]:
        """Rows of `gpu_samples`; a column without any value gives one row with None."""
        out: list[Row] = []
        for (gpu, name), series in sorted(self._series.items()):
            held = np.flatnonzero(series.count)
            base = {
                "input": self.source,
                "line": None,
                "gpu": gpu,
                "column": name,
                "unit": self.units.get(name, ""),
            }
            if not len(held):
                out.append({**base, "time": None, "second": None, "value": None})
            for i in held.tolist():
                second = i * self.width if self.timed else None
                dated = second is not None and self.first_time is not None
                out.append(
                    {
                        **base,
                        "time": (self.first_time or 0.0) + (second or 0.0) if dated else None,
                        "second": second,
                        "value": float(series.sum[i] / series.count[i]),
                        "low": float(series.low[i]),
                        "high": float(series.high[i]),
                        "count": int(series.count[i]),
                    }
                )
        return out
