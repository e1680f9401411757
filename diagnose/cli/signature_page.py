"""A signature as a page of text, in a reader's order: what, how seen, what else, what to do."""

from __future__ import annotations

import string
from collections.abc import Iterator

from diagnose.catalogue.captures import capture_for
from diagnose.cli import page, sample
from diagnose.cli.streams import clean
from diagnose.engine.compiled import Call, Signature
from diagnose.engine.signature import StepSpec

# The chain is told from what was noticed to why.
STAGES = ("symptom", "mechanism", "cause")
ROLES = {
    "gate": "must hold, or the answer is absent",
    "cause": "shows the cause",
    "effect": "shows the cost",
    "support": "supports, never decides",
    "context": "background",
}
SCOPES = {"process_device": "process on a device"}


def lines(signature: Signature, width: int | None) -> Iterator[str]:
    """The lines of the page, wrapped at `width` (None: not wrapped)."""
    file = signature.file
    scope = SCOPES.get(file.scope, file.scope)
    yield from page.paragraph(f"{signature.id}: {file.title}", width)
    yield from page.paragraph(f"version {file.version}, {file.status}; judged for each {scope}", width)
    yield ""
    yield from page.paragraph(file.summary, width)
    for title, section in (
        ("Evidence", _steps(signature, width)),
        ("Verdict", _verdicts(signature, width)),
        ("Thresholds (--set changes one)", _thresholds(signature, width)),
        ("Facts", _facts(signature, width)),
        ("Looks like it, but is not", _rule_outs(signature, width)),
        ("What to do, in this order", _remedies(signature, width)),
        ("How to capture", _captures(signature, width)),
        ("Cannot see", page.paragraph(file.blind_spots, width, "  ") if file.blind_spots else []),
        ("Accounts for", page.paragraph(", ".join(file.explains), width, "  ") if file.explains else []),
        ("Source document, and corrections", _source(signature, width)),
        ("Try it", _samples(signature)),
    ):
        body = list(section)
        if body:
            yield from ["", title, *body]


def said(template: str) -> str:
    """`{share:.1%} of kernel time` as `<share> of kernel time`: the page has no measured values."""
    parts = string.Formatter().parse(template)
    return "".join(text + (f"<{name}>" if name is not None else "") for text, name, _, _ in parts)


def _steps(signature: Signature, width: int | None) -> Iterator[str]:
    for step in sorted(signature.file.steps, key=lambda s: STAGES.index(s.stage)):
        yield from page.paragraph(f"{step.id}: {said(step.says)}", width, f"  {step.stage:<10} ", " " * 13)
        yield from page.paragraph(f"{ROLES[step.role]}{_identity(step)}", width, " " * 13)
        if step.when is not None:
            yield from page.paragraph(f"when {step.when}", width, " " * 13)
        for way in step.ways:
            decides = "" if way.decisive else " (can show it, cannot deny it)"
            yield from page.paragraph(f"{way.id}: when {way.when}{decides}", width, " " * 13)


def _identity(step: StepSpec) -> str:
    return "; if unknown it is taken as true and the verdict is at most probable" if step.identity else ""


def _verdicts(signature: Signature, width: int | None) -> Iterator[str]:
    for verdict in signature.file.verdicts:
        word = verdict.word.replace("_", " ") + (f" ({verdict.variant})" if verdict.variant else "")
        yield from page.paragraph(f"{word} when {verdict.when}", width, "  ", "    ")
    yield from page.paragraph(
        "the first that is true counts; cannot tell when one of them is unknown, else absent", width, "  "
    )


def _thresholds(signature: Signature, width: int | None) -> Iterator[str]:
    rows = [
        (t.name, f"{t.value:.15g}" + (" (replaced)" if t.overridden else ""), t.why)
        for t in signature.thresholds.values()
    ]
    if rows:
        for line in page.table(("name", "value", "why"), rows, width and width - 2):
            yield f"  {line}"


def _facts(signature: Signature, width: int | None) -> Iterator[str]:
    rows = [(name, call.unit, _call(call)) for name, call in signature.calls.items()]
    for line in page.table(("name", "unit", "measured by"), rows, width and width - 2):
        yield f"  {line}"


def _call(call: Call) -> str:
    parts = (f"{k}={' '.join(v) if isinstance(v, tuple) else v}" for k, v in call.params.items())
    return f"{call.metric}({', '.join(parts)})"


def _rule_outs(signature: Signature, width: int | None) -> Iterator[str]:
    for rule_out in signature.file.rule_outs:
        see = f" (see {rule_out.see})" if rule_out.see else ""
        yield from page.paragraph(f"{rule_out.id}: {said(rule_out.says)}{see}", width, "  ", "    ")
        yield from page.paragraph(f"when {rule_out.when}", width, "    ")
        if rule_out.if_unknown == "cap":
            yield from page.paragraph(
                "if it cannot be checked the verdict is at most probable", width, "    "
            )


def _remedies(signature: Signature, width: int | None) -> Iterator[str]:
    for n, remedy in enumerate(signature.file.remedies, start=1):
        only = f" [{remedy.variant}]" if remedy.variant else ""
        yield from page.paragraph(f"{remedy.do}{only}", width, f"  {n}. ", "     ")
        if remedy.applies:
            yield from page.paragraph(f"applies to {remedy.applies}", width, "     ")
        if remedy.verify:
            yield from page.paragraph(f"verify: {remedy.verify}", width, "     ")
        if remedy.source:
            yield from page.paragraph(f"{remedy.source.title}: {remedy.source.url}", width, "     ")


def _captures(signature: Signature, width: int | None) -> Iterator[str]:
    tables: dict[str, tuple[list[str], str]] = {}
    for table in (*signature.file.needs.any_of, *signature.file.needs.helpful):
        capture = capture_for(table)
        if capture is not None:
            tables.setdefault(capture.command, ([], capture.note))[0].append(table)
    for command, (names, note) in tables.items():
        need = "needed" if set(names) & set(signature.file.needs.any_of) else "helpful"
        yield from page.paragraph(f"{', '.join(names)} ({need})", width, "  ")
        yield f"    {clean(command)}"  # never wrapped: it is to be copied
        if note:
            yield from page.paragraph(note, width, "    ")


def _source(signature: Signature, width: int | None) -> Iterator[str]:
    source = signature.file.source
    if source is None:
        return
    yield from page.paragraph(source.documented, width, "  ")
    for correction in source.corrections:
        yield from page.paragraph(correction, width, "  - ", "    ")


def _samples(signature: Signature) -> Iterator[str]:
    for name in sample.shipped():
        if name.split("/")[0] == signature.id:
            yield f"  diagnose sample {name}"
