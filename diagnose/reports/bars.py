"""Bars of block characters, for terminals and for fenced text."""

from __future__ import annotations

from diagnose.reports import numbers
from diagnose.reports.blocks import Bar
from diagnose.reports.names import middle

_NAME = 40


def bar_line(row: Bar, rows: tuple[Bar, ...], width: int) -> str:
    """One line of a plain-text chart: label, share, value, bar."""
    label = max(len(middle(r.label, _NAME)) for r in rows)
    value = max(len(r.value) for r in rows)
    name = middle(row.label, _NAME)
    return f"{name:<{label}}  {share_of(row):>6}  {row.value:>{value}}  {bar(row.share, width)}".rstrip()


def share_of(row: Bar) -> str:
    return numbers.percent(row.share)


def bar(share: float, width: int, ascii: bool = False) -> str:
    """One block a full cell and an eighth block for the rest; `#` in ASCII, rounded to whole cells."""
    eighths = round(max(0.0, min(share, 1.0)) * width * 8)
    if ascii:
        return "#" * round(eighths / 8)
    return "█" * (eighths // 8) + ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")[eighths % 8]
