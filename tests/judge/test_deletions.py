"""Less evidence never makes a verdict stronger: every table and column that is read, deleted in turn.

confirmed may become probable or cannot_tell; absent and ruled_out may become cannot_tell or probable;
nothing may move towards confirmed, and nothing may crash.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from cases import SAMPLES, verdicts

from diagnose.artifacts.nsys_schema import STREAM_TABLES
from diagnose.errors import InputError
from diagnose.findings import Verdict
from diagnose.judge import judge

# Small tables that are read by name, and what is read of them.
SMALL: dict[str, tuple[str, ...]] = {
    "StringIds": ("value",),
    "TARGET_INFO_GPU": (
        "name",
        "cuDevice",
        "busLocation",
        "computeMajor",
        "computeMinor",
        "totalMemory",
        "id",
    ),
    "TARGET_INFO_SYSTEM_ENV": ("name", "value"),
    "TARGET_INFO_SESSION_START_TIME": ("utcEpochNs",),
    "META_DATA_CAPTURE": ("name", "value"),
    "META_DATA_EXPORT": ("name",),
    "EXPORT_META_DATA": ("name",),
    "ANALYSIS_DETAILS": ("startTime",),
    "PROCESSES": ("name",),
    "ProcessStreams": ("globalPid", "contentId"),
    "DIAGNOSTIC_EVENT": ("severity", "text"),
    "PROFILER_OVERHEAD": ("start",),
    "CUPTI_ACTIVITY_KIND_OVERHEAD": ("overheadType", "start"),
    "NVTX_EVENTS": ("text", "textId", "globalTid", "eventType"),
}
ALLOWED: dict[Verdict, set[Verdict]] = {
    "confirmed": {"confirmed", "probable", "cannot_tell"},
    "probable": {"probable", "cannot_tell"},
    "cannot_tell": {"cannot_tell"},
    "absent": {"absent", "ruled_out", "cannot_tell", "probable"},
    "ruled_out": {"absent", "ruled_out", "cannot_tell", "probable"},
}
TRACES = sorted(path for path in SAMPLES.glob("*/*/*.sqlite"))


def deletions(path: Path) -> Iterator[tuple[str, str]]:
    """(table, column) pairs to delete; an empty column is the whole table."""
    with sqlite3.connect(path.as_uri() + "?mode=ro", uri=True) as connection:
        tables = {r[0] for r in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        read: dict[str, set[str]] = {name: set(columns) for name, columns in SMALL.items()}
        for layout in STREAM_TABLES.values():
            columns = {c for names in layout.columns.values() for c in names} | {c for c, _ in layout.where}
            read.setdefault(layout.table, set()).update(columns)
        for table in sorted(tables & set(read)):
            present = {r[1] for r in connection.execute(f'PRAGMA table_info("{table}")')}
            yield table, ""
            for column in sorted(present & read[table]):
                yield table, column


@pytest.mark.parametrize("path", TRACES, ids=[f"{p.parent.parent.name}/{p.parent.name}" for p in TRACES])
def test_less_evidence_is_never_a_stronger_verdict(path: Path, tmp_path: Path) -> None:
    others = [p for p in path.parent.iterdir() if p.name not in (path.name, "expected.json")]
    before = verdicts(judge([path, *others]))
    wrong = []
    for table, column in deletions(path):
        copy = tmp_path / "trace.sqlite"
        shutil.copy(path, copy)
        connection = sqlite3.connect(copy)
        if column:
            connection.execute(f'ALTER TABLE "{table}" DROP COLUMN "{column}"')
        else:
            connection.execute(f'DROP TABLE "{table}"')
        connection.commit()
        connection.close()
        try:
            after = verdicts(judge([copy, *others]))
        except InputError:
            continue
        for signature, verdict in after.items():
            if verdict not in ALLOWED[before[signature]]:
                wrong.append(f"without {table}.{column or '*'}: {signature} {before[signature]} -> {verdict}")
    assert not wrong, "\n".join(wrong)
