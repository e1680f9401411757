"""Metrics over text: lines of logs and of the traced program's output that match a named pattern."""

from __future__ import annotations

from diagnose.artifacts.base import Row
from diagnose.findings import ExhibitRow, Fact
from diagnose.metrics.measurements import Measurements
from diagnose.metrics.registry import exhibit, known, metric, unknown
from diagnose.scope import Scope

READS = ("text_lines", "process_output")


def _lines(m: Measurements, pattern: str) -> list[Row]:
    return [row for row in m.rows("text_lines") if row["pattern"] == pattern]


def _looked(m: Measurements) -> bool:
    """Text was there to be looked at: a text artifact, or program output inside the trace."""
    return bool(m.rows("text_seen"))


@metric("count", READS, grains=("run",))
def text_hits(m: Measurements, scope: Scope, *, pattern: str) -> Fact:
    """Lines of logs or program output that match a pattern of catalogue/texts.toml.

    Unknown without any text: no output recorded is not the same as nothing printed.
    """
    del scope
    if not _looked(m):
        return unknown("no log and no program output to read", "text_lines")
    return known(float(len(_lines(m, pattern))), "logs and program output")


@metric("number", READS, grains=("run",))
def text_value(m: Measurements, scope: Scope, *, pattern: str) -> Fact:
    """The number that the pattern captured on its last matching line."""
    del scope
    if not _looked(m):
        return unknown("no log and no program output to read", "text_lines")
    values = [row["value"] for row in _lines(m, pattern) if row["value"] is not None]
    if not values:
        return unknown("no line gives this number", "text_lines")
    return known(float(values[-1]), "logs and program output")


@exhibit(READS)
def text_lines(m: Measurements, scope: Scope, limit: int, *, pattern: str) -> list[ExhibitRow]:
    """The first matching lines, with file and line."""
    del scope
    return [
        ExhibitRow(
            start_ns=0,
            duration_ns=0,
            name=str(row["excerpt"]),
            pid=row.get("pid"),
            input=row["input"],
            line=row["line"],
            detail="program output" if row["origin"] == "process_output" else "",
        )
        for row in _lines(m, pattern)[:limit]
    ]
