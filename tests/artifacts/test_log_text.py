"""Any other text goes through the named patterns."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pytest

from diagnose.artifacts.log_text import EXCERPT, LogReader, excerpt, matching_rows
from diagnose.artifacts.paste import clean, split
from diagnose.artifacts.text import read_sections
from diagnose.tables import TABLES

REFUSED = (
    "RuntimeError: torch._scaled_mm is only supported on CUDA devices with compute capability >= 9.0 or 8.9"
)


def fake(lines: Sequence[str], *, without: Collection[str] = ()) -> list[tuple[int, str, float | None]]:
    """A pattern `number`: lines with "value=<n>"."""
    assert not without
    return [(i, "number", float(ln.split("value=")[1])) for i, ln in enumerate(lines) if "value=" in ln]


@pytest.fixture
def patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("diagnose.catalogue.texts.match_lines", fake)


@pytest.mark.usefixtures("patterns")
def test_row() -> None:
    [section] = split(clean("one\ntwo value=7\n"), 5)
    parsed = LogReader().read(section)
    [row] = parsed.tables["text_lines"]
    assert list(row) == list(TABLES["text_lines"])
    assert row == {
        "input": 5, "line": 2, "pattern": "number", "value": 7.0,
        "excerpt": "two value=7", "origin": "log", "pid": None,
    }  # fmt: skip
    assert parsed.rows == 2


@pytest.mark.usefixtures("patterns")
def test_process_output() -> None:
    [row] = matching_rows(["value=1"], 0, origin="process_output", pid=42)
    assert (row["line"], row["origin"], row["pid"]) == (1, "process_output", 42)


@pytest.mark.usefixtures("patterns")
def test_lines_that_other_readers_left_keep_their_numbers() -> None:
    text = "ticket value=1\n\n\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU1\tSYS\t X \nbelow value=2\n"
    text += (
        "# gpu    pwr     sm\n# Idx      W      %\n    0     50     40\ninside value=3\n    0     50     40\n"
    )
    found = read_sections(text)
    assert [p.kind for p in found] == ["topo", "dmon", "log"]
    assert [(r["line"], r["value"]) for r in found[-1].tables["text_lines"]] == [
        (1, 1.0),
        (6, 2.0),
        (10, 3.0),
    ]
    assert found[1].rows == 2


@pytest.mark.usefixtures("patterns")
def test_command_line_of_a_program_is_searched() -> None:
    found = read_sections("$ python serve.py --value=8\nstarting up\n")
    assert [r["excerpt"] for r in found[-1].tables["text_lines"]] == ["python serve.py --value=8"]


@pytest.mark.usefixtures("patterns")
def test_command_that_collects_an_artifact_is_not_searched() -> None:
    text = "$ nvidia-smi nvlink -s value=1\nGPU 0: A (UUID: GPU-1)\nDevice does not have or support Nvlink\n"
    assert [p.kind for p in read_sections(text)] == ["nvlink"]


def test_real_catalogue() -> None:
    [parsed] = read_sections("Traceback (most recent call last):\n" + REFUSED + "\n")
    assert "fp8_refused" in {r["pattern"] for r in parsed.tables["text_lines"]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  padded  ", "padded"),
        ("a\tb\x00c\x1bd\u202ee", "a bcde"),
        ("x" * 240, "x" * 240),
        ("x" * 241, "x" * 239 + "…"),
    ],
)
def test_excerpt(text: str, expected: str) -> None:
    assert excerpt(text) == expected
    assert len(excerpt(text)) <= EXCERPT
