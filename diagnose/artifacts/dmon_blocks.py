"""Long dmon logs in blocks: regular rows are parsed as one array, everything else row by row.

A block goes the fast way when its comment lines are the header in force and its rows hold numbers,
dashes and `N/A` only; rows with another number of cells are counted as cut. The slow way is `dmon.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from diagnose.artifacts.base import Line, Section
from diagnose.artifacts.dmon import DmonReader
from diagnose.artifacts.dmon_layout import Layout, layout_of
from diagnose.artifacts.folded import Floats, Folded

if TYPE_CHECKING:
    import polars as pl

_DAY = 86400.0


class DmonBlocks:
    """Feed whole lines with `feed`; `folded.table()` has the samples at the end."""

    def __init__(self, source: int) -> None:
        self.folded = Folded(source)
        self.layout: Layout | None = None
        self.header: list[str] = []
        self.known: set[str] = set()
        self.skipped = 0
        self.lines = 0
        self._base: float | None = None
        self._days = 0.0
        self._last: float | None = None
        self._lost = False

    def feed(self, text: str) -> None:
        lines = text.split("\n")
        if lines and not lines[-1]:
            lines.pop()
        self.lines += len(lines)
        comments = [line for line in lines if "#" in line]
        if any(line not in self.known for line in comments):
            self._learn(comments)
        if self.layout is None:
            self.skipped += len(lines)
            return
        if not self._fast([line for line in lines if "#" not in line]):
            self._slow(lines)

    def _learn(self, comments: list[str]) -> None:
        for line in comments:
            layout = layout_of(line)
            if layout is not None:
                if self.layout is None or [c[1] for c in layout.columns] != [
                    c[1] for c in self.layout.columns
                ]:
                    self.layout = layout
                self.header = [line]
                self.known.add(line)
            elif self.layout is not None and self.layout.with_units(line):
                self.header.append(line)
                self.known.add(line)
        if self.layout is not None:
            self.folded.units = {name: unit for _, name, unit in self.layout.columns}

    def _fast(self, lines: list[str]) -> bool:
        """Takes the rows of a block as one table; False when a cell is no number, dash or N/A."""
        layout = self.layout
        assert layout is not None
        if not lines:
            return True
        raw = np.frombuffer(("\n".join(lines) + "\n").encode("utf-8", "replace"), dtype=np.uint8)
        if layout.csv:
            raw = np.where(raw == ord(","), ord(" "), raw).astype(np.uint8)
        inside = raw > 32
        begins = inside & ~np.concatenate(([False], inside[:-1]))
        ends = np.flatnonzero(raw == 10)
        starts = np.concatenate(([0], ends[:-1] + 1))
        counts = np.add.reduceat(begins.view(np.uint8), starts, dtype=np.int64)
        good = counts == layout.size
        odd = int((~good & (counts > 0)).sum())
        if odd > len(lines) // 20:
            return False
        body = raw if good.all() else raw[np.repeat(good, ends - starts + 1)]
        found = self._table(_single_blanks(body), layout)
        if found is None or len(found) != int(good.sum()):
            return False
        self.skipped += odd
        self._take(found, layout)
        return True

    def _table(self, body: bytes, layout: Layout) -> pl.DataFrame | None:
        """Blank-separated cells as a frame with columns c0, c1, …; None when they do not parse."""
        import polars as pl

        if not body.strip():
            return pl.DataFrame({f"c{i}": [] for i in range(layout.size)})
        schema: dict[str, pl.DataType] = {
            f"c{i}": pl.String() if i == layout.time else pl.Float64() for i in range(layout.size)
        }
        try:
            return pl.read_csv(
                body,
                separator=" ",
                has_header=False,
                schema=schema,
                null_values=["-", "N/A", "[N/A]"],
                quote_char=None,
            )
        except pl.exceptions.PolarsError:
            return None

    def _take(self, cells: pl.DataFrame, layout: Layout) -> None:
        import polars as pl

        gpu = pl.col(f"c{layout.gpu}")
        fit = cells.filter((gpu >= 0) & (gpu < 1000))
        if layout.time is not None:
            clock = pl.col(f"c{layout.time}")
            fit = fit.filter(clock.str.contains(r"^\d\d:\d\d:\d\d$"))
        self.skipped += len(cells) - len(fit)
        if not len(fit):
            return
        numbers = {i: _floats(fit, i) for i in range(layout.size) if i != layout.time}
        values = {name: numbers[position] for position, name, _ in layout.columns}
        seconds = self._seconds(fit, numbers, layout)
        self.folded.add(numbers[layout.gpu].astype(np.int64), seconds, values)

    def _seconds(self, cells: pl.DataFrame, numbers: dict[int, Floats], layout: Layout) -> Floats | None:
        """Seconds since the first row, as `dmon_clock.Clock` counts them; None when no clock tells."""
        import polars as pl

        if layout.time is None:
            return None
        clock = pl.col(f"c{layout.time}").str
        parts = cells.select(
            h=clock.slice(0, 2).cast(pl.Float64),
            m=clock.slice(3, 2).cast(pl.Float64),
            s=clock.slice(6, 2).cast(pl.Float64),
        )
        of_day: Floats = (parts["h"] * 3600 + parts["m"] * 60 + parts["s"]).to_numpy()
        if layout.date is not None:
            now = _days(numbers[layout.date]) * _DAY + of_day
            if self._base is None:
                self._base = float(now[0])
                self.folded.first_time = self._base
            return now - self._base
        before = np.concatenate(([self._last if self._last is not None else of_day[0]], of_day[:-1]))
        falls = of_day < before - _DAY / 2
        now = of_day + self._days + np.cumsum(falls) * _DAY
        self._days += float(falls.sum()) * _DAY
        self._last = float(of_day[-1])
        self._lost = self._lost or bool((~falls & (of_day < before - 2)).any())
        if self._lost:
            return None
        if self._base is None:
            self._base = float(now[0])
        return now - self._base

    def _slow(self, lines: list[str]) -> None:
        """Row by row, with the header in force put before the block."""
        text = [*self.header, *lines]
        section = Section(self.folded.source, [Line(n, line, line) for n, line in enumerate(text)])
        parsed = DmonReader().read(section)
        self.skipped += len(lines) - parsed.rows
        for row in parsed.tables.get("gpu_samples", []):
            value = np.array([np.nan if row["value"] is None else row["value"]])
            start = self.folded.first_time
            second = None
            if row["time"] is not None and start is not None:
                second = np.array([row["time"] - start])
            if second is None and self.folded.timed:
                second = np.array([self.folded.width * 0.0])
            self.folded.add(np.array([row["gpu"]], dtype=np.int64), second, {row["column"]: value})


def _days(dates: Floats) -> Floats:
    """YYYYMMDD → days since 1970."""
    unique, inverse = np.unique(dates.astype(np.int64), return_inverse=True)
    days = []
    for date in unique.tolist():
        try:
            text = f"{date // 10000:04d}-{date // 100 % 100:02d}-{date % 100:02d}"
            days.append(float(np.datetime64(text, "D").astype(np.int64)))
        except ValueError:
            days.append(np.nan)
    found: NDArray[np.float64] = np.array(days)[inverse]
    return found


def _single_blanks(raw: NDArray[np.uint8]) -> bytes:
    """Lines whose cells are separated by one blank, with none at either end."""
    line = raw == 10
    blank = (raw <= 32) & ~line
    first = ~blank | ~np.concatenate(([True], (blank | line)[:-1]))
    raw = raw[first]
    blank = (raw <= 32) & (raw != 10)
    raw = np.where(blank, np.uint8(32), raw)
    return bytes(raw[~(blank & np.concatenate((raw[1:] == 10, [True])))].tobytes())


def _floats(cells: pl.DataFrame, position: int) -> Floats:
    """A column as float64, NaN where the cell had no value."""
    found: Floats = cells[f"c{position}"].fill_null(float("nan")).to_numpy().astype(np.float64)
    return found
