"""`nvidia-smi dmon`: every layout and trap."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.artifacts.dmon import DmonReader
from diagnose.artifacts.dmon_clock import Clock
from diagnose.artifacts.text import read_sections
from diagnose.artifacts.unread import TextParsed
from diagnose.tables import TABLES

HEAD = "# gpu    pwr  gtemp     sm    mem\n# Idx      W      C      %      %\n"
DATED = "#Date       Time        gpu     sm \n#YYYYMMDD   HH:MM:SS    Idx      % \n"
TIMED = "#Time         gpu     sm\n#HH:MM:SS     Idx      %\n"


def read(text: str) -> TextParsed:
    found = read_sections(text, 3)
    assert found[0].kind == "dmon", found
    assert isinstance(found[0], TextParsed)
    return found[0]


def cells(parsed: TextParsed, column: str) -> list[float | None]:
    return [r["value"] for r in parsed.tables.get("gpu_samples", []) if r["column"] == column]


def seconds(parsed: TextParsed) -> list[float | None]:
    return [r["second"] for r in parsed.tables["gpu_samples"]]


def test_long_rows_have_the_columns_of_the_table() -> None:
    parsed = read(HEAD + "    1     50     40     97      -\n")
    rows = parsed.tables["gpu_samples"]
    assert [list(row) for row in rows] == [list(TABLES["gpu_samples"])] * 4
    assert rows[0] == {
        "input": 3, "line": 3, "gpu": 1, "time": None, "second": None,
        "column": "pwr", "value": 50.0, "unit": "W",
    }  # fmt: skip
    assert (parsed.rows, parsed.problems) == (1, [])


@pytest.mark.parametrize("cell", ["-", "N/A", "[N/A]"])
def test_unknown_is_none_and_not_zero(cell: str) -> None:
    assert cells(read(HEAD + f"    0     50     40   {cell}      0\n"), "sm") == [None]
    assert cells(read(HEAD + f"    0     50     40   {cell}      0\n"), "mem") == [0.0]


def test_columns_by_name_in_any_order_and_width() -> None:
    text = "# gpu fb rxpci txpci sm\n# Idx MB MB/s MB/s %\n    0        478      6       677   13   \n"
    parsed = read(text)
    assert [(r["column"], r["value"], r["unit"]) for r in parsed.tables["gpu_samples"]] == [
        ("fb", 478.0, "MB"), ("rxpci", 6.0, "MB/s"), ("txpci", 677.0, "MB/s"), ("sm", 13.0, "%"),
    ]  # fmt: skip


def test_old_temperature_column_gets_the_new_name() -> None:
    parsed = read("# gpu   pwr  temp    sm\n# Idx     W     C     %\n    0     -    50    91\n")
    assert cells(parsed, "gtemp") == [50.0]
    assert cells(parsed, "pwr") == [None]
    assert cells(parsed, "temp") == []


def test_gpm_units_lose_their_source() -> None:
    parsed = read(
        "# gpu     sm     smutil     nvlrx\n# Idx      %      GPM:%  GPM:MiB/s\n"
        "    0      0          -    12\n"
    )
    units = {r["column"]: r["unit"] for r in parsed.tables["gpu_samples"]}
    assert units == {"sm": "%", "smutil": "%", "nvlrx": "MiB/s"}
    assert cells(parsed, "smutil") == [None]


def test_header_repeats_and_may_change() -> None:
    text = HEAD + "    0     50     40     10      1\n" + HEAD + "    0     50     40     20      1\n"
    text += "# gpu     sm     pwr\n# Idx      %      W\n    0     30     60\n"
    parsed = read(text)
    assert (cells(parsed, "sm"), cells(parsed, "pwr")) == ([10.0, 20.0, 30.0], [50.0, 50.0, 60.0])


def test_without_a_units_row_units_are_empty() -> None:
    parsed = read("# gpu    pwr     sm\n    0     50     40\n")
    assert [(r["value"], r["unit"]) for r in parsed.tables["gpu_samples"]] == [(50.0, ""), (40.0, "")]


def test_date_and_time_are_local_time_taken_as_utc() -> None:
    text = DATED + " 20240229   23:59:59      0     1 \n 20240301   00:00:01      0     2 \n"
    rows = read(text).tables["gpu_samples"]
    # 2024-02-29T23:59:59Z, by `date -u -d … +%s`.
    assert [r["time"] for r in rows] == [1709251199.0, 1709251201.0]
    assert [r["second"] for r in rows] == [0.0, 2.0]


def test_time_without_a_date_rolls_over_midnight() -> None:
    parsed = read(TIMED + " 23:59:59       0      1\n 23:59:59       1      1\n 00:00:04       0      1\n")
    assert seconds(parsed) == [0.0, 0.0, 5.0]
    assert {r["time"] for r in parsed.tables["gpu_samples"]} == {None}


def test_no_time_column_no_seconds() -> None:
    assert seconds(read(HEAD + "    0     50     40     97      1\n" * 2)) == [None] * 8


def test_clock_that_steps_back_loses_the_time() -> None:
    parsed = read(TIMED + " 10:00:00       0      1\n 09:00:00       0      2\n 09:00:01       0      3\n")
    assert seconds(parsed) == [0.0, None, None]
    assert cells(parsed, "sm") == [1.0, 2.0, 3.0]
    assert "steps back" in parsed.problems[0]


def test_clock_may_be_set_back_a_little() -> None:
    clock = Clock()
    assert [clock.read(None, t, None)[1] for t in ("10:00:05", "10:00:04", "10:00:06")] == [0.0, -1.0, 1.0]
    assert not clock.lost


@pytest.mark.parametrize("stamp", ["20241399   10:00:00", "20240101   25:00:00", "20240101   10:00"])
def test_impossible_stamp_drops_the_row(stamp: str) -> None:
    parsed = read(DATED + f" {stamp}      0     1 \n 20240101   10:00:01      0     2 \n")
    assert cells(parsed, "sm") == [2.0]
    assert parsed.problems == ["line 3: cut or malformed row, not read"]


def test_csv() -> None:
    text = "# gpu, pwr, sm, mem\n# Idx, W, %, %\n0, 312, 87, -\n1, 298, 85, 40\n"
    parsed = read(text)
    assert (cells(parsed, "sm"), cells(parsed, "mem")) == ([87.0, 85.0], [None, 40.0])
    assert {r["gpu"] for r in parsed.tables["gpu_samples"]} == {0, 1}


def test_csv_without_header_is_refused() -> None:
    parsed = read(
        "0, 312, 58, 64, 87, 41, 0, 0, 0, 0, 1593, 1410\n1, 298, 57, 63, 85, 40, 0, 0, 0, 0, 1593, 1410\n"
    )
    assert parsed.tables == {}
    assert "2 data rows of 12 cells without dmon's own header" in parsed.problems[0]


def test_foreign_header_is_not_trusted() -> None:
    row = "1721035200.512334,    0    250    45      -     92      1      0      0 0 0 725 3 0\n"
    parsed = read("# timestamp,gpu_idx,sm_util%,mem_util%\n" + row * 3)
    assert parsed.tables == {}
    assert "3 data rows of 13 cells" in parsed.problems[0]


def test_epoch_before_each_row_under_the_real_header() -> None:
    row = "1721035200.5, " + "    0     50     40     97      1\n"
    parsed = read(
        "1721035199.0, " + HEAD.replace("\n#", "\n1721035199.0, #") + row + row.replace("200.5", "203.5")
    )
    assert cells(parsed, "sm") == [97.0, 97.0]
    assert seconds(parsed) == [0.0] * 4 + [3.0] * 4
    assert {r["time"] for r in parsed.tables["gpu_samples"]} == {None}


def test_rows_commented_out_in_a_fence() -> None:
    text = (
        "```bash\nnvidia-smi dmon -s pu\n"
        + HEAD
        + "#   0     21     37     23      9\n#   0     21     37     36     17\n```\n"
    )
    assert cells(read(text), "sm") == [23.0, 36.0]


def test_other_text_between_rows_is_left_for_the_patterns() -> None:
    row = "    0     50     40     97      1\n"
    parsed = read(HEAD + row + "RuntimeError: something broke\n\n" + row)
    assert parsed.rows == 2
    assert [line.text for line in parsed.unread] == ["RuntimeError: something broke"]


def test_glued_and_foreign_cells_are_no_values() -> None:
    parsed = read(HEAD + "    0     50     40     97      1done\n    0     5e3    nan    inf     1_0\n")
    assert parsed.tables == {}
    assert parsed.rows == 0


def test_cut_rows() -> None:
    good = "    0     50     40     97      1\n"
    cut = read(HEAD + good + "    1     50     4")
    assert (cut.rows, cut.problems) == (1, ["line 4: cut or malformed row, not read"])
    # All cells are there, but the last one may have been 12: no line break follows.
    assert read(HEAD + good + "    1     50     40     97      1").rows == 1
    assert read(HEAD + good + "    1     50     40     97      1\n").rows == 2


def test_same_name_twice_is_left_out() -> None:
    parsed = read("# gpu     sm  pcitx  pcitx\n# Idx      %  MiB/s  MiB/s\n    0     97      5      6\n")
    assert cells(parsed, "pcitx") == []
    assert cells(parsed, "sm") == [97.0]
    assert "named twice" in parsed.problems[0]


def test_not_supported() -> None:
    parsed = read("Not supported on the device(s)\nFailed to process command line\n")
    assert (parsed.tables, parsed.rows) == ({}, 0)
    assert "Not supported on the device(s)" in parsed.problems[0]


def test_prefix_and_bom_and_crlf() -> None:
    lines = (HEAD + "    0     50     40     97      1\n" * 2).splitlines()
    text = "\ufeff" + "".join(f"May  7 11:02:1{i} node-7 mon[12]: {line}\r\n" for i, line in enumerate(lines))
    assert cells(read(text), "sm") == [97.0, 97.0]


@pytest.mark.parametrize(
    "text",
    [
        "# gpu memory is full\n",
        "# gpu         pid   type     sm\n",
        "gpu 0 is idle\n",
        "# GPU notes for the sm\n",
    ],
)
def test_not_dmon(text: str) -> None:
    assert read_sections(text)[0].kind != "dmon"


def test_pmon_without_processes_is_not_dmon() -> None:
    text = "# gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command\n"
    text += "    0          -     -      -      -      -      -      -      -    -\n" * 3
    assert read_sections(text)[0].kind == "pmon"


def test_reader_alone() -> None:
    """The reader needs no other reader: sniff and read work on a bare section."""
    from diagnose.artifacts.paste import clean, split

    [section] = split(clean(HEAD + "    0     50     40     97      1\n"))
    reader: Any = DmonReader()
    assert reader.sniff(section)
    assert reader.read(section).rows == 1


def test_many_rows_are_read_in_linear_time() -> None:
    import time

    def took(rows: int) -> float:
        text = HEAD + "    0     50     40     97      1\n" * rows
        start = time.perf_counter()
        assert read(text).rows == rows
        return time.perf_counter() - start

    took(1000)
    small = min(took(2000) for _ in range(3))
    assert took(20000) < 60 * small  # ten times the rows; a quadratic reader needs a hundred times as long
