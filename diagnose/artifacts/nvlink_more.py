"""The forms of `nvidia-smi nvlink` beside -s and -gt: errors, capabilities, remote ends, old counters.

    Link 2: Replay Errors: 142                          -e   → nvlink_errors
    Link 0, P2P is supported: true                      -c   → nvlink_capabilities
    Link 0: 00000000:38:00.0                            -p   → nvlink_remotes
    Link 0: Remote Device 00000000:38:00.0: Link 11     -R   → nvlink_remotes
    Link 1: Rx0: 100 KBytes, Tx0: 0 KBytes              -g 0 → nvlink_old_counters

`Link is supported: false` stands beside links that work: a capability, not a state. The old counters stay 0
until they are configured (`-sc`), so a 0 of theirs is no evidence, and they are kept away from
`nvlink_counters`. NVLink 5 prints other error names than Replay, Recovery and CRC.
"""

from __future__ import annotations

import re

from diagnose.artifacts.base import Line, Row, Section
from diagnose.artifacts.devices import bus_id_of
from diagnose.artifacts.gpu_lines import gpu_line
from diagnose.artifacts.nvlink import NvlinkReader
from diagnose.artifacts.nvlink_lines import OTHER_FORMS
from diagnose.artifacts.paste import Unterminated
from diagnose.artifacts.unread import TextParsed, place

_HEAD = 400
_LONG = 400
_LINK = re.compile(r"\s*Link ([0-9]{1,3})([:,])\s+(\S.*?)\s*\Z")
_ERRORS = re.compile(
    r"((?:[A-Za-z0-9-]+ ){0,4}?[A-Za-z0-9-]+ (?:Errors|discards|events)): (?:([0-9]{1,20})|(\[?N/A\]?))\Z"
)
_ABLE = re.compile(r"([A-Za-z0-9 ]{3,50}?)(?: is)? supported: (true|false)\Z")
_BUS = r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]"
_REMOTE = re.compile(rf"({_BUS})\Z")
_FAR = re.compile(rf"Remote Device ({_BUS}): Link ([0-9]{{1,3}})\Z")
_OLD = re.compile(r"Rx([01]): ([0-9]{1,18}) KBytes, Tx([01]): ([0-9]{1,18}) KBytes\Z")

_CAPABILITIES = {"Link": "link", "Access to system memory": "system_memory_access"}
_NOT_READ = "recognised, not read yet"


class NvlinkFormsReader:
    """Reads every form: -s and -gt as `NvlinkReader` does, the others here."""

    kind = "nvlink"

    def __init__(self) -> None:
        self._states = NvlinkReader()

    def sniff(self, section: Section) -> bool:
        if self._states.sniff(section):
            return True
        head = [line.text for line in section.lines[:_HEAD]]
        return any(_errors_of(t) for t in head) and any(gpu_line(t) for t in head)

    def read(self, section: Section) -> TextParsed:
        """`Parsed.rows` counts lines that say something about a link or a GPU's links."""
        parsed = self._states.read(section)
        parsed.problems = [p for p in parsed.problems if not p.endswith(_NOT_READ)]
        more = _Reading(section)
        more.parse()
        parsed.rows += more.count
        parsed.tables |= {name: rows for name, rows in more.tables.items() if rows}
        parsed.problems += more.problems()
        taken = more.taken
        parsed.unread = [line for line in parsed.unread if line.number not in taken]
        return parsed


def _errors_of(text: str) -> bool:
    match = _LINK.match(text) if len(text) <= _LONG and "Link " in text else None
    return match is not None and _ERRORS.match(match.group(3)) is not None


class _Reading:
    def __init__(self, section: Section) -> None:
        self.section = section
        self.gpu: int | None = None
        self.tables: dict[str, list[Row]] = {}
        self.remotes: dict[tuple[int, int], Row] = {}
        self.able: set[tuple[int, int, object]] = set()
        self.taken: set[int] = set()
        self.damaged: list[int] = []
        self.orphans: list[int] = []
        self.twice: list[int] = []
        self.count = 0

    def parse(self) -> None:
        for line in self.section.lines:
            text = line.text
            if len(text) > _LONG:
                continue
            if (heading := gpu_line(text)) is not None:
                self.gpu = heading[0]
            elif "Link " in text and (match := _LINK.match(text)):
                self._link(line, int(match.group(1)), match.group(2), match.group(3))

    def _link(self, line: Line, link: int, mark: str, rest: str) -> None:
        row = _capability(rest) if mark == "," else _row(rest)
        if row is None:
            if mark == "," or rest.startswith(("Replay", "Recovery", "CRC", "Remote Device", "Rx0:", "Rx1:")):
                self.damaged.append(line.number)
            return
        table, cells, own = row
        self.taken.add(line.number)
        if self.gpu is None:
            self.orphans.append(line.number)
        elif isinstance(line, Unterminated) and rest[-1:].isdigit() and not _REMOTE.match(rest):
            self.damaged.append(line.number)  # `14` may have been `142`
        else:
            self._put(line, table, link, cells, own)

    def _put(self, line: Line, table: str, link: int, cells: Row, own: object) -> None:
        assert self.gpu is not None
        self.count += 1
        row: Row = {"input": self.section.input, "line": line.number, "gpu": self.gpu, "link": link} | cells
        if table == "nvlink_remotes":
            known = self.remotes.setdefault((self.gpu, link), row)
            if known is not row:  # -p and -R of one link stand together
                if known["remote_bus_id"] != row["remote_bus_id"]:
                    self.twice.append(line.number)
                elif known["remote_link"] is None:
                    known["remote_link"] = row["remote_link"]
                return
        elif table == "nvlink_capabilities":
            if (self.gpu, link, own) in self.able:
                return
            self.able.add((self.gpu, link, own))
        self.tables.setdefault(table, []).append(row)

    def problems(self) -> list[str]:
        out = []
        if self.damaged:
            out.append(f"{place(self.damaged)}: cut or malformed Link line, not read")
        if self.twice:
            out.append(f"{place(self.twice)}: another remote device than said before, first one kept")
        if self.orphans:
            forms = ", ".join(sorted(OTHER_FORMS))
            out.append(f"{place(self.orphans)}: Link lines ({forms}) above any GPU line, not read")
        return out


def _row(rest: str) -> tuple[str, Row, object] | None:
    """(table, cells, what tells it from other rows of the link) of the text behind `Link n:`."""
    if match := _ERRORS.match(rest):
        kind = re.sub(r"[^a-z0-9]+", "_", match.group(1).removesuffix(" Errors").lower())
        count = None if match.group(2) is None else int(match.group(2))
        return "nvlink_errors", {"kind": kind, "count": count}, kind
    if match := _FAR.match(rest):
        return "nvlink_remotes", _remote(match.group(1), int(match.group(2))), ""
    if match := _REMOTE.match(rest):
        return "nvlink_remotes", _remote(match.group(1), None), ""
    if (match := _OLD.match(rest)) and match.group(1) == match.group(3):
        cells = {"counter": int(match.group(1)), "rx_kbytes": int(match.group(2))}
        return "nvlink_old_counters", cells | {"tx_kbytes": int(match.group(4))}, cells["counter"]
    return None


def _remote(bus: str, link: int | None) -> Row:
    return {"remote_bus_id": bus_id_of(bus), "remote_link": link}


def _capability(rest: str) -> tuple[str, Row, object] | None:
    match = _ABLE.match(rest)
    if match is None:
        return None
    said = match.group(1)
    name = _CAPABILITIES.get(said) or re.sub(r"[^a-z0-9]+", "_", said.lower()).strip("_")
    return "nvlink_capabilities", {"name": name, "supported": match.group(2) == "true"}, name


READERS = (NvlinkFormsReader(),)
