"""`nvidia-smi dmon` → `gpu_samples`: one row for each GPU, sweep and column.

    # gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa   mclk   pclk
    # Idx      W      C      C      %      %      %      %      %      %    MHz    MHz
        0    631     63     57    100     10      0      0      0      0   2619   1980

Columns are named by the nearest header above a row; their order follows the letters of `-s`, widths
differ between drivers and within one line. `-o D`, `-o T`, `-o DT` put date and time first. Header
and units repeat while dmon runs (every 44 rows where it was counted). `-` and `N/A` are None: a GPU in
MIG mode prints `-` for every utilisation, which is not an idle GPU.
Rows without any header above them are refused: their columns are those of an unknown `-s`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from diagnose.artifacts.base import Line, Row, Section
from diagnose.artifacts.dmon_clock import Clock
from diagnose.artifacts.dmon_layout import Cells, Layout, layout_of, uncommented, without_epoch
from diagnose.artifacts.paste import Unterminated
from diagnose.artifacts.starts import start_kind
from diagnose.artifacts.unread import TextParsed, place

_HEAD = 200
_NOT_SUPPORTED = "not supported on the device(s)"
_CELL = r"(?:-|[0-9]{1,12})"
# A row of at least ten cells: GPU index first, nothing but numbers and dashes behind it.
_BARE = re.compile(rf"\s*(?:[0-9]{{10}}(?:\.[0-9]+)?[, ]\s*)?[0-9]{{1,2}}(?:(?:, ?|\s+){_CELL}){{9,60}}\s*$")
_GPU = re.compile(r"[0-9]{1,3}\Z")


class DmonReader:
    kind = "dmon"

    def sniff(self, section: Section) -> bool:
        head = [line.text for line in section.lines[:_HEAD] if line.text.strip()]
        if any(layout_of(text) or layout_of(without_epoch(text)[1]) for text in head):
            return True
        if "pmon" in section.command or any(start_kind(text) == "pmon" for text in head[:5]):
            return False
        return any(text.strip().lower() == _NOT_SUPPORTED for text in head[:5]) or _is_bare(head)

    def read(self, section: Section) -> TextParsed:
        """Rows of `gpu_samples`; `Parsed.rows` counts data rows of dmon (one GPU at one time)."""
        return _Reading(section).parse()


def _is_bare(head: Sequence[str]) -> bool:
    sizes = [len(re.split(r"[,\s]+", t.strip())) for t in head if _BARE.match(t)]
    return len(sizes) >= 2 and len(set(sizes)) == 1 and len(sizes) * 2 > len(head)


class _Reading:
    """State of reading one section: the header in force, the clock, what went wrong where."""

    def __init__(self, section: Section) -> None:
        self.section = section
        self.layout: Layout | None = None
        self.want_units = False
        self.cells = Cells()
        self.gpus: dict[str, int] = {}
        self.clock = Clock()
        self.rows: list[Row] = []
        self.count = 0
        self.unread: list[Line] = []
        self.cut: list[int] = []
        self.bare: list[int] = []
        self.bare_cells = 0
        self.problems: list[str] = []

    def parse(self) -> TextParsed:
        for line in self.section.lines:
            text = line.text
            if self.layout is not None and "#" not in text and self._row(line, text):
                continue
            if text.strip():
                self._other(line, text)
        self._report()
        tables = (
            {"gpu_samples": self.rows} if self.rows else {}
        )  # no row read: the table is missing, not empty
        return TextParsed(DmonReader.kind, tables, self.problems, self.count, self.unread)

    def _other(self, line: Line, text: str) -> None:
        epoch, rest = without_epoch(text)
        layout = layout_of(rest)
        if layout is not None:
            self._use(layout, line)
        elif self.want_units and self.layout is not None and self.layout.with_units(rest):
            self.want_units = False
        elif self.layout is not None and self._row(line, uncommented(rest), epoch):
            pass
        elif self.layout is None and _BARE.match(text):
            self.bare.append(line.number)
            self.bare_cells = len([c for c in re.split(r"[,\s]+", rest.strip()) if c])
        elif text.strip().lower() == _NOT_SUPPORTED:
            self.problems.append(f"line {line.number}: nvidia-smi says: Not supported on the device(s)")
        elif self.layout is not None and _mostly_cells(self.layout.tokens(text)):
            self.cut.append(line.number)
        else:
            self.unread.append(line)

    def _use(self, layout: Layout, line: Line) -> None:
        if layout.twice and (self.layout is None or self.layout.twice != layout.twice):
            names = ", ".join(layout.twice)
            self.problems.append(f"line {line.number}: column named twice, not read: {names}")
        self.layout = layout
        self.want_units = True

    def _row(self, line: Line, text: str, epoch: float | None = None) -> bool:
        """Take one data row; False when it is none under the header in force."""
        layout = self.layout
        assert layout is not None
        tokens = layout.tokens(text)
        if len(tokens) != layout.size:
            return False
        try:
            gpu = self.gpus[tokens[layout.gpu]]
        except KeyError:
            if not _GPU.match(tokens[layout.gpu]):
                return False
            gpu = self.gpus[tokens[layout.gpu]] = int(tokens[layout.gpu])
        cells = self.cells
        try:
            values = [cells[tokens[at]] for at in layout.positions]
            if type(line) is Unterminated:
                raise ValueError("the last number may be cut")
            date = None if layout.date is None else tokens[layout.date]
            clock = None if layout.time is None else tokens[layout.time]
            time, second = self.clock.read(date, clock, epoch)
        except ValueError:
            return False
        source, number = self.section.input, line.number
        self.rows += [
            {
                "input": source,
                "line": number,
                "gpu": gpu,
                "time": time,
                "second": second,
                "column": name,
                "value": value,
                "unit": unit,
            }
            for (_, name, unit), value in zip(layout.columns, values, strict=True)
        ]
        self.count += 1
        return True

    def _report(self) -> None:
        if self.bare:
            self.problems.append(
                f"{place(self.bare)}: {len(self.bare)} data rows of {self.bare_cells} cells without dmon's"
                " own header: columns unknown, not read (record again with the header line)"
            )
        if self.cut:
            self.problems.append(f"{place(self.cut)}: cut or malformed row, not read")
        if self.clock.lost:
            self.problems.append("the time of day steps back and there is no date: later rows have no time")


def _mostly_cells(tokens: Sequence[str]) -> bool:
    """True for a row that was cut: at least half of its tokens are numbers or dashes, the first is one."""
    good = sum(1 for t in tokens if t == "-" or t[:1].isdigit())
    return bool(tokens) and tokens[0][:1].isdigit() and 2 * good >= len(tokens)
