"""The terminal report. Verdict, cost and first remedy stand in the first five lines; the proof follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from diagnose.findings import Report, Stage
from diagnose.reports import RenderOptions, blocks, numbers
from diagnose.reports.asked import Measured
from diagnose.reports.canvas import Canvas, Column, Piece
from diagnose.reports.document import document
from diagnose.reports.names import NAME_LIMIT, short_name

_LABEL = 11  # column where labelled text starts
_MARKS = {"holds": "✔", "fails": "✘", "unknown": "?"}
_WORDS = {"holds": "holds", "fails": "fails", "unknown": "unknown"}
_NARROW = 34  # least room for a sentence beside its numbers; below it they go on their own line
_BAR = 36


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
    tail: list[Piece] = [("  " + b.signature, "code")] if b.signature else []
    c.put((number, "bold"), *badge, (b.title, "bold" if word else style), *tail, hang=len(number) + 2)
    if b.verdict is None:
        for line in b.also:
            c.put((line, ""), indent=2)
        if b.first:
            c.put((b.first, "bold"), hang=_LABEL, first="do first", whole=True)
        return
    c.put((b.where, ""), hang=_LABEL, first="where")
    c.put((b.cost, "bold"), (f" · severity {b.severity}", ""), hang=_LABEL, first="cost")
    if b.first:
        c.put((b.first, "bold"), hang=_LABEL, first="do first")
    for i, line in enumerate(b.also):
        c.put((line, ""), indent=0 if i == 0 else _LABEL, hang=_LABEL, first="also" if i == 0 else "")


def _prose(c: Canvas, b: blocks.Prose) -> None:
    if b.label:
        c.put((b.text, ""), indent=2, hang=2 + max(_LABEL, len(b.label) + 2), first=b.label)
    else:
        c.put((b.text, ""), indent=2)


def _facts(c: Canvas, b: blocks.Facts) -> None:
    for label, lines in b.rows:
        for i, line in enumerate(lines):
            c.put(*_inline(line), indent=0 if i == 0 else _LABEL, hang=_LABEL, first=label if i == 0 else "")


def _evidence(c: Canvas, b: blocks.Evidence) -> None:
    values = [v for row in b.rows for v in row.values if v.known]
    wide = [max([len(head), *(c.length(x) for x in found)]) for head, found in (
        ("measured", [x for v in values for x in (v.value, v.parts)]),
        ("asked", [v.asked for v in values]),
        ("margin", [row.margin for row in b.rows]),
    )]  # fmt: skip
    sign = 7 if c.ascii else 1
    rest = (c.width or 0) - 2 - 9 - 1 - sign - 1 - sum(wide) - 2 * 3
    if c.width is not None and rest >= _NARROW:
        _evidence_table(c, b, [9, sign, rest, *wide])
    else:
        _evidence_lines(c, b)
    for i, source in enumerate(b.sources):
        c.put((source, "dim"), indent=2 if i == 0 else 2 + _LABEL, hang=2 + _LABEL, first="from" * (i == 0))


def _evidence_table(c: Canvas, b: blocks.Evidence, widths: list[int]) -> None:
    stage, sign, says, measured, asked, margin = widths
    lead = stage + sign + 2

    def line(first: list[Column], v: Measured | None, m: str, parts: bool = False) -> None:
        value = "" if v is None else v.parts if parts else v.value
        ask = "" if v is None or parts else v.asked
        style = "dim" if parts else ""
        cells = [Column(((value, style),), measured, True), Column(((ask, "dim"),), asked, True)]
        c.columns([*first, *cells, Column(((m, "bold"),), margin, True)], indent=2)

    head = Column((("evidence", "dim"),), lead + says)
    heads = [Column(((h, "dim"),), w, True) for h, w in (("measured", measured), ("asked", asked), ("margin", margin))]
    c.columns([head, *heads], indent=2)
    last: Stage | None = None
    for row in b.rows:
        known = [v for v in row.values if v.known]
        mark = _mark(c, row.holds)
        label = row.stage if row.stage != last else ""
        sentence = _lines(c, row.says, says)
        right: list[tuple[Measured | None, bool]] = []
        for v in known:
            right += [(v, False), (v, True)] if v.parts else [(v, False)]
        for i in range(max(len(sentence), len(right))):
            start = f"{label:<{stage}} " if i == 0 else " " * (stage + 1)
            marks: Piece = (f"{mark[0]:<{sign}} ", mark[1]) if i == 0 else (" " * (sign + 1), "")
            left = Column(((start, "dim"), marks, (sentence[i] if i < len(sentence) else "", "")), lead + says)
            v, parts = right[i] if i < len(right) else (None, False)
            line([left], v, row.margin if i == 0 else "", parts)
        _after(c, row, 2 + lead)
        last = row.stage


def _lines(c: Canvas, words: str, width: int) -> list[str]:
    return [line.plain for line in c.wrap(c.text(((words, ""),)), width)]


def _evidence_lines(c: Canvas, b: blocks.Evidence) -> None:
    last: Stage | None = None
    for row in b.rows:
        if c.width is not None and row.stage != last:
            c.put((row.stage, "dim"), indent=2)
        last = row.stage
        mark, style = _mark(c, row.holds)
        shown = [_value(v, len(row.values) > 1) for v in row.values if v.known]
        numbers = "; ".join(shown) + (f"; margin {row.margin}" if row.margin and shown else "")
        if c.width is None:
            tail = f" [{numbers}]" if numbers else ""
            c.put((f"{row.stage}: ", "dim"), (mark + " ", style), (row.says + tail, ""), indent=2)
        else:
            c.put((mark + " ", style), (row.says, ""), indent=4, hang=5 + len(mark))
            if numbers:
                c.put((numbers, "dim"), indent=5 + len(mark))
        _after(c, row, 5 + len(mark) if c.width is not None else 4)


def _value(v: Measured, named: bool) -> str:
    name = f"{v.name} " if named else ""
    parts = f" ({v.parts})" if v.parts else ""
    return f"{name}{v.value}{parts}" + (f", asked {v.asked}" if v.asked else "")


def _after(c: Canvas, row: blocks.EvidenceRow, indent: int) -> None:
    for v in row.values:
        if not v.known:
            ask = f", asked {v.asked}" if v.asked else ""
            c.put((f"{v.name} {v.value}{ask}", "unknown"), indent=indent, hang=indent + 2)
    for line in (row.note, *row.detail):
        if line:
            c.put((line, "dim"), indent=indent, hang=indent + 2)


def _mark(c: Canvas, holds: bool | None) -> Piece:
    key = "unknown" if holds is None else "holds" if holds else "fails"
    return (_WORDS if c.ascii else _MARKS)[key], key


def _bars(c: Canvas, b: blocks.Bars) -> None:
    c.put((b.title, "bold"), indent=2)
    if c.width is None:
        for r in b.rows:
            name = f"  {short_name(r.name)}" if r.name else ""
            c.put((f"{r.label}  {_share(r)}  {r.value}{name}", ""), indent=4)
        return
    label = max(c.length(r.label) for r in b.rows)
    value = max(c.length(r.value) for r in b.rows)
    room = min(_BAR, c.width - 4 - label - 2 - 6 - 2 - value - 2)
    for r in b.rows:
        head = f"{r.label}{' ' * (label - c.length(r.label))}  {_share(r):>6}  "
        tail, drawn = (f"{r.value:>{value}}  ", bar(r.share, room, c.ascii)) if room >= 8 else (r.value, "")
        c.put((head, ""), (tail, "dim"), (drawn, "bar"), indent=4, hang=6)


def bar_line(row: blocks.Bar, rows: tuple[blocks.Bar, ...], width: int) -> str:
    """One line of a plain-text chart: label, share, value, bar."""
    label = max(len(short_name(r.label, 40)) for r in rows)
    value = max(len(r.value) for r in rows)
    name = short_name(row.label, 40)
    return f"{name:<{label}}  {_share(row):>6}  {row.value:>{value}}  {bar(row.share, width)}".rstrip()


def _share(row: blocks.Bar) -> str:
    return numbers.percent(row.share)


def bar(share: float, width: int, ascii: bool = False) -> str:
    """One block a full cell and an eighth block for the rest; `#` in ASCII, rounded to whole cells."""
    eighths = round(max(0.0, min(share, 1.0)) * width * 8)
    if ascii:
        return "#" * round(eighths / 8)
    return "█" * (eighths // 8) + ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")[eighths % 8]


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
    room = c.width - 4 - 2 * (len(widths) - 1) - sum(w for i, w in enumerate(widths) if i != flex)
    widths[flex] = max(16, min(widths[flex], room))
    if len(texts) > 1 or len(b.head) > 3:
        c.columns(
            [Column(((h, "dim"),), w, a == "r") for h, w, a in zip(b.head, widths, b.align, strict=True)], indent=4
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
        c.put((sign, "bold"), *(p if p[1] else (p[0], style) for p in _inline(item.text)), indent=4, hang=indent)
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
    return cell if isinstance(cell, str) else cell.text


_DRAW: dict[type, Callable[[Canvas, Any], None]] = {
    blocks.Headline: _headline,
    blocks.Prose: _prose,
    blocks.Facts: _facts,
    blocks.Evidence: _evidence,
    blocks.Bars: _bars,
    blocks.Table: _table,
    blocks.Items: _items,
    blocks.Line: _line,
}
