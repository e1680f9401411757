"""Opening an SQLite file as evidence: read-only, immutable, by a properly escaped URI.

What can be wrong with the file itself (empty, a Git-LFS pointer, truncated, another database) is said
here in one line each. Header layout: https://www.sqlite.org/fileformat2.html section 1.3.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from diagnose.errors import InputError

MAGIC = b"SQLite format 3\x00"

# What a query on a damaged file raises: a record with a nonsensical length makes SQLite run out of memory,
# and sqlite3 cannot decode a message that quotes a damaged name.
UNREADABLE = (sqlite3.Error, OverflowError, MemoryError, UnicodeDecodeError)

# Tables by which databases of other tools are recognised, to name them in the error.
OTHER_DATABASES: tuple[tuple[str, str], ...] = (
    ("StringTable", "an nvprof / NVIDIA Visual Profiler database"),
    ("experiments", "an MLflow store"),
    ("rocpd_string", "a ROCm (rocprof) database"),
    ("dlprof_schema_version", "a DLProf database"),
)


def is_sqlite(head: bytes) -> bool:
    return head.startswith(MAGIC)


def reason(error: BaseException) -> str:
    """SQLite's own words, or what stands for them where it had none."""
    return str(error) if isinstance(error, sqlite3.Error | OverflowError) else "its records make no sense"


def open_readonly(path: Path) -> sqlite3.Connection:
    """Connect without any way to change the file. Raises InputError when it cannot be read.

    `immutable=1` makes SQLite skip locks and journals, so nothing appears beside the evidence; a
    hot journal or WAL would then be ignored silently, hence the refusal when one holds data.
    """
    real = path.resolve()  # a link's side files lie beside the file it points to
    for suffix in ("-wal", "-journal"):
        side = real.with_name(real.name + suffix)
        if side.is_file() and side.stat().st_size > 0:
            raise InputError(
                f"{side.name} beside it holds changes that are not in the file yet",
                where=str(path),
                hint="wait until nsys has finished writing, or copy the export again",
            )
    uri = real.as_uri() + "?mode=ro&immutable=1"
    try:
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as error:
        raise InputError(f"cannot be opened ({error})", where=str(path)) from error
    # Exports hold text that is not UTF-8 (raw protobuf, Windows user names).
    connection.text_factory = lambda raw: raw.decode("utf-8", errors="replace")
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA query_only = ON")
        # Python 3.11 has no way to switch extension loading on by accident: it is off by default.
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except UNREADABLE as error:
        connection.close()
        raise InputError(
            f"damaged SQLite file ({reason(error)})",
            where=str(path),
            hint="copied while nsys was writing, or cut in transfer? Copy or export it again: "
            "nsys export --type sqlite --output NEW.sqlite REPORT.nsys-rep",
        ) from error
    return connection


def table_columns(connection: sqlite3.Connection) -> dict[str, dict[str, tuple[str, bool]]]:
    """Table name → column name → (declared type, NOT NULL). Views and virtual tables are left out."""
    found: dict[str, dict[str, tuple[str, bool]]] = {}
    query = "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
    for name, sql in connection.execute(query).fetchall():
        if not isinstance(name, str) or str(sql or "").upper().startswith("CREATE VIRTUAL"):
            continue
        quoted = name.replace('"', '""')
        rows = connection.execute(f'PRAGMA table_info("{quoted}")').fetchall()
        found[name] = {str(row[1]): (str(row[2]).upper(), bool(row[3])) for row in rows}
    return found
