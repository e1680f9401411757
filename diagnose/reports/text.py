"""The terminal report. Verdict, cost and first remedy stand in the first five lines; the proof follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from diagnose.findings import Report
from diagnose.reports import RenderOptions, blocks
from diagnose.reports.bars import bar, share_of
from diagnose.reports.canvas import LABEL, Canvas, Column, Piece
from diagnose.reports.document import document
from diagnose.reports.names import NAME_LIMIT, short_name
from diagnose.reports.text_evidence import draw_evidence

_BAR = 36
_CELL = 24  # widest column beside the one that gives way


def render(report: Report, options: RenderOptions) -> str:
    """The whole report with a final newline; see `RenderOptions` for width, colour and ASCII."""
    canvas = Canvas(options.width, options.colour, options.ascii)
    for section in document(report, options.command, options.verbose):
        if section.heading:
            canvas.rule()
        for block in section.blocks:
            canvas.blank()
            _DRAW[type(block)](canvas, block)
    return canvas.render()


def _headline(c: Canvas, b: blocks.Headline) -> None:
    style = b.verdict or ("clear" if b.title.startswith("Nothing found") else "unsure")
    style = style if style in ("confirmed", "probable", "clear") else "unsure"
    word = blocks.WORDS[b.verdict].upper() if b.verdict else ""
    number = f"{b.number}. " if b.number else ""
    badge: list[Piece] = [(f" {word} " if c.colour else word, style), ("  ", "")] if word else []
    # The id goes to the next line when it would wrap: the first five lines must hold the first remedy.
    used = sum(c.length(x) for x in (number, badge[0][0] if badge else "", b.title, b.signature)) + 4
    beside = c.width is None or used <= c.width
    tail: list[Piece] = [("  " + b.signature, "code")] if b.signature and beside else []
    c.put((number, "bold"), *badge, (b.title, "bold" if word else style), *tail, hang=len(number) + 2)
    if b.verdict is None:
        for line in b.also:
            c.put((line, ""), indent=2)
        if b.first:
            c.put((b.first, "bold"), hang=LABEL, first="do first", whole=True)
        return
    c.put((b.where, ""), ("" if beside else f" · {b.signature}", "code"), hang=LABEL, first="where")
    c.put((f"{b.severity}: ", ""), (b.cost, "bold"), hang=LABEL, first="cost")
    if b.first:
        c.put((b.first, "bold"), hang=LABEL, first="do first")
    for i, line in enumerate(b.also):
        c.put((line, ""), indent=0 if i == 0 else LABEL, hang=LABEL, first="also" if i == 0 else "")


def _prose(c: Canvas, b: blocks.Prose) -> None:
    if b.label:
        c.put((b.text, ""), indent=2, hang=2 + max(LABEL, len(b.label) + 2), first=b.label)
    else:
        c.put((b.text, ""), indent=2)


def _facts(c: Canvas, b: blocks.Facts) -> None:
    for label, lines in b.rows:
        for i, line in enumerate(lines):
            c.put(*_inline(line), indent=0 if i == 0 else LABEL, hang=LABEL, first=label if i == 0 else "")


def _bars(c: Canvas, b: blocks.Bars) -> None:
    c.put((b.title, "bold"), indent=2)
    if c.width is None:
        for r in b.rows:
            name = f"  {short_name(r.name)}" if r.name else ""
            c.put((f"{r.label}  {share_of(r)}  {r.value}{name}", ""), indent=4)
        return
    label = max(c.length(r.label) for r in b.rows)
    value = max(c.length(r.value) for r in b.rows)
    room = min(_BAR, c.width - 4 - label - 2 - 6 - 2 - value - 2)
    for r in b.rows:
        head = f"{r.label}{' ' * (label - c.length(r.label))}  {share_of(r):>6}  "
        tail, drawn = (f"{r.value:>{value}}  ", bar(r.share, room, c.ascii)) if room >= 8 else (r.value, "")
        c.put((head, ""), (tail, "dim"), (drawn, "bar"), indent=4, hang=6)


def _table(c: Canvas, b: blocks.Table) -> None:
    c.put((b.title, "bold"), indent=2)
    texts = [[_short(cell, NAME_LIMIT) for cell in row] for row in b.rows]
    if c.width is None:
        for i, row in enumerate(texts):
            cells = "; ".join(f"{h} {x}" for h, x in zip(b.head, row, strict=True) if x)
            under = " ".join(_short(x, NAME_LIMIT) for x in b.under[i]) if i < len(b.under) else ""
            c.put((cells + (f"; {under}" if under else ""), ""), indent=4)
    else:
        _table_columns(c, b, texts)
    if b.note:
        c.put((b.note, "dim"), indent=4)


def _table_columns(c: Canvas, b: blocks.Table, texts: list[list[str]]) -> None:
    assert c.width is not None
    flex = next((i for i, h in enumerate(b.head) if h in ("what", "path", "text")), len(b.head) - 1)
    widths = [max([c.length(h), *(c.length(r[i]) for r in texts)]) for i, h in enumerate(b.head)]
    widths = [w if i == flex else min(w, _CELL) for i, w in enumerate(widths)]
    room = c.width - 4 - 2 * (len(widths) - 1) - sum(w for i, w in enumerate(widths) if i != flex)
    widths[flex] = max(16, min(widths[flex], room))
    if len(texts) > 1 or len(b.head) > 3:
        c.columns(
            [Column(((h, "dim"),), w, a == "r") for h, w, a in zip(b.head, widths, b.align, strict=True)],
            indent=4,
        )
    start = 4 + sum(widths[:flex]) + 2 * flex
    for i, row in enumerate(b.rows):
        cells = [
            Column(((_short(cell, w), "code" if isinstance(cell, blocks.Code) else ""),), w, a == "r")
            for cell, w, a in zip(row, widths, b.align, strict=True)
        ]
        c.columns(cells, indent=4)
        if i < len(b.under) and b.under[i]:
            c.put(*((x, "dim") for x, _ in _inline(b.under[i])), indent=start + 2)


def _items(c: Canvas, b: blocks.Items) -> None:
    c.put((b.title, "bold"), indent=2)
    for i, item in enumerate(b.rows):
        sign = f"{i + 1}. " if b.ordered else ""
        indent = 4 + len(sign)
        style = item.mark if item.mark in ("unknown", "warning") else ""
        words = (p if p[1] else (p[0], style) for p in _inline(item.text))
        c.put((sign, "bold"), *words, indent=4, hang=indent)
        lead = indent + 2 + max([len(label) + 2 for label, _ in item.under if label], default=0)
        for label, line in item.under:
            whole = any(isinstance(x, blocks.Command) for x in line)
            c.put(*_inline(line), indent=indent + 2 if label else lead, hang=lead, first=label, whole=whole)


def _line(c: Canvas, b: blocks.Line) -> None:
    """On one line if it fits; else a command starts its own, with the word before it."""
    found = _inline(b.parts)
    if c.width is None or sum(c.length(x) for x, _ in found) <= c.width or len(b.parts) < 2:
        c.put(*found, whole=len(b.parts) > 1)
        return
    text, _, word = found[0][0].rpartition(" · ")
    c.put((text, ""))
    c.put((word, ""), *found[1:], whole=True)


def _inline(parts: blocks.Inline) -> list[Piece]:
    out: list[Piece] = []
    for glue, part in blocks.glued(parts):
        literal = isinstance(part, blocks.Code | blocks.Command)
        out += [(glue, "")] if glue else []
        out.append((_short(part, NAME_LIMIT), "code" if literal else ""))
    return out


def _short(cell: blocks.Cell, limit: int) -> str:
    if isinstance(cell, blocks.Name):
        return short_name(cell.text, min(limit, NAME_LIMIT))
    if isinstance(cell, blocks.Link):
        return " ".join(x for x in (cell.text, cell.url if cell.spell else "") if x)
    return cell if isinstance(cell, str) else cell.text


_DRAW: dict[type, Callable[[Canvas, Any], None]] = {
    blocks.Headline: _headline,
    blocks.Prose: _prose,
    blocks.Facts: _facts,
    blocks.Evidence: draw_evidence,
    blocks.Bars: _bars,
    blocks.Table: _table,
    blocks.Items: _items,
    blocks.Line: _line,
}
