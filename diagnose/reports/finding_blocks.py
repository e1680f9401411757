"""The blocks of one finding (a group of one signature and verdict): headline to blind spots."""

from __future__ import annotations

from diagnose.findings import Exhibit, ExhibitRow, Finding, Input, Remedy, RuleOut, Stage, Step
from diagnose.reports import numbers
from diagnose.reports.asked import measured
from diagnose.reports.blocks import (
    WORDS,
    Block,
    Cell,
    Code,
    Command,
    Evidence,
    EvidenceRow,
    Headline,
    Inline,
    Item,
    Items,
    Link,
    Name,
    Prose,
    Section,
    Table,
)
from diagnose.reports.cost import cost
from diagnose.reports.groups import Group
from diagnose.reports.names import clip, visible

STAGES: tuple[Stage, ...] = ("symptom", "mechanism", "cause")
_TEXT = 1_200  # characters of one sentence; a longer one is data that leaked into it
_HEAD = 300
_ROWS = 5
_MANY = 8


def prose(text: str) -> str:
    """A sentence of a signature, with whatever data it quotes, made safe and bounded."""
    return clip(visible(" ".join(text.split())), _TEXT)


def headline(group: Group, also: tuple[str, ...] = (), number: int = 0) -> Headline:
    f = group.lead
    first = f.remedies[0].do if f.remedies else f.captures[0].command if f.captures else ""
    price = cost(f)
    if len(group.members) > 1 and f.lost_ns is not None:
        price += f" on {visible(_short_scope(f))}"
    return Headline(
        verdict=f.verdict,
        title=clip(prose(f.title), _HEAD),
        signature=clip(visible(f.signature), 100),
        where=clip(group.where, _HEAD),
        severity=group.severity,
        cost=price,
        first=clip(prose(first), 2 * _HEAD),
        also=also,
        number=number,
    )


def sections(
    group: Group, folded: tuple[Group, ...], inputs: tuple[Input, ...], order: int, verbose: bool
) -> tuple[Section, ...]:
    """Everything below the headline. Findings told later are cut earlier (`order` counts from 0)."""
    f = group.lead
    title = f"{WORDS[f.verdict]} {visible(f.signature)}"
    later = min(order, 3)
    proof: list[Block] = [Prose(prose(f.summary))]
    if f.reason:
        proof.append(Prose(prose(f.reason), label=f"why {WORDS[f.verdict]}"))
    proof += [Prose(prose(note), label="note") for note in f.notes]
    proof += _scopes(group)
    rows = tuple(_step(s, verbose) for s in chain(f.steps))
    origins = dict.fromkeys(v.source for r in rows for v in r.values if v.known and v.source)
    proof += [Evidence(rows, tuple(origins))] if rows else []
    if f.bound:
        proof.append(Prose(prose(f.bound), label="bound"))
    out = [Section(f"{title}: evidence", tuple(proof), 1 + later)]
    if folded:
        out.append(Section(f"{title}: what it explains", (_folded(folded),), 3 + later))
    shown = tuple(_exhibit(x, inputs, verbose) for x in f.exhibits if x.rows)
    if shown:
        out.append(Section(f"{title}: where in the trace", shown, 5 + later))
    if f.remedies:
        out.append(Section(f"{title}: what to do", (_remedies(f.remedies, verbose),), 1 + later))
    doubts = _doubts(f)
    if doubts:
        out.append(Section(f"{title}: what would change the verdict", doubts, 4 + later))
    return tuple(out)


def chain(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Symptom, mechanism, cause; the order of the signature within a stage."""
    return tuple(s for stage in STAGES for s in steps if s.stage == stage)


def mark_of(holds: bool | None) -> str:
    return "unknown" if holds is None else "holds" if holds else "fails"


def _step(step: Step, verbose: bool) -> EvidenceRow:
    values = measured(step.when, step.facts, step.thresholds)
    kept = values if verbose else tuple(v for v in values if v.asked or v.read or not v.known)
    flat = "OR" not in step.when.upper().split()
    missing = f"missing: {visible(', '.join(step.missing))}" if step.missing and step.holds is None else ""
    detail = tuple(_detail(step)) if verbose else ()
    either = "" if flat or len(kept) < 2 else "not all of these are asked for together"
    role = "" if step.holds else {"support": "supporting step", "context": "context only"}.get(step.role, "")
    return EvidenceRow(
        stage=step.stage,
        holds=step.holds,
        says=prose(step.says),
        values=kept,
        margin=numbers.factor(step.margin) if numbers.finite(step.margin) is not None and step.margin else "",
        note="; ".join(x for x in (missing, either, role) if x),
        detail=detail,
    )


def _detail(step: Step) -> list[str]:
    out = [f"step {step.id} ({step.role}{', by ' + step.way if step.way else ''}): {step.when}"]
    out += [f"{f.name} = {f.metric or 'value'} from {f.source}" for f in step.facts if f.source]
    out += [
        f"{t.name} = {numbers.exact(t.value)}{' (set by configuration)' if t.overridden else ''}"
        + (f": {t.why}" if t.why else "")
        for t in step.thresholds
    ]
    return [prose(x) for x in out]


def _scopes(group: Group) -> list[Block]:
    if not group.others:
        return []
    shown = [Item((f"{visible(_short_scope(f))}: {cost(f)}",)) for f in group.others[:_MANY]]
    if len(group.others) > _MANY:
        shown.append(Item((f"{len(group.others) - _MANY} more",)))
    lead = visible(_short_scope(group.lead))
    title = f"same verdict on (the evidence below is that of {lead}, where the loss is largest)"
    return [Items(title, tuple(shown))]


def _short_scope(f: Finding) -> str:
    parts = [f"GPU {f.scope.device}"] if f.scope.device is not None else []
    parts += [f"process {f.scope.pid}"] if f.scope.pid is not None else []
    return " ".join(parts) or "the run"


def _folded(groups: tuple[Group, ...]) -> Items:
    rows = tuple(
        Item(
            (prose(g.lead.title), "(", Code(visible(g.lead.signature)), ")"),
            (("", (f"{WORDS[g.verdict]} on {g.where}; {cost(g.lead)}",)),),
        )
        for g in groups
    )
    return Items("follows from this cause", rows)


def _exhibit(exhibit: Exhibit, inputs: tuple[Input, ...], verbose: bool) -> Table:
    rows = exhibit.rows if verbose else exhibit.rows[:_ROWS]
    textual = all(r.line is not None for r in rows)
    left = len(exhibit.rows) - len(rows)
    note = f"{left} more with --verbose" if left else ""
    if textual:
        cells = tuple((_place(r, inputs), _what(r)) for r in rows)
        return Table(prose(exhibit.title), ("line", "text"), cells, "ll", note=note)
    devices = {r.device for r in rows} != {None}
    head = ("at (s)", "took", *(("GPU",) if devices else ()), "stream", "what")
    table = tuple(
        (
            numbers.moment(r.start_ns),
            numbers.duration(r.duration_ns),
            *(("" if r.device is None else str(r.device),) if devices else ()),
            "" if r.stream is None else str(r.stream),
            _what(r),
        )
        for r in rows
    )
    paths = {r.range_path for r in rows}
    shared = paths.pop() if len(rows) > 1 and len(paths) == 1 else ""
    under = tuple(_under(r, shared) for r in rows)
    note = "; ".join(x for x in (f"all in {clip(visible(shared), 200)}" if shared else "", note) if x)
    return Table(prose(exhibit.title), head, table, "rr" + "r" * devices + "rl", under, note)


def _what(row: ExhibitRow) -> Cell:
    if row.name:
        return Name(row.name) if row.line is None else clip(visible(row.name), 300)
    return Name(row.api_call) if row.api_call else prose(row.detail)


def _under(row: ExhibitRow, shared: str) -> Inline:
    out: list[Cell] = []
    if row.api_call and row.name:
        out += ["from", Name(row.api_call)]
    if row.detail and (row.name or row.api_call):
        out.append(clip(visible(row.detail), 300))
    if row.range_path and row.range_path != shared:
        out += ["in", Code(clip(visible(row.range_path), 200))]
    return tuple(out)


def _place(row: ExhibitRow, inputs: tuple[Input, ...]) -> Cell:
    path = inputs[row.input].path if row.input is not None and 0 <= row.input < len(inputs) else "line"
    return Code(f"{visible(path)}:{row.line}")


def _remedies(remedies: tuple[Remedy, ...], verbose: bool) -> Items:
    rows = []
    said = ""
    for r in remedies:
        under: list[tuple[str, Inline]] = []
        if r.applies:
            under.append(("applies to", (prose(r.applies),)))
        if r.verify and r.verify != said:
            under.append(("check", (prose(r.verify),)))
            said = r.verify
        if r.source or r.url:
            link = Link(prose(r.source), clip(visible(r.url), _HEAD), verbose or not r.source)
            under.append(("source", (link,)))
        rows.append(Item((prose(r.do),), tuple(under)))
    return Items("what to do, in order", tuple(rows), ordered=True)


def _doubts(f: Finding) -> tuple[Block, ...]:
    out: list[Block] = []
    if f.rule_outs:
        out.append(Items("look-alikes checked", tuple(_rule_out(r) for r in f.rule_outs)))
    if f.flips:
        out.append(Items("what would change this verdict", tuple(Item((prose(x),)) for x in f.flips)))
    if f.captures:
        rows = tuple(capture_item(c.missing, c.command, c.note) for c in f.captures)
        out.append(Items("what would add evidence", rows))
    if f.blind_spots:
        out.append(Prose(prose(f.blind_spots), label="cannot see"))
    return tuple(out)


def capture_item(missing: str, command: str, note: str) -> Item:
    under: list[tuple[str, Inline]] = [("run", (Command(clip(visible(command), _TEXT)),))]
    if note:
        under.append(("note", (prose(note),)))
    return Item((prose(missing),), tuple(under))


def _rule_out(r: RuleOut) -> Item:
    word = {None: "not checked: ", False: "does not apply: ", True: "holds: "}[r.holds]
    tail: list[str] = []
    if r.see:
        tail.append(f"see {visible(r.see)}")
    if r.holds is None and r.missing:
        tail.append(f"missing {visible(', '.join(r.missing))}")
    if r.holds is None and r.if_unknown == "cap":
        tail.append("so the verdict is at most probable")
    note = f" ({'; '.join(tail)})" if tail else ""
    # A look-alike that does not hold is named, not told: its sentence states the opposite of the fact.
    text = visible(r.id.replace("_", " ")) if r.holds is False else prose(r.says)
    return Item((word + text + note,), mark="unknown" if r.holds is None else "")
