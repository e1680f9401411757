"""A report as sections of blocks, in reading order: verdict, proof, remedy, the rest, the last line."""

from __future__ import annotations

from dataclasses import replace

from diagnose.findings import VERDICTS, Finding, Report
from diagnose.reports import other_blocks as other
from diagnose.reports.blocks import WORDS, Block, Command, Headline, Line, Prose, Section
from diagnose.reports.cost import cost
from diagnose.reports.finding_blocks import headline, prose
from diagnose.reports.finding_blocks import sections as finding_sections
from diagnose.reports.groups import Group, grouped, split
from diagnose.reports.names import clip, visible

_ALSO = 3


def document(report: Report, command: str, verbose: bool = False) -> tuple[Section, ...]:
    """All sections of the text reports. A report without findings is short unless `verbose`."""
    told, folded = split(report.findings)
    groups = grouped(told)
    out: list[Section] = []
    if groups:
        out += _findings(report, groups, folded, verbose)
    else:
        out.append(Section("", (_nothing(report), other.read_head(report)), 0))
        near = report.nearest_miss
        out += [Section("nearest miss", (Prose(prose(near), label="nearest"),), 1)] if near else []
    short = not groups and not verbose
    rest = [
        other.time_section(report.breakdown) if verbose and not groups else None,
        other.verdict_section(report, "ruled_out", 3, verbose),
        other.cannot_tell_section(report, verbose),
        other.verdict_section(report, "absent", 4, verbose),
        *(s for s in other.coverage_sections(report) if not (short and s.title == "trace")),
    ]
    kept = [s for s in rest if s]
    out += [replace(s, heading=i == 0 and bool(groups)) for i, s in enumerate(kept)]
    out.append(Section("", (_last(report, command),), 0))
    return tuple(out)


def _findings(
    report: Report, groups: tuple[Group, ...], folded: tuple[Finding, ...], verbose: bool
) -> list[Section]:
    out: list[Section] = []
    many = len(groups) > 1
    for order, group in enumerate(groups):
        also = tuple(_also(g) for g in groups[1 : 1 + _ALSO]) if order == 0 else ()
        if order == 0 and len(groups) > 1 + _ALSO:
            also += (f"{len(groups) - 1 - _ALSO} more findings below",)
        head: tuple[Block, ...] = (headline(group, also, order + 1 if many else 0),)
        head += (other.read_head(report),) if order == 0 else ()
        out.append(Section("" if order == 0 else group.lead.signature, head, min(order, 3), heading=True))
        mine = grouped(f for f in folded if f.folded_under == group.lead.signature)
        parts = list(finding_sections(group, mine, report.inputs, order, verbose))
        time = other.time_section(report.breakdown) if order == 0 else None
        out += [*parts[:1], *((time,) if time else ()), *parts[1:]]
    return out


def _also(group: Group) -> str:
    f = group.lead
    name = f"{clip(prose(f.title), 200)} ({visible(f.signature)[:60]})"
    return f"{WORDS[f.verdict]}, {group.severity}: {name}, {cost(f)}"


def _nothing(report: Report) -> Headline:
    counts = report.summary()
    judged = counts["absent"] + counts["ruled_out"]
    if not report.judged or not judged:
        title = "Nothing could be judged: what decides is missing. This is no all-clear."
    else:
        title = f"Nothing found: {judged} signature{'s' * (judged != 1)} judged, none fits."
    open_ones = counts["cannot_tell"]
    also = (f"{open_ones} could not be judged: see cannot tell below",) if open_ones and judged else ()
    wanted = next((c for f in report.findings if f.verdict == "cannot_tell" for c in f.captures), None)
    first = prose(wanted.command) if wanted and not judged else ""
    return Headline(None, title, first=first, also=also)


def _last(report: Report, command: str) -> Line:
    """The counts by the strongest verdict of each signature, and how to make the ticket."""
    counts = report.summary()
    text = ", ".join(f"{counts[v]} {WORDS[v]}" for v in VERDICTS if counts[v]) or "no signatures loaded"
    return Line((f"{text} · ticket:", Command(f"{visible(command)} -f md -o ticket.md")))
