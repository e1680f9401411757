"""`nvidia-smi pmon`: headers in the middle, idle cells, names with blanks, cut rows."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.artifacts.base import Section
from diagnose.artifacts.paste import clean, split
from diagnose.artifacts.pmon import READERS
from diagnose.artifacts.unread import TextParsed
from diagnose.tables import TABLES

[READER] = READERS
HEAD = (
    "# gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command \n"
    "# Idx           #    C/G      %      %      %      %      %      %    name \n"
)
BUSY = "    0      11345     C     99     10      -      -      -      -    gpu_burn       \n"
IDLE = "    0      11327   C+G      -      -      -      -      -      -    NVIDIA Overlay.\n"
NONE = "    1          -     -      -      -      -      -      -      -    -              \n"


def read(text: str) -> TextParsed:
    found = [READER.read(s) for s in split(clean(text), 3) if READER.sniff(s)]
    assert len(found) == 1
    rows = found[0].tables.get("gpu_processes", [])
    assert all(list(row) == list(TABLES["gpu_processes"]) for row in rows)
    return found[0]


def rows(parsed: TextParsed, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[c] for c in columns) for row in parsed.tables.get("gpu_processes", [])]


def test_rows() -> None:
    parsed = read(HEAD + BUSY + IDLE + NONE)
    assert rows(parsed, "line", "gpu", "pid", "kind", "sm", "mem", "memory_bytes") == [
        (3, 0, 11345, "C", 99, 10, None),
        (4, 0, 11327, "C+G", None, None, None),  # - is not 0 %
    ]
    assert parsed.rows == 3 and parsed.problems == [] and parsed.unread == []
    assert "Overlay" not in str(parsed.tables)


def test_gpu_without_processes_says_nothing_of_any() -> None:
    parsed = read(HEAD + NONE)
    assert parsed.tables == {} and parsed.rows == 1


def test_columns_follow_the_nearest_header() -> None:
    old = (
        "# gpu        pid  type    fb    sm   mem   command\n"
        "# Idx          #   C/G    MB     %     %   name\n"
        "    1      14945     C  7390    64    50   python\n"
    )
    parsed = read(HEAD + BUSY + old)
    assert rows(parsed, "gpu", "sm", "mem", "memory_bytes") == [
        (0, 99, 10, None), (1, 64, 50, 7390 * 1024 * 1024),
    ]  # fmt: skip


def test_header_in_the_middle_of_a_sample() -> None:
    assert read((HEAD + BUSY) * 3).rows == 3


def test_dates_and_times() -> None:
    text = (
        "#Date       Time        gpu        pid  type    sm   command\n"
        "#YYYYMMDD   HH:MM:SS    Idx          #   C/G     %   name\n"
        " 20250314   23:59:59      0         77     C    45   python\n"
        " 20250315   00:00:01      0         77     C    46   python\n"
    )
    parsed = read(text)
    assert rows(parsed, "sm", "second") == [(45, 0), (46, 2)]
    first, second = (t for (t,) in rows(parsed, "time"))
    assert second - first == 2


@pytest.mark.parametrize("cut", ["    0  11345  C  99  10", "    0  11345  C  99  1x  -  -  -  -  a"])
def test_cut_row(cut: str) -> None:
    parsed = read(HEAD + BUSY + cut + "\n")
    assert len(rows(parsed, "pid")) == 1
    assert parsed.problems == ["line 4: cut or malformed row, not read"]


def test_cut_command_costs_no_number() -> None:
    parsed = read(HEAD + BUSY.rstrip()[:-3])
    assert rows(parsed, "sm", "mem") == [(99, 10)]


def test_rows_above_any_header_and_other_text() -> None:
    text = BUSY + "Traceback (most recent call last):\n" + HEAD + BUSY
    parsed = READER.read(Section(3, clean(text)))
    assert len(rows(parsed, "pid")) == 1
    assert parsed.problems == ["line 1: row above any header of pmon, not read"]
    assert [line.text for line in parsed.unread] == ["Traceback (most recent call last):"]
