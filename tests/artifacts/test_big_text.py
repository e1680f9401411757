"""Long logs: the block reader gives the same means, extremes and counts as the careful one."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

from diagnose.artifacts import big_text
from diagnose.artifacts.base import Row
from diagnose.artifacts.dmon_blocks import DmonBlocks
from diagnose.artifacts.text import read_sections, read_text

HEADER = (
    "#Date       Time        gpu    pwr     sm     fb  rxpci\n"
    "#YYYYMMDD   HH:MM:SS    Idx      W      %     MB   MB/s\n"
)


def dmon(rows: int, seed: int = 1) -> str:
    """Two GPUs, one sweep a second from 23:59:30 over midnight, dashes in `pwr`, the header every 44 rows."""
    rng = random.Random(seed)
    out = []
    for n in range(rows):
        if n % 44 == 0:
            out.append(HEADER)
        second = 23 * 3600 + 59 * 60 + 30 + n // 2
        day, second = 1 + second // 86400, second % 86400
        stamp = f"202601{day:02d}   {second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
        power = "-" if rng.random() < 0.1 else str(rng.randint(60, 700))
        out.append(f" {stamp}   {n % 2:4d} {power:>6} {rng.randint(0, 100):6d} {20000 + n:6d}      0  \n")
    return "".join(out)


def reduced(rows: list[Row]) -> dict[tuple[int, str], tuple[float, float, float, float]]:
    """(gpu, column) → (count, sum, lowest, highest)."""
    found: dict[tuple[int, str], list[tuple[float, float, float, float]]] = {}
    for row in rows:
        if row["value"] is None:
            continue
        count = row.get("count", 1)
        low, high = row.get("low", row["value"]), row.get("high", row["value"])
        found.setdefault((row["gpu"], row["column"]), []).append((count, row["value"] * count, low, high))
    return {
        key: (
            sum(p[0] for p in parts),
            sum(p[1] for p in parts),
            min(p[2] for p in parts),
            max(p[3] for p in parts),
        )
        for key, parts in found.items()
    }


@pytest.mark.parametrize("block", [700, 5000, 10**6])
def test_blocks_give_what_the_whole_log_gives(block: int) -> None:
    text = dmon(3000)
    whole = read_sections(text)[0].tables["gpu_samples"]
    reading = DmonBlocks(0)
    lines = text.splitlines(keepends=True)
    piece = ""
    for line in lines:
        piece += line
        if len(piece) >= block:
            reading.feed(piece)
            piece = ""
    reading.feed(piece)
    folded = reading.folded.table()
    wanted, found = reduced(whole), reduced(folded)
    assert found.keys() == wanted.keys()
    for key, values in wanted.items():
        assert found[key] == pytest.approx(values), key
    assert reading.skipped == 0
    assert reading.folded.rows == 3000
    assert len(folded) < len(whole) / 2
    first = min(row["time"] for row in whole)
    assert min(row["time"] for row in folded if row["time"] is not None) == first
    assert max(row["second"] for row in folded if row["second"] is not None) <= 1500


def test_odd_rows_in_a_block_are_counted_not_read() -> None:
    lines = dmon(400).splitlines(keepends=True)
    lines.insert(100, "loss 0.123 step 17\n")
    lines.insert(200, lines[199][:40] + "\n")
    reading = DmonBlocks(0)
    reading.feed("".join(lines))
    assert reading.skipped == 2
    assert reading.folded.rows == 400


def test_columns_change_in_the_middle() -> None:
    second = "# gpu     sm    mem\n# Idx      %      %\n    0     11     12\n"
    reading = DmonBlocks(0)
    reading.feed(dmon(100))
    reading.feed(second)
    found = reduced(reading.folded.table())
    assert found[(0, "mem")][:2] == (1, 12.0)
    assert found[(0, "sm")][0] == 51


@pytest.mark.parametrize("packed", [False, True])
def test_a_big_file_is_recognised_by_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    monkeypatch.setattr(big_text, "BIG", 20_000)
    monkeypatch.setattr(big_text, "BLOCK", 8_000)
    path = tmp_path / "x"
    data = dmon(2000).encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    parsed = read_text(path, 3)
    assert [p.kind for p in parsed] == ["dmon"]
    assert parsed[0].rows == 2000
    assert {row["input"] for row in parsed[0].tables["gpu_samples"]} == {3}


def test_a_big_log_keeps_line_numbers_and_a_bounded_number_of_hits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(big_text, "BIG", 20_000)
    monkeypatch.setattr(big_text, "BLOCK", 8_000)
    monkeypatch.setattr(big_text, "MAX_HITS", 50)
    refusal = "torch._scaled_mm is only supported on CUDA devices with compute capability >= 9.0 or 8.9"
    lines = [f"step {n} loss 0.1" for n in range(3000)]
    lines[2500] = refusal
    lines[100:300] = ["host-1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct"] * 200
    path = tmp_path / "app.log"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = [row for p in read_text(path, 0) for row in p.tables.get("text_lines", [])]
    refused = [row for row in rows if row["pattern"] == "fp8_refused"]
    assert [row["line"] for row in refused] == [2501]
