"""The table that plain `nvidia-smi` prints, drivers 384 to 610, Linux and Windows, or its error texts.

    |   0  NVIDIA H100 80GB HBM3          On  |   00000000:00:09.0 Off |                    0 |
    | N/A   59C    P0            629W /  700W |   19818MiB /  81559MiB |    100%      Default |
    |                                         |                        |             Disabled |

Widths, rulers and labels changed with nearly every driver (610 says KMD Version and CUDA UMD Version), so
cells are cut at `|` and values are known by their units. A name can end in `...`. In MIG mode utilisation
is N/A, and the memory of MIG devices is not their GPU's.
"""

from __future__ import annotations

import re

from diagnose.artifacts.base import Line, Section
from diagnose.artifacts.devices import bus_id_of
from diagnose.artifacts.smi_cells import error_of, stamp
from diagnose.artifacts.smi_messages import message_of, mostly_messages
from diagnose.artifacts.smi_tables import Block, Process, SmiTables
from diagnose.artifacts.starts import start_kind
from diagnose.artifacts.unread import TextParsed, place

_LONG = 400
_VERSIONS = (
    ("driver", re.compile(r"\b(?:Driver|KMD) Version: +([0-9][0-9.]*)(?=[ |])")),
    ("driver_cuda", re.compile(r"\bCUDA (?:UMD )?Version: +([0-9][0-9.]*)(?=[ |])")),
)
_GPU = re.compile(r"\s*([0-9]{1,3})  ?(\S.{0,60}?) {1,40}(On|Off|WDDM|TCC|MCDM|N/A)\s*\Z")
_BUS = re.compile(r"\s*([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]) ")
_POWER = re.compile(r"(?:([0-9]{1,6})W|N/A|ERR!) */ +(?:([0-9]{1,6})W|N/A|ERR!)\s*\Z")
_TEMPERATURE = re.compile(r"\s([0-9]{1,3})C\s")
_MEMORY = re.compile(r"\s*([0-9]{1,9})MiB */ *([0-9]{1,9})MiB\s*\Z")
_BUSY = re.compile(r"\s*(?:([0-9]{1,3})%|(N/A|ERR!))\s+\S")
_MIG = re.compile(r"\s*([0-9]{1,3}) +[0-9]{1,3} +[0-9]{1,3} +[0-9]{1,3}\s*\Z")
_INDEX = re.compile(r"[0-9]{1,3}\Z")
_PID = re.compile(r"[0-9]{1,10}\Z")
_TYPES = ("C", "G", "C+G", "M+C")


class SmiTableReader:
    kind = "smi_table"

    def sniff(self, section: Section) -> bool:
        texts = [line.text for line in section.lines[:2000]]
        return any(start_kind(text) == "smi_table" for text in texts) or mostly_messages(texts)

    def read(self, section: Section) -> TextParsed:
        """`Parsed.rows` counts rows of GPUs."""
        return _Reading(section).parse()


class _Reading:
    def __init__(self, section: Section) -> None:
        self.section = section
        self.tables = SmiTables(section.input)
        self.part = ""
        self.block: Block | None = None
        self.below = 0
        self.blocks: list[Block] = []
        self.by_gpu: dict[int, Block] = {}
        self.driver: str | None = None
        self.time: float | None = None
        self.count = 0
        self.cut: list[int] = []
        self.said: list[str] = []
        self.unread: list[Line] = []

    def parse(self) -> TextParsed:
        for line in self.section.lines:
            text = line.text.strip()
            if text and text != self.section.command and not self._line(line, text):
                self.unread.append(line)
        self._flush()
        problems = self.said + self.tables.problems()
        if self.cut:
            problems.append(f"{place(self.cut)}: cut or malformed row, not read")
        return TextParsed(SmiTableReader.kind, self.tables.tables(), problems, self.count, self.unread)

    def _line(self, line: Line, text: str) -> bool:
        """Read one line; False when it is nothing of this table."""
        if len(text) > _LONG:
            return False
        if text.startswith("+") or not text.strip("|-=+ "):
            return True
        if text.startswith("|"):
            return self._row(line, text)
        if (time := stamp(text)) is not None:
            self._flush()
            self.time = time
            return True
        if said := message_of(text):
            self.said.append(f"line {line.number}: nvidia-smi says: {said.text}")
            if said.lost:
                self.tables.lost(line.number, said.text, said.gpu, said.bus_id)
        return False

    def _row(self, line: Line, text: str) -> bool:
        if "NVIDIA-SMI" in text:
            self._flush()
            self.part, self.driver = "gpus", None
            for name, pattern in _VERSIONS:
                if match := pattern.search(text):
                    found = self.tables.software(name, match.group(1), line.number)
                    self.driver = found if name == "driver" else self.driver
        elif "Processes:" in text:
            self.part, self.block = "processes", None
        elif "MIG devices:" in text:
            self.part, self.block = "mig", None
        elif not text.endswith("|"):
            if not self.part:
                return False
            self.cut.append(line.number)
        elif self.part == "processes":
            self._process(line, text.strip("|").split())
        elif len(cells := text[1:-1].split("|")) >= 3:
            if self.part == "mig":
                self._mig(cells)
            elif not self._gpu(line, cells):
                self._values(line, cells)
                return self.part == "gpus" or self.block is not None
        else:
            return bool(self.part)
        return True

    def _gpu(self, line: Line, cells: list[str]) -> bool:
        match, bus = _GPU.match(cells[0]), _BUS.match(cells[1])
        if match is None or bus is None:
            return False
        gpu, name, mode = int(match.group(1)), match.group(2), match.group(3)
        if error_of(name):
            shown = "|".join(cells)
            self.tables.lost(line.number, shown, gpu, bus_id_of(bus.group(1)))
            self.said.append(f"line {line.number}: nvidia-smi says ERR! in place of the name of GPU {gpu}")
            name = ""
        self.block = Block(line.number, bus=bus.group(1), gpu=gpu)
        if not name:
            self.block = None
            return True
        self._put("name", name, line)
        if mode in ("WDDM", "TCC", "MCDM"):
            self._put("driver_model.current", mode, line)
        # Uncorrected ECC errors: a count (or On, in MIG mode) where ECC is on, Off where it is off.
        ecc = cells[2].strip()
        if ecc in ("On", "Off") or ecc.isdigit():
            self._put("ecc.mode.current", "Disabled" if ecc == "Off" else "Enabled", line)
        self.below = 0
        self.blocks.append(self.block)
        self.by_gpu[gpu] = self.block
        self.count += 1
        return True

    def _values(self, line: Line, cells: list[str]) -> None:
        if self.block is None:
            return
        self.below += 1
        if self.below == 1:
            self._second(line, cells)
        elif self.below == 2 and cells[2].strip() in ("Enabled", "Disabled"):
            self._put("mig.mode.current", cells[2].strip(), line)

    def _second(self, line: Line, cells: list[str]) -> None:
        if match := _TEMPERATURE.search(cells[0]):
            self._put("temperature.gpu", f"{match.group(1)} C", line)
        if match := _POWER.search(cells[0]):
            for name, watts in zip(("power.draw", "power.limit"), match.groups(), strict=True):
                self._put(name, f"{watts} W" if watts else "N/A", line)
        if match := _MEMORY.match(cells[1]):
            self._put("memory.used", f"{match.group(1)} MiB", line)
            self._put("memory.total", f"{match.group(2)} MiB", line)
        if match := _BUSY.match(cells[2]):
            self._put("utilization.gpu", f"{match.group(1)} %" if match.group(1) else match.group(2), line)

    def _put(self, name: str, cell: str, line: Line) -> None:
        assert self.block is not None
        self.block.facts[name] = (cell, line.number)

    def _mig(self, cells: list[str]) -> None:
        if match := _MIG.match(cells[0]):
            owner = self.by_gpu.get(int(match.group(1)))
            if owner is not None:
                owner.mig_devices += 1

    def _process(self, line: Line, tokens: list[str]) -> None:
        """`gpu [gi ci] pid type name… memory`; the name is not kept."""
        at = next((i for i in (2, 4) if len(tokens) > i + 1 and tokens[i] in _TYPES), None)
        if at is None or not _INDEX.match(tokens[0]) or not _PID.match(tokens[at - 1]):
            return
        instance = int(tokens[1]) if at == 4 and _INDEX.match(tokens[1]) else None
        memory = tokens[-1].replace("MiB", " MiB") if tokens[-1].endswith("MiB") else ""
        process = Process(line.number, int(tokens[at - 1]), tokens[at], memory, instance)
        gpu = int(tokens[0])
        owner = self.by_gpu.get(gpu)
        self.tables.process(process, gpu, bus_id_of(owner.bus or "") if owner else None)

    def _flush(self) -> None:
        """Hand over the GPUs of one table; MIG devices and processes stand below all of them."""
        for block in self.blocks:
            self.tables.add(block, driver=self.driver, time=self.time)
        self.blocks, self.by_gpu, self.block, self.part = [], {}, None, ""


READERS = (SmiTableReader(),)
