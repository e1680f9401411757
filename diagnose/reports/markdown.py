"""The ticket: GitHub-flavoured Markdown below GitHub's limit, cut by whole sections if it must be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from diagnose.findings import Report
from diagnose.reports import RenderOptions, blocks
from diagnose.reports import markdown_escape as md
from diagnose.reports.asked import Measured
from diagnose.reports.bars import bar_line
from diagnose.reports.blocks import Section
from diagnose.reports.document import document
from diagnose.reports.names import short_name

LIMIT = 60_000  # GitHub refuses an issue or comment body of more than 65,536 characters
_MARKS = {True: "✔", False: "✘", None: "?"}
_BAR = 30


def render(report: Report, options: RenderOptions) -> str:
    """The whole ticket with a final newline, at most `LIMIT` characters."""
    sections = [s for s in document(report, options.command, options.verbose) if s.blocks]
    parts = [(s, _section(s, options)) for s in sections]
    head = md.comment(f"diagnose {report.tool_version}; diagnose.report/1")
    kept, cut = _fit(parts, LIMIT - len(head) - 2)
    body = _folded(kept)
    if cut:
        names = ", ".join(dict.fromkeys(s.title for s in cut if s.title)) or "sections"
        note = f"Left out to stay below {LIMIT:,} characters ({len(cut)} sections): {names}"
        body.insert(-1, f"> {md.text(note[:1500])}. The JSON report holds everything.")
    return "\n\n".join([head, *body]) + "\n"


def _fit(parts: list[tuple[Section, str]], room: int) -> tuple[list[tuple[Section, str]], list[Section]]:
    """Drops the least important section, the last one first, until the rest fits (a note included)."""
    cut: list[Section] = []
    size = sum(len(t) + 60 for _, t in parts) + 2_500
    kept = list(parts)
    while size > room:
        worst = max(range(len(kept)), key=lambda i: (kept[i][0].importance, i))
        if kept[worst][0].importance == 0:
            break
        section, words = kept.pop(worst)
        size -= len(words) + 60
        cut.append(section)
    return kept, cut


def _folded(parts: list[tuple[Section, str]]) -> list[str]:
    """The sections' text; neighbours that a ticket hides stand in one `<details>`."""
    out: list[str] = []
    hidden: list[str] = []
    for section, words in [*parts, (Section("", ()), "")]:
        if section.fold:
            hidden.append(words)
            continue
        if hidden:
            inside = "\n\n".join(hidden)
            out.append(f"<details><summary>Setup and inputs</summary>\n\n{inside}\n\n</details>")
            hidden = []
        out += [words] if words else []
    return out


def _section(section: Section, options: RenderOptions) -> str:
    drawn = [_DRAW[type(block)](block) for block in section.blocks]
    if options.ascii:
        drawn = [_ascii(words) for words in drawn]
    return "\n\n".join(x for x in drawn if x)


def _ascii(words: str) -> str:
    return "".join(ch if ch.isascii() else f"&#{ord(ch)};" for ch in words)


def _headline(b: blocks.Headline) -> str:
    if b.verdict is None:
        lines = [f"### {md.text(b.title)}", *(md.text(x) for x in b.also)]
        return "\n\n".join([*lines, f"**Do first:** {md.code(b.first)}"] if b.first else lines)
    lines = [f"### {md.text(b.title)} ({md.code(b.signature)}) · **{blocks.WORDS[b.verdict]}**", ""]
    lines.append(f"**Where:** {md.text(b.where)}  ")
    lines.append(f"**Cost:** {md.text(b.cost)} · **Severity:** {b.severity}  ")
    if b.first:
        lines.append(f"**Do first:** {md.text(b.first)}  ")
    lines += [f"**Also:** {md.text(x)}  " for x in b.also]
    return "\n".join(lines).rstrip()


def _prose(b: blocks.Prose) -> str:
    return f"**{md.text(_upper(b.label))}:** {md.text(b.text)}" if b.label else md.text(b.text)


def _facts(b: blocks.Facts) -> str:
    joined = ((label, "; ".join(_inline(x) for x in lines)) for label, lines in b.rows)
    return "\n".join(f"- **{md.text(label)}:** {words}" for label, words in joined)


def _evidence(b: blocks.Evidence) -> str:
    out = ["| stage | | evidence | measured | asked | margin |", "|---|---|---|--:|--:|--:|"]
    for row in b.rows:
        known = [v for v in row.values if v.known]
        gaps = [f"{md.code(v.name)} {md.text(v.value)}" for v in row.values if not v.known]
        notes = [md.text(x) for x in (row.note, *row.detail) if x]
        says = "<br>".join([md.text(row.says), *(f"<sub>{x}</sub>" for x in [*gaps, *notes])])
        value = "<br>".join(_value(v) for v in known)
        asked = "<br>".join(md.text(v.asked) for v in known)
        mark = _MARKS[row.holds]
        out.append(f"| {row.stage} | {mark} | {says} | {value} | {asked} | {md.text(row.margin)} |")
    if b.sources:
        out += ["", f"Measured from: {'; '.join(md.text(x) for x in b.sources)}"]
    return "\n".join(out)


def _value(v: Measured) -> str:
    return md.text(v.value) + (f" <sub>{md.text(v.parts)}</sub>" if v.parts else "")


def _bars(b: blocks.Bars) -> str:
    return f"**{md.text(_upper(b.title))}**\n\n{md.fence([bar_line(r, b.rows, _BAR) for r in b.rows])}"


def _table(b: blocks.Table) -> str:
    under = any(b.under)
    marks = {"r": "--:", "l": "---"}
    head = [*b.head, *([""] if under else [])]
    out = [f"**{md.text(_upper(b.title))}**", "", "| " + " | ".join(md.text(h) for h in head) + " |"]
    out.append("|" + "|".join([*(marks[a] for a in b.align), *(["---"] if under else [])]) + "|")
    for i, row in enumerate(b.rows):
        cells = [_cell(x) for x in row]
        cells += [_inline(b.under[i]) if i < len(b.under) else ""] if under else []
        out.append("| " + " | ".join(cells) + " |")
    return "\n".join([*out, "", md.text(b.note)] if b.note else out)


def _items(b: blocks.Items) -> str:
    out = [f"**{md.text(_upper(b.title))}**", ""]
    for i, item in enumerate(b.rows):
        lead = f"{i + 1}. " if b.ordered else "- "
        out.append(lead + _inline(item.text))
        pad = " " * len(lead)
        out += [f"{pad}- {md.text(label) + ': ' if label else ''}{_inline(x)}" for label, x in item.under]
    return "\n".join(out)


def _line(b: blocks.Line) -> str:
    return f"<sub>{_inline(b.parts)}</sub>"


def _inline(parts: blocks.Inline) -> str:
    return "".join(glue + _cell(part) for glue, part in blocks.glued(parts))


def _cell(cell: blocks.Cell) -> str:
    if isinstance(cell, str):
        return md.text(cell)
    if isinstance(cell, blocks.Link):
        return md.link(cell.text, cell.url)
    return md.code(short_name(cell.text) if isinstance(cell, blocks.Name) else cell.text)


def _upper(words: str) -> str:
    return words[:1].upper() + words[1:]


_DRAW: dict[type, Callable[[Any], str]] = {
    blocks.Headline: _headline,
    blocks.Prose: _prose,
    blocks.Facts: _facts,
    blocks.Evidence: _evidence,
    blocks.Bars: _bars,
    blocks.Table: _table,
    blocks.Items: _items,
    blocks.Line: _line,
}
