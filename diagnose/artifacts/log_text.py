"""Any other text → `text_lines`: every line is run through the named patterns of the catalogue.

This is the reader of logs, tracebacks and prose, and of the lines other readers left over.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from diagnose.artifacts.base import Row, Section
from diagnose.artifacts.unread import TextParsed

EXCERPT = 240
"""Longest excerpt of a line, in characters."""


class LogReader:
    kind = "log"

    def sniff(self, section: Section) -> bool:
        return any(line.text.strip() for line in section.lines)

    def read(self, section: Section) -> TextParsed:
        """Rows of `text_lines` with origin "log"; `Parsed.rows` counts the lines looked at."""
        rows = matching_rows([line.text for line in section.lines], section.input)
        for row in rows:
            row["line"] = section.lines[row["line"] - 1].number
        return TextParsed(self.kind, {"text_lines": rows} if rows else {}, rows=len(section.lines))


def matching_rows(
    texts: Sequence[str],
    source: int,
    *,
    origin: str = "log",
    pid: int | None = None,
    without: Collection[str] = (),
) -> list[Row]:
    """`text_lines` rows of all lines that a pattern matches; `line` counts from 1 within `texts`.

    A line can match several patterns. `origin`: "log" or "process_output" (then `pid` says whose).
    """
    from diagnose.catalogue.texts import match_lines  # loads polars

    return [
        {
            "input": source,
            "line": at + 1,
            "pattern": pattern,
            "value": value,
            "excerpt": excerpt(texts[at]),
            "origin": origin,
            "pid": pid,
        }
        for at, pattern, value in match_lines(texts, without=without)
    ]


def excerpt(text: str) -> str:
    """The line as one printable line: control characters out, blanks at the ends off, 240 characters."""
    # A few times the length is enough to look at: a line can be a hundred megabytes long.
    shown = text.lstrip()[: 4 * EXCERPT]
    clean = "".join(c if c.isprintable() else " " if c.isspace() else "" for c in shown).strip()
    return clean if len(clean) <= EXCERPT else clean[: EXCERPT - 1] + "…"
