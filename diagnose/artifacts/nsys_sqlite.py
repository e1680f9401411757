"""Reader of nsys SQLite exports (export schemas 2.7 to 3.28 and files without a version).

Event tables are streamed as column chunks with projection: only the columns asked for are read, and
they are never held whole. Small tables are read by `nsys_facts`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from diagnose.artifacts import sqlite_file
from diagnose.artifacts.chunks import Bools, Chunk, Ints
from diagnose.artifacts.nsys_schema import STREAM_TABLES, is_export
from diagnose.errors import InputError

CHUNK_ROWS = 8192
_NULL = -(2**63)  # stands for NULL in columns that are often empty; no time, id or size has this value


class NsysExport:
    """One export, open for reading. `problems` collects what could not be read, one line each."""

    kind = "nsys_sqlite"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[str] = []
        self.broken: set[str] = set()  # streams whose reading stopped half way
        self.connection = sqlite_file.open_readonly(path)
        try:
            self.columns = sqlite_file.table_columns(self.connection)
        except sqlite_file.UNREADABLE as error:
            self.connection.close()
            raise InputError(f"damaged SQLite file ({sqlite_file.reason(error)})", where=str(path)) from error
        if not is_export(set(self.columns)):
            self.connection.close()
            raise _not_an_export(path, set(self.columns))

    def close(self) -> None:
        self.connection.close()

    def rows(self, sql: str, parameters: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
        """All rows of a small query; a damaged page gives a problem and what was read before it."""
        out: list[tuple[object, ...]] = []
        try:
            for row in self.connection.execute(sql, parameters):
                out.append(row)  # noqa: PERF402 - keeps the rows read before a damaged page
        except sqlite_file.UNREADABLE as error:
            self._problem(f"a query failed half way ({sqlite_file.reason(error)}); that part is unread")
        return out

    def _problem(self, text: str) -> None:
        line = f"{self.path.name}: {text}"
        if line not in self.problems:
            self.problems.append(line)

    def has(self, table: str, *columns: str) -> bool:
        present = self.columns.get(table)
        return present is not None and all(column in present for column in columns)

    def count(self, table: str) -> int:
        """Rows of a table, 0 when absent or unreadable (lazy export: no rows, no table)."""
        if table not in self.columns:
            return 0
        found = self.rows(f'SELECT count(*) FROM "{table}"')
        return int(str(found[0][0])) if found else 0

    def stream_columns(self, stream: str) -> dict[str, str]:
        """Canonical column → column of the export, for those the export has; {} if unusable."""
        layout = STREAM_TABLES[stream]
        present = self.columns.get(layout.table)
        if present is None:
            return {}
        found = {}
        for name, candidates in layout.columns.items():
            column = next((c for c in candidates if c in present), None)
            if column is not None:
                found[name] = column
        if any(name not in found for name in layout.required):
            return {}
        return found

    def deduplicated(self, stream: str) -> bool:
        """False when the column that marks duplicate rows is missing (their time may count twice)."""
        present = self.columns.get(STREAM_TABLES[stream].table, {})
        return all(column in present for column, _ in STREAM_TABLES[stream].where)

    def stream(self, stream: str, wanted: Iterable[str], *, by_start: bool = False) -> Iterator[Chunk]:
        """Chunks of at most `CHUNK_ROWS` rows with the wanted columns that exist, in rowid order.

        With `by_start` rows come in start order (SQLite sorts, spilling to a temporary file).
        Rows without a start or an end have no place in time: they are left out, and a problem says so.
        """
        available = self.stream_columns(stream)
        layout = STREAM_TABLES[stream]
        names = [name for name in layout.columns if name in available and name in set(wanted)]
        if not names:
            return
        nullable = [name in layout.often_null for name in names]
        select = ", ".join(
            f'ifnull("{available[name]}", {_NULL})' if null else f'"{available[name]}"'
            for name, null in zip(names, nullable, strict=True)
        )
        conditions = [sql for column, sql in layout.where if column in self.columns[layout.table]]
        sql = f'SELECT {select} FROM "{layout.table}"'
        if conditions:
            sql += " WHERE " + " AND ".join(conditions)
        if by_start:
            sql += f' ORDER BY "{available["start_ns"]}", rowid'
        lost = 0
        try:
            cursor = self.connection.execute(sql)
            cursor.arraysize = CHUNK_ROWS
            while rows := cursor.fetchmany(CHUNK_ROWS):
                chunk = _to_chunk(rows, names, nullable)
                placed = _placed(chunk, layout.required)
                lost += chunk.rows - placed.rows
                if placed.rows:
                    yield placed
        except sqlite_file.UNREADABLE as error:
            self.broken.add(stream)
            self._problem(f"table {layout.table} is unreadable ({sqlite_file.reason(error)})")
        if lost:
            self._problem(f"{lost} rows of table {layout.table} have no start or end and were left out")

    def strings(self, ids: Iterable[int]) -> dict[int, str]:
        """Texts of StringIds by id; ids that are not there are left out."""
        wanted = sorted(set(ids))
        out: dict[int, str] = {}
        if not self.has("StringIds", "id", "value"):
            return out
        for at in range(0, len(wanted), 500):
            part = wanted[at : at + 500]
            marks = ",".join("?" * len(part))
            rows = self.rows(f"SELECT id, value FROM StringIds WHERE id IN ({marks})", tuple(part))
            out.update((int(str(i)), str(v)) for i, v in rows if i is not None and v is not None)
        return out

    def kernel_names(self, ids: Iterable[int]) -> dict[int, str]:
        """Names of kernels by the id in `name_id`; a dangling demangled id falls back to the short name."""
        wanted = set(ids)
        out = {i: name for i, name in self.strings(wanted).items() if name}
        table = STREAM_TABLES["kernels"].table
        column = self.stream_columns("kernels").get("name_id", "")
        for other in ("shortName", "mangledName"):
            lost = sorted(wanted - set(out))
            if not lost or column != "demangledName" or not self.has(table, other):
                continue
            for at in range(0, len(lost), 500):
                part = lost[at : at + 500]
                marks = ",".join("?" * len(part))
                rows = self.rows(
                    f'SELECT demangledName, min("{other}") FROM {table} '
                    f"WHERE demangledName IN ({marks}) GROUP BY 1",
                    tuple(part),
                )
                spare = {a: b for a, b in rows if isinstance(a, int) and isinstance(b, int)}
                texts = self.strings(spare.values())
                out.update({i: texts[j] for i, j in spare.items() if texts.get(j)})
        return out


def _to_chunk(rows: list[tuple[object, ...]], names: list[str], nullable: list[bool]) -> Chunk:
    count, width = len(rows), len(names)
    try:
        flat = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=count * width)
    except (TypeError, ValueError, OverflowError):
        return _to_chunk_slowly(rows, names)
    table = np.ascontiguousarray(flat.reshape(count, width).T)
    chunk = Chunk(count, {name: table[i] for i, name in enumerate(names)})
    for i, name in enumerate(names):
        if nullable[i]:
            valid = table[i] != _NULL
            if not valid.all():
                chunk.valid[name] = valid
    return chunk


def _to_chunk_slowly(rows: list[tuple[object, ...]], names: list[str]) -> Chunk:
    """NULLs, or values that are no whole number, in a column that usually has none."""
    chunk = Chunk(len(rows))
    for i, name in enumerate(names):
        cells = [_whole(row[i]) for row in rows]
        good: Bools = np.fromiter((c is not None for c in cells), dtype=np.bool_, count=len(cells))
        values: Ints = np.fromiter((c or 0 for c in cells), dtype=np.int64, count=len(cells))
        chunk.columns[name] = values
        if not good.all():
            chunk.valid[name] = good
    return chunk


def _whole(cell: object) -> int | None:
    """The cell as numpy would convert it (digits as text, reals cut), None for NULL and for anything else."""
    try:
        number = int(cell)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        return None
    return number if _NULL < number < 2**63 else None


def _placed(chunk: Chunk, required: tuple[str, ...]) -> Chunk:
    """The rows that hold a value in every required column that was read."""
    holes = [chunk.valid[name] for name in required if name in chunk.valid]
    return chunk.take(np.logical_and.reduce(holes)) if holes else chunk


def _not_an_export(path: Path, tables: set[str]) -> InputError:
    for marker, what in sqlite_file.OTHER_DATABASES:
        if marker in tables and what:
            return InputError(
                f"is {what}, not an Nsight Systems export",
                where=str(path),
                hint="diagnose reads SQLite files made by `nsys export --type sqlite`",
            )
    shown = ", ".join(sorted(tables)[:6]) or "no tables"
    return InputError(
        "is an SQLite file but not an Nsight Systems export (no table of one)",
        where=str(path),
        hint=f"it holds: {shown}; diagnose reads files made by `nsys export --type sqlite`",
    )
