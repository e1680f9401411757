"""`nvidia-smi pmon` → `gpu_processes`: one row for each process and sample.

    # gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command
    # Idx           #    C/G      %      %      %      %      %      %    name
        0      11345     C     99     10      -      -      -      -    gpu_burn

Columns are named by the nearest header above a row; `-s` and the driver decide which there are. The header
comes again while pmon runs, even in the middle of one sample. `-` is None, not an idle process. A GPU
without processes prints a row of `-`, which says nothing of any process. The command may hold blanks and is
not kept.
"""

from __future__ import annotations

import re

from diagnose.artifacts.base import Line, Row, Section
from diagnose.artifacts.devices import mebibytes
from diagnose.artifacts.dmon_clock import Clock
from diagnose.artifacts.dmon_layout import Cells
from diagnose.artifacts.paste import Unterminated
from diagnose.artifacts.smi_messages import message_of
from diagnose.artifacts.starts import start_kind
from diagnose.artifacts.unread import TextParsed, place

_INDEX = re.compile(r"[0-9]{1,3}\Z")
_PID = re.compile(r"[0-9]{1,10}\Z")
_TYPES = ("C", "G", "C+G", "M+C")
_TEXTS = ("date", "time", "gpu", "pid", "type", "command")


class PmonReader:
    kind = "pmon"

    def sniff(self, section: Section) -> bool:
        return any(start_kind(line.text) == "pmon" for line in section.lines[:2000])

    def read(self, section: Section) -> TextParsed:
        """`Parsed.rows` counts data rows, with those of GPUs that run nothing."""
        return _Reading(section).parse()


class _Reading:
    def __init__(self, section: Section) -> None:
        self.section = section
        self.names: list[str] = []
        self.cells = Cells()
        self.clock = Clock()
        self.rows: list[Row] = []
        self.count = 0
        self.cut: list[int] = []
        self.bare: list[int] = []
        self.unread: list[Line] = []
        self.said: list[str] = []

    def parse(self) -> TextParsed:
        for line in self.section.lines:
            text = line.text.strip()
            if not text or text == self.section.command:
                continue
            if start_kind(line.text) == "pmon":
                self.names = text.lstrip("#").lower().split()
            elif text.startswith("#") and "Idx" in text:
                continue  # units
            elif said := message_of(text):
                self.said.append(f"line {line.number}: nvidia-smi says: {said.text}")
                self.unread.append(line)
            elif not self._row(line, text):
                self._other(line, text)
        problems = list(self.said)
        if self.bare:
            problems.append(f"{place(self.bare)}: row above any header of pmon, not read")
        if self.cut:
            problems.append(f"{place(self.cut)}: cut or malformed row, not read")
        if self.clock.lost:
            problems.append("the time of day steps back and there is no date: later rows have no time")
        tables = {"gpu_processes": self.rows} if self.rows else {}
        return TextParsed(PmonReader.kind, tables, problems, self.count, self.unread)

    def _other(self, line: Line, text: str) -> None:
        tokens = text.split()
        looks = len(tokens) >= 3 and bool(_INDEX.match(tokens[0])) and bool(_PID.match(tokens[1]))
        if looks:
            (self.cut if self.names else self.bare).append(line.number)
        else:
            self.unread.append(line)

    def _row(self, line: Line, text: str) -> bool:
        """Take one data row; False when it is none under the header in force."""
        names = self.names
        if not names:
            return False
        last = names[-1] == "command"
        tokens = text.split(None, len(names) - 1) if last else text.split()
        if len(tokens) != len(names) or (isinstance(line, Unterminated) and not last):
            return False
        told = dict(zip(names, tokens, strict=True))
        if not _INDEX.match(told["gpu"]):
            return False
        try:
            values = {n: self.cells[t] for n, t in told.items() if n not in _TEXTS}
            if told["pid"] == "-":
                self.count += 1
                return True
            if not _PID.match(told["pid"]) or told["type"] not in (*_TYPES, "-"):
                return False
            time, second = self.clock.read(told.get("date"), told.get("time"), None)
        except ValueError:
            return False
        self.count += 1
        self.rows.append(
            {
                "input": self.section.input,
                "line": line.number,
                "gpu": int(told["gpu"]),
                "pid": int(told["pid"]),
                "kind": told["type"] if told["type"] in _TYPES else None,
                "memory_bytes": mebibytes(told.get("fb", "")),
                "bus_id": None,
                "gpu_instance": None,
                "sm": values.get("sm"),
                "mem": values.get("mem"),
                "time": time,
                "second": second,
            }
        )
        return True


READERS = (PmonReader(),)
