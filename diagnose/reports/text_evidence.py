"""The chain symptom, mechanism, cause on a canvas: what each step says, measured, asked, margin."""

from __future__ import annotations

from diagnose.findings import Stage
from diagnose.reports.asked import Measured
from diagnose.reports.blocks import Evidence, EvidenceRow
from diagnose.reports.canvas import LABEL, Canvas, Column, Piece

_MARKS = {"holds": "✔", "fails": "✘", "unknown": "?"}
_NARROW = 34  # least room for a sentence beside its numbers; below it they go on their own line


def draw_evidence(c: Canvas, b: Evidence) -> None:
    """A table where the width allows, else each step over its numbers; one line a step in a pipe."""
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
        c.put((source, "dim"), indent=2 if i == 0 else 2 + LABEL, hang=2 + LABEL, first="from" * (i == 0))


def _evidence_table(c: Canvas, b: Evidence, widths: list[int]) -> None:
    stage, sign, says, measured, asked, margin = widths
    lead = stage + sign + 2

    def line(first: list[Column], v: Measured | None, m: str, parts: bool = False) -> None:
        value = "" if v is None else v.parts if parts else v.value
        ask = "" if v is None or parts else v.asked
        style = "dim" if parts else ""
        cells = [Column(((value, style),), measured, True), Column(((ask, "dim"),), asked, True)]
        c.columns([*first, *cells, Column(((m, "bold"),), margin, True)], indent=2)

    head = Column((("evidence", "dim"),), lead + says)
    labels = (("measured", measured), ("asked", asked), ("margin", margin))
    heads = [Column(((h, "dim"),), w, True) for h, w in labels]
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
            words = sentence[i] if i < len(sentence) else ""
            left = Column(((start, "dim"), marks, (words, "")), lead + says)
            value, parts = right[i] if i < len(right) else (None, False)
            line([left], value, row.margin if i == 0 else "", parts)
        _after(c, row, 2 + lead)
        last = row.stage


def _lines(c: Canvas, words: str, width: int) -> list[str]:
    return [line.plain for line in c.wrap(c.text(((words, ""),)), width)]


def _evidence_lines(c: Canvas, b: Evidence) -> None:
    last: Stage | None = None
    for row in b.rows:
        if c.width is not None and row.stage != last:
            c.put((row.stage, "dim"), indent=2)
        last = row.stage
        mark, style = _mark(c, row.holds)
        shown = [_value(v, len(row.values) > 1) for v in row.values if v.known]
        shown += [f"margin {row.margin}"] if row.margin and shown else []
        if c.width is None:
            tail = f" [{'; '.join(shown)}]" if shown else ""
            c.put((f"{row.stage}: ", "dim"), (mark + " ", style), (row.says + tail, ""), indent=2)
            _after(c, row, 4)
            continue
        deep = 5 + len(mark)
        c.put((mark + " ", style), (row.says, ""), indent=4, hang=deep)
        line = "; ".join(shown)
        for words in [line] * bool(line) if deep + c.length(line) <= c.width else shown:
            c.put((words, "dim"), indent=deep, hang=deep + 2)
        _after(c, row, deep)


def _value(v: Measured, named: bool) -> str:
    name = f"{v.name} " if named else ""
    parts = f" ({v.parts})" if v.parts else ""
    return f"{name}{v.value}{parts}" + (f", asked {v.asked}" if v.asked else "")


def _after(c: Canvas, row: EvidenceRow, indent: int) -> None:
    for v in row.values:
        if not v.known:
            ask = f", asked {v.asked}" if v.asked else ""
            c.put((f"{v.name} {v.value}{ask}", "unknown"), indent=indent, hang=indent + 2)
    for line in (row.note, *row.detail):
        if line:
            c.put((line, "dim"), indent=indent, hang=indent + 2)


def _mark(c: Canvas, holds: bool | None) -> Piece:
    key = "unknown" if holds is None else "holds" if holds else "fails"
    return key if c.ascii else _MARKS[key], key
