"""docs/source-corrections.md: complete tables with sources; nothing of its "Never print" list is printed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "source-corrections.md").read_text(encoding="utf-8")
SIGNATURES = sorted((ROOT / "signatures").glob("*.toml"))
CAPTURES = ROOT / "diagnose" / "catalogue" / "captures.toml"

# The articles' claims are numbered 1 to 95 and 101 to 135; none may be lost.
CLAIMS = {*range(1, 96), *range(101, 136)}
SOURCE = re.compile(r"https://\S+|measured: |calculated: |\(unsourced\)")

# What each "Never print" row looks like when it is printed. A plain text search without case: a denial counts
# too, so that a remedy never repeats the advice, not even to warn of it.
FORBIDDEN = {
    "N1": r"TORCH_FP8_DISABLE",
    "N2": r"(downgrade|back|return|revert|install|use)[^.;]{0,30}(pytorch|torch)[ =]*2\.1\b|torch==2\.1\b",
    "N3": r"autocast\([^)]*float8",
    "N4": r"\b535\.86\b",
    "N5": r"(-t|--trace)[ =][\w,-]*\bnvml\b",
    "N6": r"dmon -s u\b[^.;]{0,60}(FP32|fadd)|sm__inst_executed_op_fadd",
    "N7": r"\bnvprof\b",
    "N8": r"model\.to\(['\"]cuda|cudnn\.benchmark",
    "N9": r"nvlink -g\b|RxUtil",
    "N10": r"port link width|\bwidth\b[^.;]{0,40}\b12x\b|\b12x\b[^.;]{0,40}\bwidth\b",
    "N11": r"NCCL (over|through|via) (InfiniBand|IB)\b",
    "N12": r"--int8-calib-cache",
    "N13": r"weights?\s*\+\s*KV[^.;]{0,20}(x|×|\*|times|per)\s*tok",
    "N14": r"never[^.;]{0,30}FP8 KV|FP8 KV[^.;]{0,40}(never|forbidden)",
    "N15": r"prefer[^.;]{0,30}\bGDDR",
    "N16": r"\b(layer ?norm|softmax)\b[^.;]{0,60}\b(in|to|under) FP8\b",
}


class Table(NamedTuple):
    """One table of the page: the heading it stands under, its header cells and its rows."""

    heading: str
    header: list[str]
    rows: list[list[str]]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def tables(text: str) -> list[Table]:
    found: list[Table] = []
    heading, block = "", list[str]()
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            block.append(line)
            continue
        if block:
            assert re.fullmatch(r"\|(-{3,}\|)+", block[1]), f"no rule under the header: {block[0]}"
            found.append(Table(heading, cells(block[0]), [cells(row) for row in block[2:]]))
            block = []
        if line.startswith("#"):
            heading = line.lstrip("# ")
    return found


TABLES = tables(PAGE)
SOURCED = [table for table in TABLES if table.header[-1] == "Source"]
CLAIM_ROWS = [row for table in SOURCED if table.header[0] == "Row" for row in table.rows]
NEVER = {row[0].split(":")[0]: row for t in SOURCED if t.heading == "Never print" for row in t.rows}


def printed_by_signature(path: Path) -> Iterator[str]:
    """Every text of the remedies; the `[source]` table, which quotes the document, is left out."""
    for remedy in tomllib.loads(path.read_text(encoding="utf-8")).get("remedy", []):
        yield from (str(remedy[key]) for key in ("do", "verify", "applies") if key in remedy)


def printed_by_captures() -> Iterator[str]:
    for capture in tomllib.loads(CAPTURES.read_text(encoding="utf-8"))["capture"].values():
        yield from (str(value) for value in capture.values())


def test_every_row_is_complete() -> None:
    assert len(TABLES) >= 10
    for table in TABLES:
        assert len(table.header) >= 3, table.header
        assert table.rows, table.heading
        for row in table.rows:
            assert len(row) == len(table.header), row
            assert all(row), row


def test_every_claim_has_a_source() -> None:
    assert {t.heading for t in TABLES if t not in SOURCED} == {"Tensor formats by GPU generation"}
    for table in SOURCED:
        for row in table.rows:
            assert SOURCE.search(row[-1]), row


def test_rows_are_unique_and_in_order_within_a_table() -> None:
    numbers = [int(row[0]) for row in CLAIM_ROWS]
    assert len(numbers) == len(set(numbers))
    for table in SOURCED:
        if table.header[0] == "Row":
            ours = [int(row[0]) for row in table.rows]
            assert ours == sorted(ours), table.heading


def test_no_claim_is_lost() -> None:
    right = PAGE.split("## Claims that are right")[1]
    listed = {int(n) for n in re.findall(r"(?:: |; |and )(\d{1,3}) ", right)} & CLAIMS
    corrected = {int(row[0]) for row in CLAIM_ROWS}
    assert corrected | listed == CLAIMS
    assert not corrected & listed


def test_row_references_exist() -> None:
    known = {int(row[0]) for row in CLAIM_ROWS}
    for first, second in re.findall(r"\brows? (\d+)(?:(?: and|,) (\d+))?\b", PAGE.split("## FP8")[1]):
        assert {int(n) for n in (first, second) if n} <= known, (first, second)


@pytest.mark.parametrize("internal", [r"\bledger\b", r"\bsection \d", r"\b[CX]\d\b", r"\bknowledge pages?\b"])
def test_page_has_no_internal_reference(internal: str) -> None:
    assert not re.search(internal, PAGE, re.IGNORECASE)


def test_never_print_rows_and_patterns_agree() -> None:
    assert list(NEVER) == list(FORBIDDEN)


@pytest.mark.parametrize("row", FORBIDDEN)
def test_pattern_finds_what_the_page_forbids(row: str) -> None:
    assert re.search(FORBIDDEN[row], NEVER[row][0].split(":", 1)[1], re.IGNORECASE)


@pytest.mark.parametrize("row", FORBIDDEN)
@pytest.mark.parametrize("path", SIGNATURES, ids=lambda p: p.stem)
def test_no_remedy_prints_it(path: Path, row: str) -> None:
    for text in printed_by_signature(path):
        assert not re.search(FORBIDDEN[row], text, re.IGNORECASE), text


@pytest.mark.parametrize("row", FORBIDDEN)
def test_no_capture_prints_it(row: str) -> None:
    texts = list(printed_by_captures())
    assert len(texts) > 20
    for text in texts:
        assert not re.search(FORBIDDEN[row], text, re.IGNORECASE), text


def test_signatures_have_remedies_to_look_at() -> None:
    assert SIGNATURES
    assert all(any(printed_by_signature(path)) for path in SIGNATURES)
