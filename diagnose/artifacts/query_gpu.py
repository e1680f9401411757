"""`nvidia-smi --query-gpu=… --format=csv`, once or looped, and `--query-compute-apps`.

    index, name, utilization.gpu [%], memory.used [MiB]
    0, NVIDIA L40S, 46 %, 15240 MiB

nvidia-smi prints canonical field names whatever alias was asked, with the unit behind those that have one;
`nounits` leaves it to the header. A value whose unit stands nowhere is not read, rows without any header
are refused. Loops print the header again. Without an index column nobody can tell which GPU a row is of:
rows of one sweep carry different milliseconds, and `-i` leaves GPUs out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from diagnose.artifacts.base import Line, Section
from diagnose.artifacts.devices import bus_id_of
from diagnose.artifacts.paste import Unterminated
from diagnose.artifacts.query_fields import Header, header_of
from diagnose.artifacts.smi_cells import error_of, is_unknown, stamp, whole
from diagnose.artifacts.smi_messages import message_of
from diagnose.artifacts.smi_tables import Block, Process, SmiTables
from diagnose.artifacts.unread import TextParsed, place

_MOST = 20_000
_LONG = 20_000
# Rows that a query prints, recognised without its header: index and name first, or the time stamp.
_BARE = re.compile(
    r"\s*(?:[0-9]{1,3}, (?:NVIDIA|Tesla|GeForce|Quadro) [^,]{2,60}, "
    r"|[0-9]{4}/[0-9]{2}/[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}, )"
)
_INDEX = re.compile(r"[0-9]{1,3}\Z")
_PID = re.compile(r"[0-9]{1,10}\Z")


class QueryReader:
    kind = "query_gpu"

    def sniff(self, section: Section) -> bool:
        texts = [line.text for line in section.lines[:_MOST] if line.text.strip()]
        if any(header_of(text) for text in texts):
            return True
        rows = [text for text in texts if text != section.command]
        return bool(rows) and all(_BARE.match(text) for text in rows)

    def read(self, section: Section) -> TextParsed:
        """`Parsed.rows` counts data rows under a header."""
        return _Reading(section).parse()


@dataclass(slots=True)
class _Problems:
    """Line numbers of what could not be read, by what is wrong with them."""

    bare: list[int] = field(default_factory=list)
    cells: int = 0
    malformed: list[int] = field(default_factory=list)
    cut: list[int] = field(default_factory=list)
    unitless: dict[str, list[int]] = field(default_factory=dict)
    no_index: list[int] = field(default_factory=list)

    def texts(self) -> list[str]:
        out = []
        if self.bare:
            out.append(
                f"{place(self.bare)}: {len(self.bare)} data rows of {self.cells} cells without a header:"
                " columns unknown, not read (record again without noheader)"
            )
        if self.malformed:
            out.append(f"{place(self.malformed)}: cut or malformed row, not read")
        if self.cut:
            out.append(f"{place(self.cut)}: the last cell has no line break and may be cut, not read")
        for name, lines in self.unitless.items():
            out.append(f"{place(lines)}: {name} has no unit, in the header or the cell: not read")
        if self.no_index:
            out.append(
                f"{place(self.no_index)}: no index column: which GPU of nvidia-smi a row is of is not told"
            )
        return out


class _Reading:
    def __init__(self, section: Section) -> None:
        self.section = section
        self.tables = SmiTables(section.input)
        self.header: Header | None = None
        self.wrong = _Problems()
        self.said: list[str] = []
        self.unread: list[Line] = []
        self.count = 0

    def parse(self) -> TextParsed:
        for line in self.section.lines:
            text = line.text.strip()
            if not text or text == self.section.command:
                continue
            if len(text) > _LONG:
                self.unread.append(line)
            elif (header := header_of(text)) is not None:
                self.header = header
            elif said := message_of(text):
                self.said.append(f"line {line.number}: nvidia-smi says: {said.text}")
                if said.lost:
                    self.tables.lost(line.number, said.text, said.gpu, said.bus_id)
                self.unread.append(line)
            else:
                self._row(line, text)
        problems = self.said + self.wrong.texts() + self.tables.problems()
        return TextParsed(QueryReader.kind, self.tables.tables(), problems, self.count, self.unread)

    def _row(self, line: Line, text: str) -> None:
        cells = [cell.strip() for cell in text.split(",")]
        if self.header is None:
            self._headless(line, text, cells)
            return
        fitted = self.header.fit(cells)
        if fitted is None:
            if _BARE.match(text) or (len(cells) > 1 and 2 * len(cells) >= len(self.header.names)):
                self.wrong.malformed.append(line.number)
            else:
                self.unread.append(line)
            return
        self.count += 1
        self._take(line, self.header, fitted)

    def _headless(self, line: Line, text: str, cells: list[str]) -> None:
        if not _BARE.match(text):
            self.unread.append(line)
            return
        self.wrong.bare.append(line.number)
        self.wrong.cells = max(self.wrong.cells, len(cells))
        said = {error for cell in cells if (error := error_of(cell)) is not None}
        if said:
            self.said.append(f"line {line.number}: nvidia-smi says {', '.join(sorted(said))}: no value")
            self.unread.append(line)

    def _take(self, line: Line, header: Header, cells: list[str]) -> None:
        if isinstance(line, Unterminated) and not header.is_whole(cells[-1]):
            self.wrong.cut.append(line.number)
            cells = [*cells[:-1], ""]
        block = Block(line.number)
        for name, unit, cell in zip(header.names, header.units, cells, strict=True):
            if header.needs_unit(name, unit, cell):
                self.wrong.unitless.setdefault(name, []).append(line.number)
            elif name and name not in block.facts:
                value = f"{cell} {unit}" if unit and cell[:1].isdigit() and not cell.endswith(unit) else cell
                block.facts[name] = (value, line.number)
        told = block.cell
        time = stamp(told("timestamp"))
        if told("pid"):
            self._process(line, block)
            return
        if _INDEX.match(told("index")):
            block.gpu = int(told("index"))
        elif told("count") == "1":
            block.gpu = 0
        else:
            self.wrong.no_index.append(line.number)
        for field_, name in (("driver_version", "driver"), ("kmd_version", "driver")):
            if told(field_):
                self.tables.software(name, told(field_), line.number)
        self.tables.add(block, time=time)

    def _process(self, line: Line, block: Block) -> None:
        """A row of --query-compute-apps: it names the GPU by bus id and never by index."""
        facts = block.facts
        process = None
        if _PID.match(block.cell("pid")):
            process = Process(line.number, int(block.cell("pid")), memory=block.cell("used_gpu_memory"))
        block.facts = {n: cell for n, cell in facts.items() if n in ("name", "pci.bus_id", "uuid")}
        self.tables.add(block)
        if process is not None:
            self.tables.process(process, None, bus_id_of(block.cell("pci.bus_id")))
        elif not is_unknown(facts["pid"][0]) or whole(facts["pid"][0]) is not None:
            self.wrong.malformed.append(line.number)


READERS = (QueryReader(),)
