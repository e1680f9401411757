"""Text hits: nothing to look at is not the same as nothing found."""

from __future__ import annotations

from typing import Any

from measuring import text_only, told

from diagnose.metrics import EXHIBITS
from diagnose.scope import RUN


def line(pattern: str, value: float | None = None, number: int = 1, origin: str = "log") -> dict[str, Any]:
    return {
        "input": 0,
        "line": number,
        "pattern": pattern,
        "value": value,
        "excerpt": f"text {number}",
        "origin": origin,
        "pid": 7,
    }


TABLES = {
    "text_seen": [{"input": 0, "origin": "log"}],
    "text_lines": [line("a", 1.0), line("b"), line("a", 5.0, 2), line("a", None, 3, "process_output")],
}


def test_hits_and_the_last_value() -> None:
    assert told(TABLES, "text_hits", pattern="a").value == 3
    assert told(TABLES, "text_hits", pattern="c").value == 0
    assert told(TABLES, "text_value", pattern="a").value == 5
    assert told(TABLES, "text_value", pattern="b").why_unknown == "no line gives this number"


def test_without_any_text_nothing_is_known() -> None:
    assert told({}, "text_hits", pattern="a").value is None
    assert told({}, "text_value", pattern="a").value is None


def test_lines_as_proof() -> None:
    rows = EXHIBITS["text_lines"].function(text_only(TABLES), RUN, 2, pattern="a")
    assert [(r.name, r.line, r.detail) for r in rows] == [("text 1", 1, ""), ("text 2", 2, "")]
    rows = EXHIBITS["text_lines"].function(text_only(TABLES), RUN, 9, pattern="a")
    assert rows[2].detail == "program output" and rows[2].pid == 7
