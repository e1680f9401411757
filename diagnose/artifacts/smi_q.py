"""`nvidia-smi -q`, whole or a fragment of it, any driver.

    GPU 00000000:18:00.0
        FB Memory Usage
            Total                             : 81559 MiB

The colon's column moved with the drivers (36 to 55) and the process block has its own, so a line is split
at its first ` : ` and nesting comes from the indent alone. Labels are looked up by their full path. What
belongs to a MIG device never counts for its GPU.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from diagnose.artifacts.base import Line, Section
from diagnose.artifacts.paste import Unterminated
from diagnose.artifacts.smi_cells import flag, stamp, whole
from diagnose.artifacts.smi_messages import message_of
from diagnose.artifacts.smi_paths import GROUPS, field_of_q
from diagnose.artifacts.smi_tables import Block, Process, SmiTables, not_all_shown
from diagnose.artifacts.starts import start_kind
from diagnose.artifacts.unread import TextParsed, place

_LONG = 400
_GPU = re.compile(r"\s*GPU ([0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\s*$")
_LABEL = re.compile(r"[A-Za-z][\w ./()&-]{0,60}\Z")
_FRAGMENT = re.compile(
    r"\s*(?:GPU Link Info|FB Memory Usage|Clocks (?:Event|Throttle) Reasons|Fabric|(?:GPU )?Power Readings"
    r"|Max Clocks)\s*$"
)
# A last value that has lost nothing: its unit stands behind it.
_WHOLE = re.compile(r"(?:[0-9.]+ ?(?:MiB|MHz|KB/s|us|W|C|%|x)|N/A)\Z")
_VERSIONS = {
    "driver version": "driver",
    "kmd version": "driver",
    "cuda version": "driver_cuda",
    "cuda umd version": "driver_cuda",
}


class SmiQReader:
    kind = "smi_q"

    def sniff(self, section: Section) -> bool:
        return any(
            start_kind(line.text) == "smi_q" or _GPU.match(line.text) or _fragment(section, at)
            for at, line in enumerate(section.lines[:4000])
            if len(line.text) <= _LONG
        )

    def read(self, section: Section) -> TextParsed:
        """`Parsed.rows` counts GPUs (or fragments of one) that were shown."""
        return _Reading(section).parse()


def _fragment(section: Section, at: int) -> bool:
    """A group line of -q with a deeper `label : value` line under it."""
    text = section.lines[at].text
    if not _FRAGMENT.match(text):
        return False
    below = next((line.text for line in section.lines[at + 1 : at + 3] if line.text.strip()), "")
    return text[:1].isspace() or _indent(below) > _indent(text)


def _indent(text: str) -> int:
    return len(text.expandtabs(4)) - len(text.expandtabs(4).lstrip())


@dataclass(slots=True)
class _Log:
    """One call of nvidia-smi -q: what it says about the machine, and its GPUs."""

    blocks: list[Block] = field(default_factory=list)
    driver: str | None = None
    time: float | None = None
    attached: tuple[int, int] | None = None


class _Reading:
    def __init__(self, section: Section) -> None:
        self.section = section
        self.tables = SmiTables(section.input)
        self.log = _Log()
        self.logs = [self.log]
        self.block: Block | None = None
        self.stack: list[tuple[int, str]] = []
        self.pending: tuple[Line, int] | None = None
        self.process: Process | None = None
        self.instance: int | None = None
        self.unread: list[Line] = []
        self.flat: list[int] = []
        self.cut: list[int] = []
        self.twice: list[int] = []
        self.said: list[str] = []

    def parse(self) -> TextParsed:
        for line in self.section.lines:
            text = line.text.rstrip()
            if text.strip() and text != self.section.command:
                self._line(line, text)
        self._settle(-1)
        return self._result()

    def _line(self, line: Line, text: str) -> None:
        if len(text) > _LONG:
            self.unread.append(line)
        elif "NVSMI LOG" in text:
            self._settle(-1)
            self.log = _Log()
            self.logs.append(self.log)
            self.block, self.stack = None, []
        elif match := _GPU.match(text):
            self._settle(-1)
            self.block = Block(line.number, bus=match.group(1))
            self.log.blocks.append(self.block)
            self.stack, self.process, self.instance = [(_indent(text), "")], None, None
        elif said := message_of(text):
            self.said.append(f"line {line.number}: nvidia-smi says: {said.text}")
            if said.lost:
                self.tables.lost(line.number, said.text, said.gpu, said.bus_id)
            self.unread.append(line)
        else:
            self._nested(line, text)

    def _nested(self, line: Line, text: str) -> None:
        indent = _indent(text)
        label, colon, value = text.strip().partition(" : ")
        if not colon and text.endswith(" :"):
            label, colon = text.strip()[:-2], ":"
        label = label.strip()
        self._settle(indent)
        if not _LABEL.match(label):
            self.unread.append(line)
            return
        while self.stack and self.stack[-1][0] >= indent:
            if not self.stack.pop()[1]:
                self.block = None  # no deeper than the GPU's own line: it is over
        self.stack.append((indent, label.lower()))
        if colon:
            self._leaf(line, tuple(name for _, name in self.stack if name), value.strip())
        else:
            self.pending = (line, indent)
            if label.lower() == "mig device" and self.block is not None:
                self.block.mig_devices += 1

    def _settle(self, indent: int) -> None:
        """A line without a colon is a group only when the next line is deeper."""
        if self.pending is None:
            return
        line, own = self.pending
        self.pending = None
        if indent > own:
            return
        if indent == own and line.text.strip().lower() in GROUPS:
            self.flat.append(line.number)
        else:
            self.unread.append(line)

    def _leaf(self, line: Line, path: tuple[str, ...], value: str) -> None:
        if isinstance(line, Unterminated) and not _WHOLE.match(value) and flag(value) is None:
            self.cut.append(line.number)
            return
        if len(path) == 1 and self._header(line, path[0], value):
            return
        if "processes" in path:
            self._process(line, path[-1], value)
            return
        name = field_of_q(path)
        if name is None:
            inside = self.block is not None and self.block.bus is not None
            if not inside and path[0] not in GROUPS:
                self.unread.append(line)
            return
        if name == "gpu_firmware":
            self.tables.software("gpu_firmware", value, line.number)
            return
        block = self.block
        if block is None or (not block.bus and name in block.facts):
            block = self.block = Block(line.number)
            self.log.blocks.append(block)
        if name in block.facts:
            if block.facts[name][0] != value:
                self.twice.append(line.number)
            return
        block.facts[name] = (value, line.number)

    def _header(self, line: Line, label: str, value: str) -> bool:
        if label in _VERSIONS:
            found = self.tables.software(_VERSIONS[label], value, line.number)
            if _VERSIONS[label] == "driver":
                self.log.driver = self.log.driver or found
        elif label == "attached gpus":
            count = whole(value)
            self.log.attached = None if count is None else (count, line.number)
        elif label == "timestamp":
            self.log.time = stamp(value)
        else:
            return False
        return True

    def _process(self, line: Line, label: str, value: str) -> None:
        if label == "gpu instance id":
            self.instance, self.process = whole(value), None
        elif label == "process id":
            pid = whole(value)
            self.process = None
            if pid is not None and self.block is not None:
                self.process = Process(line.number, pid, instance=self.instance)
                self.block.processes.append(self.process)
            self.instance = None
        elif self.process is not None and label == "type":
            self.process.kind = value if value in ("C", "G", "C+G", "M+C") else None
        elif self.process is not None and label == "used gpu memory":
            self.process.memory = value

    def _result(self) -> TextParsed:
        problems = list(self.said)
        count = 0
        for log in self.logs:
            shown = sum(1 for block in log.blocks if block.bus)
            if log.attached is not None and log.attached[0] != shown:
                total, line = log.attached
                problems.append(not_all_shown(line, total, shown))
            for index, block in enumerate(log.blocks):
                numbered = log.attached is not None and log.attached[0] == shown == len(log.blocks)
                block.gpu = index if numbered else None
                self.tables.add(block, driver=log.driver, time=log.time)
                count += 1
        if self.flat:
            problems.append(f"{place(self.flat)}: indentation lost under this group, its values are not read")
        if self.twice:
            problems.append(f"{place(self.twice)}: said twice of one GPU with another value, first one kept")
        if self.cut:
            problems.append(f"{place(self.cut)}: the last line has no line break and may be cut, not read")
        problems += self.tables.problems()
        return TextParsed(SmiQReader.kind, self.tables.tables(), problems, count, self.unread)


READERS = (SmiQReader(),)
