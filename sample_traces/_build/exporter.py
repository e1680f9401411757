"""Write one Nsight Systems SQLite export: tables, columns, types and order as the schema version has them.

Columns and enumerations come from `schema.tsv` and `enums.tsv` beside this file. Both were taken from real
exports of the three versions (2.9.1 = nsys 2022.2.1, 3.11.1 = 2024.2.3, 3.25.0 = 2026.2.1) with two
exceptions, which no real export of 3.25.0 holds: CUDA_GPU_MEMORY_USAGE_EVENTS has the columns of 3.20.3
and GRAPH_TRACE those of 3.16.1. Export is lazy as in the real tool: a table without rows is not written.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
VERSIONS = ("2.9.1", "3.11.1", "3.25.0")
VM = 1 << 48  # globalVid of the first machine; a globalPid is VM | pid << 24, a globalTid adds the thread id
NONE_ID = 4294967295  # "not applicable" in streamId and eventId of synchronisation rows

PRODUCT = {
    "2.9.1": ("2022.2.1.31", "2022.2", "/opt/nvidia/nsight-systems/2022.2.1"),
    "3.11.1": ("2024.2.3.38", "2024.2", "/opt/nvidia/nsight-systems/2024.2.3"),
    "3.25.0": ("2026.2.1.210", "2026.2", "/opt/nvidia/nsight-systems/2026.2.1"),
}
# The written values changed between versions (known from joining to the API call): the enumeration table is
# true in 3.25.0 only.
SYNC_TYPE = {
    "2.9.1": {"context": 1, "event": 2, "stream": 3},
    "3.11.1": {"context": 1, "event": 2, "stream": 3},
    "3.25.0": {"context": 4, "event": 1, "stream": 3},
}


def global_pid(pid: int) -> int:
    """The globalPid of a process: machine and process id, low 24 bits zero."""
    return VM | pid << 24


@dataclass(frozen=True)
class Column:
    """One column as declared in a real export."""

    name: str
    type: str
    notnull: bool


@cache
def columns(version: str) -> dict[str, tuple[Column, ...]]:
    """Table -> columns in declared order, for one schema version."""
    found: dict[str, list[tuple[int, Column]]] = {}
    lines = (HERE / "schema.tsv").read_text(encoding="utf-8").splitlines()
    head = lines[0].split("\t")
    for line in lines[1:]:
        cells = dict(zip(head, line.split("\t"), strict=True))
        if cells[version]:
            column = Column(cells["column"], cells["type"], cells["notnull"] == "1")
            found.setdefault(cells["table"], []).append((int(cells[version]), column))
    return {table: tuple(c for _, c in sorted(cs, key=lambda pair: pair[0])) for table, cs in found.items()}


@cache
def enumerations(version: str) -> dict[str, list[tuple[int, str, str]]]:
    """ENUM table -> rows (id, name, label); empty for 2.x, which has none."""
    found: dict[str, list[tuple[int, str, str]]] = {}
    lines = (HERE / "enums.tsv").read_text(encoding="utf-8").splitlines()
    head = lines[0].split("\t")
    if version not in head:
        return found
    for line in lines[1:]:
        cells = dict(zip(head, line.split("\t"), strict=True))
        if cells[version]:
            found.setdefault(cells["table"], []).append((int(cells["id"]), cells["name"], cells["label"]))
    return found


@dataclass
class Export:
    """Rows of one export, collected by table; `write` makes the file."""

    version: str
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    _strings: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.version not in VERSIONS:
            raise ValueError(f"no schema for {self.version}")
        self._strings[""] = 0

    def has(self, table: str) -> bool:
        """True when this schema version knows the table."""
        return table in columns(self.version)

    def string(self, value: str) -> int:
        """The StringIds id of a text."""
        return self._strings.setdefault(value, len(self._strings))

    def add(self, table: str, **values: Any) -> None:
        """Add a row; columns this version lacks are dropped, columns not given become NULL."""
        if self.has(table):
            self.rows.setdefault(table, []).append(values)

    def strings(self) -> dict[int, str]:
        """StringIds as the file will hold them."""
        return {number: text for text, number in self._strings.items()}

    def write(self, path: Path) -> None:
        """Write the file: rows of event tables in start order, VACUUM, neutral header fields."""
        path.unlink(missing_ok=True)
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("PRAGMA page_size = 1024")  # real exports: 4096; smaller pages keep the samples small
            db.execute("PRAGMA journal_mode = OFF")
            db.execute("PRAGMA user_version = 0")
            db.execute("BEGIN")
            self._create(db, "StringIds", [{"id": i, "value": t} for i, t in sorted(self.strings().items())])
            for table in columns(self.version):
                rows = self.rows.get(table, [])
                if table != "StringIds" and rows:
                    self._create(db, table, in_start_order(rows))
            for table, labels in sorted(enumerations(self.version).items()):
                db.execute(f"CREATE TABLE {table} (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT)")
                db.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", labels)
            db.execute("COMMIT")
            db.execute("VACUUM")
        _steady_header(path)

    def _create(self, db: sqlite3.Connection, table: str, rows: Iterable[dict[str, Any]]) -> None:
        cols = columns(self.version)[table]
        defs = []
        for c in cols:
            key = " PRIMARY KEY" if (table, c.name) in {("StringIds", "id"), ("ANALYSIS_FILE", "id")} else ""
            defs.append(f"    {c.name} {c.type}{' NOT NULL' if c.notnull else ''}{key}")
        db.execute(f"CREATE TABLE {table} (\n" + ",\n".join(defs) + "\n)")
        names = [c.name for c in cols]
        for row in rows:
            for c in cols:
                if c.notnull and row.get(c.name) is None:
                    raise ValueError(f"{table}.{c.name} is NOT NULL in {self.version}")
        marks = ", ".join("?" * len(names))
        db.executemany(f"INSERT INTO {table} VALUES ({marks})", [[r.get(n) for n in names] for r in rows])


def in_start_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Event rows sorted by start (the order real exports show); other rows as added."""
    if rows and "start" in rows[0]:
        return sorted(rows, key=lambda r: (r["start"], r.get("correlationId") or 0))
    return rows


def _steady_header(path: Path) -> None:
    """Set the header fields that depend on the SQLite library: change counter, its version."""
    data = bytearray(path.read_bytes())
    data[24:28] = (1).to_bytes(4, "big")
    data[92:96] = (1).to_bytes(4, "big")
    data[96:100] = (3040001).to_bytes(4, "big")
    path.write_bytes(bytes(data))
