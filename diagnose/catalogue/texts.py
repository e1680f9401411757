"""Named patterns for lines of logs, tickets and program output: `match_lines`.

The patterns are data (`texts.toml`) and run on polars' linear engine. One search for the patterns' words goes
over all lines first; only lines that hold one are tried against the patterns.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from diagnose.catalogue import load

if TYPE_CHECKING:
    import polars as pl

Unit = Literal["", "bytes", "number", "percent"]
Hit = tuple[int, str, float | None]

# Longer lines are cut before they are searched; a log line that matters is shorter.
MAX_LINE = 4_000

_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_BINARY = {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


@dataclass(frozen=True, slots=True)
class Pattern:
    """One named pattern. `regex` decides a hit, `values` read its number (in `unit`), if it has one."""

    id: str
    kind: str
    meaning: str
    source: str
    hints: tuple[str, ...]
    regex: str
    values: tuple[str, ...]
    unit: Unit
    examples: tuple[str, ...]
    counterexamples: tuple[str, ...]


@cache
def _load() -> dict[str, Pattern]:
    found = {}
    for name, entry in load.data("texts.toml")["pattern"].items():
        values = entry.get("value", [])
        found[name] = Pattern(
            id=name,
            kind=entry["kind"],
            meaning=entry["meaning"],
            source=entry["source"],
            hints=tuple(entry["hints"]),
            # A pattern that only reads a number hits where it finds one.
            regex=load.any_of(entry.get("regex", values), any_case=True),
            values=tuple(f"(?i){value}" for value in values),
            unit=entry.get("unit", ""),
            examples=tuple(entry["examples"]),
            counterexamples=tuple(entry["counterexamples"]),
        )
    return found


PATTERNS: dict[str, Pattern] = _load()


def match_lines(lines: Sequence[str], *, without: Collection[str] = ()) -> list[Hit]:
    """Every (line index, pattern id, number or None), in order of lines, then of the file of patterns.

    A line can hit several patterns. The number is in the pattern's `unit`; None when the pattern reads none
    or the line does not state it. Patterns in `without` are not looked for.
    """
    import polars as pl

    if not lines:
        return []
    text = pl.Series(lines, dtype=pl.String).str.slice(0, MAX_LINE)
    wanted = [pattern for pattern in PATTERNS.values() if pattern.id not in without]
    words = [hint for pattern in wanted for hint in pattern.hints]
    places = text.str.contains_any(words, ascii_case_insensitive=True).arg_true()
    candidates = text.gather(places)
    if candidates.is_empty():
        return []
    hits: list[tuple[int, int, str, float | None]] = []
    for order, pattern in enumerate(wanted):
        found = candidates.str.contains(pattern.regex).arg_true()
        if found.is_empty():
            continue
        numbers = _numbers(candidates.gather(found), pattern)
        hits += [
            (line, order, pattern.id, number)
            for line, number in zip(places.gather(found).to_list(), numbers, strict=True)
        ]
    hits.sort(key=lambda hit: hit[:2])
    return [(line, name, number) for line, _, name, number in hits]


def _numbers(lines: pl.Series, pattern: Pattern) -> list[float | None]:
    """The number of each line by the first of the pattern's value expressions that finds one."""
    out: list[float | None] = [None] * len(lines)
    for expression in pattern.values:
        rows = lines.str.extract_groups(expression).to_list()
        for i, row in enumerate(rows):
            if out[i] is None and row:
                out[i] = _sum_of(list(row.values()), pattern.unit)
        if all(number is not None for number in out):
            break
    return out


def _sum_of(groups: list[str | None], unit: Unit) -> float | None:
    """`["20.5", "GiB", "1.5", "GiB"]` in bytes → 22 GiB; a missing unit means bytes."""
    if groups[0] is None:
        return None
    if unit != "bytes":
        return _number(groups[0])
    total = 0.0
    for digits, suffix in zip(groups[::2], groups[1::2], strict=True):
        number = _number(digits or "")
        if number is None:
            return None
        key = (suffix or "B").upper()
        total += number * (_BINARY.get(key) or _UNITS[key])
    return total


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", "").rstrip("."))
    except ValueError:
        return None
