"""`nvidia-smi nvlink …`: `-s` → `nvlinks`, `-gt d|r` → `nvlink_counters`; headings → `devices`.

    GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-…)
    \t Link 0: 25 GB/s                    -s    raw rate, one direction
    \t Link 1: <inactive>                 -s
    \t Link 0: Data Tx: 5863784 KiB       -gt d cumulative

Sentences in place of links mean three different things: all links down, no NVLink on this GPU, and (MIG)
nobody may ask. The forms -c, -e, -g, -p, -R print `Link` lines too and are told apart before -s is
considered.
"""

from __future__ import annotations

from collections.abc import Sequence

from diagnose.artifacts.base import Line, Parsed, Row, Section
from diagnose.artifacts.devices import DeviceRows
from diagnose.artifacts.gpu_lines import gpu_line
from diagnose.artifacts.nvlink_lines import OTHER_FORMS, Statement, statement_of
from diagnose.artifacts.unread import TextParsed, place

_HEAD = 400


class NvlinkReader:
    kind = "nvlink"

    def sniff(self, section: Section) -> bool:
        head = section.lines[:_HEAD]
        if any(statement_of(line.text) for line in head):
            return True
        return "nvlink" in section.command and any(gpu_line(line.text) for line in head)

    def read(self, section: Section) -> TextParsed:
        """`Parsed.rows` counts lines that say something about a link or a GPU's links."""
        return _Reading(section).parse()


class _Reading:
    def __init__(self, section: Section) -> None:
        self.section = section
        self.gpu: int | None = None
        self.names: dict[int, str] = {}
        self.headings: dict[int, int] = {}
        self.visits: dict[int, int] = {}
        self.spoken: set[int] = set()
        self.devices = DeviceRows(section.input)
        self.links: list[Row] = []
        self.counters: dict[tuple[str, int, int, int], Row] = {}
        self.forms: dict[str, int] = {}
        self.orphans: list[int] = []
        self.unread: list[Line] = []
        self.count = 0

    def parse(self) -> TextParsed:
        for line in self.section.lines:
            text = line.text
            statement = statement_of(text)
            if statement is not None:
                self._take(line, statement)
            elif (heading := gpu_line(text)) is not None:
                self.gpu = heading[0]
                self.names[self.gpu] = heading[1]
                self.headings.setdefault(self.gpu, line.number)
                self.visits[self.gpu] = self.visits.get(self.gpu, -1) + 1
                self.devices.add(line.number, gpu=heading[0], name=heading[1])
            elif text.strip():
                self.unread.append(line)
        return self._result()

    def _take(self, line: Line, said: Statement) -> None:
        self.forms.setdefault(said.form, line.number)
        if self.gpu is None:
            self.orphans.append(line.number)
            return
        self.spoken.add(self.gpu)
        if said.form in OTHER_FORMS:
            return
        self.count += 1
        if said.form == "-s":
            self._link(line.number, self.gpu, said.link, said.state, said.value)
        elif said.link is not None:
            key = (said.form, self.gpu, said.link, self.visits.get(self.gpu, 0))
            row = self.counters.setdefault(key, self._counter(line.number, key))
            if said.value is not None:
                row["tx_bytes" if said.transmit else "rx_bytes"] = int(said.value) * 1024

    def _link(self, number: int, gpu: int, link: int | None, state: str, rate: float | None) -> None:
        self.links.append(
            {
                "input": self.section.input,
                "line": number,
                "gpu": gpu,
                "gpu_name": self.names.get(gpu),
                "link": link,
                "state": state,
                "gb_s": rate,
            }
        )

    def _counter(self, number: int, key: tuple[str, int, int, int]) -> Row:
        _, gpu, link, snapshot = key
        place_ = {"input": self.section.input, "line": number}
        return place_ | {"gpu": gpu, "link": link, "snapshot": snapshot, "tx_bytes": None, "rx_bytes": None}

    def _result(self) -> TextParsed:
        problems: list[str] = []
        silent = [g for g in self.headings if g not in self.spoken]
        if "-s" in self.forms or (not self.forms and _asks_status(self.section.command)):
            for gpu in silent:
                self._link(self.headings[gpu], gpu, None, "unknown", None)
            if silent:
                numbers = place(self.headings[g] for g in silent)
                problems.append(f"{numbers}: nothing said about the links of this GPU: state unknown")
        if self.orphans:
            problems.append(f"{place(self.orphans)}: Link lines above any GPU line, not read")
        for form, what in OTHER_FORMS.items():
            if form in self.forms:
                problems.append(f"line {self.forms[form]}: nvlink {form} ({what}): recognised, not read yet")
        kept = self.counters
        if "-gt d" in self.forms and "-gt r" in self.forms:
            kept = {key: row for key, row in kept.items() if key[0] != "-gt r"}
            problems.append(f"line {self.forms['-gt r']}: raw counters beside payload counters: payload kept")
        counters = _in_order_of_appearance(list(kept.values()))
        tables = {"nvlinks": self.links, "nvlink_counters": counters, "devices": self.devices.rows}
        tables = {name: rows for name, rows in tables.items() if rows}
        variant = " ".join(sorted(self.forms))
        return TextParsed(NvlinkReader.kind, tables, problems, self.count, self.unread, variant)


def _in_order_of_appearance(rows: list[Row]) -> list[Row]:
    """Snapshots 0, 1, … of each GPU: visits to it that showed no counters do not count."""
    visits: dict[int, list[int]] = {}
    for row in rows:
        known = visits.setdefault(row["gpu"], [])
        if row["snapshot"] not in known[-1:]:
            known.append(row["snapshot"])
        row["snapshot"] = len(known) - 1
    return rows


def _asks_status(command: str) -> bool:
    words = command.split()
    return "nvlink" in words and ("-s" in words or "--status" in words)


def number_snapshots(parsed: Sequence[Parsed]) -> None:
    """Number the counter snapshots of one file through: the n-th time a GPU is listed is snapshot n.

    Payload (`-gt d`) and raw (`-gt r`) counters of different sections are never subtracted from each
    other: where a file has both, the raw ones are dropped and a problem says so.
    """
    found = [p for p in parsed if p.tables.get("nvlink_counters")]
    variants = {p.variant for p in found if isinstance(p, TextParsed)}
    if any("-gt r" in v and "-gt d" not in v for v in variants) and any("-gt d" in v for v in variants):
        for p in found:
            if isinstance(p, TextParsed) and "-gt r" in p.variant and "-gt d" not in p.variant:
                line = p.tables.pop("nvlink_counters")[0]["line"]
                p.problems.append(f"line {line}: raw counters beside payload counters: payload kept")
    offset: dict[int, int] = {}
    for p in found:
        rows = p.tables.get("nvlink_counters", [])
        seen = {row["gpu"]: 0 for row in rows}
        for row in rows:
            seen[row["gpu"]] = max(seen[row["gpu"]], row["snapshot"] + 1)
            row["snapshot"] += offset.get(row["gpu"], 0)
        for gpu, visits in seen.items():
            offset[gpu] = offset.get(gpu, 0) + visits
