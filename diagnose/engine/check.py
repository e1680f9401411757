"""The lint behind `diagnose check`: do a signature's own cases prove its logic?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from diagnose.engine.compiled import Signature, way_key
from diagnose.engine.decide import Context
from diagnose.engine.evaluate import evaluate_many
from diagnose.engine.faults import Fault, place_words
from diagnose.engine.locate import Positions
from diagnose.engine.program import Scalar
from diagnose.engine.wording import fields
from diagnose.findings import Fact, Finding, ScopeRef

_WINDOW_NS = 60e9  # the cases are about logic: any window will do


@dataclass(frozen=True, slots=True)
class CaseResult:
    """How one inline case came out. `ok`: verdict and variant are as expected."""

    name: str
    ok: bool
    finding: Finding


def run_cases(signature: Signature) -> list[CaseResult]:
    """Every inline case judged, in file order."""
    file = signature.file
    if not file.cases:
        return []
    tables = frozenset((*file.needs.any_of, *file.needs.helpful))
    jobs = []
    for case in file.cases:
        facts = {n: Fact(n, v) for n, v in case.facts.items()}
        present = tables if case.tables is None else frozenset(case.tables)
        context = Context(present, short_window=case.short_window, window_ns=_WINDOW_NS)
        jobs.append((facts, ScopeRef(file.scope), context))
    return [
        CaseResult(c.name, f.verdict == c.expect and (not c.variant or f.variant == c.variant), f)
        for c, f in zip(file.cases, evaluate_many(signature, jobs), strict=True)
    ]


def check(signatures: Iterable[Signature]) -> list[Fault]:
    """Problems with file and line; empty when every case holds and the cases cover the logic.

    Demanded: each case gives its verdict; every step, way and rule-out is seen holding in one case
    and not holding in another; every verdict (with its variant) is reached; nothing is unused.
    """
    out: list[Fault] = []
    for signature in signatures:
        out += _Lint(signature).run()
    return sorted(out, key=lambda f: (str(f.path), f.line))


class _Lint:
    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self.file = signature.file
        self.positions = Positions(signature.path.read_text(encoding="utf-8"))
        self.data = self.file.model_dump(by_alias=True)
        self.out: list[Fault] = []

    def run(self) -> list[Fault]:
        results = run_cases(self.signature)
        if not results:
            self.add((), "no [[case]]: the logic is not proven")
        for i, (case, result) in enumerate(zip(self.file.cases, results, strict=True)):
            if not result.ok:
                wanted = _verdict(case.expect, case.variant)
                got = _verdict(result.finding.verdict, result.finding.variant)
                self.add(("case", i), f"expected {wanted}, got {got}: {result.finding.reason}")
        if results:
            self.seen_both_ways()
            self.verdicts_reached(results)
        self.unused()
        return self.out

    def add(self, loc: tuple[str | int, ...], message: str, hint: str = "") -> None:
        place = place_words(loc, self.data)
        line = self.positions.line(loc)
        self.out.append(Fault(message, path=self.signature.path, line=line, place=place, hint=hint))

    def seen_both_ways(self) -> None:
        values = _outcomes(self.signature)
        watched: list[tuple[tuple[str | int, ...], str, str]] = []
        for i, step in enumerate(self.file.steps):
            can_fail = not step.ways or any(w.decisive for w in step.ways)
            watched.append((("step", i), step.id, "both" if can_fail else "holding"))
            watched += [
                (("step", i, "way", j), way_key(step.id, w.id), "both") for j, w in enumerate(step.ways)
            ]
        watched += [(("rule_out", i), r.id, "both") for i, r in enumerate(self.file.rule_outs)]
        for loc, key, demand in watched:
            seen = {v[key] for v in values}
            if True not in seen:
                self.add(loc, "is never seen holding in a case")
            if False not in seen and demand == "both":
                self.add(loc, "is never seen not holding in a case")

    def verdicts_reached(self, results: list[CaseResult]) -> None:
        reached = {
            (c.expect, r.finding.variant) for c, r in zip(self.file.cases, results, strict=True) if r.ok
        }
        for i, verdict in enumerate(self.file.verdicts):
            if (verdict.word, verdict.variant) not in reached:
                variant = f" with the variant '{verdict.variant}'" if verdict.variant else ""
                self.add(("verdict", i), f"no case reaches {verdict.word}{variant}")

    def unused(self) -> None:
        used = {n for e in self.signature.conditions.values() for n in e.names}
        used |= {n for text in _texts(self.file.model_dump()) for n in _fields(text)}
        for name in self.file.facts:
            if name not in used:
                self.add(("facts", name), "is not used by any condition or text")
        for name in self.file.thresholds:
            if name not in used:
                self.add(("thresholds", name), "is not used by any condition or text")


def _outcomes(signature: Signature) -> list[dict[str, Scalar]]:
    """Values of every step, way and rule-out, a case each."""
    limits: dict[str, Scalar] = {n: t.value for n, t in signature.thresholds.items()}
    return signature.program.run([{**c.facts, **limits} for c in signature.file.cases])


def _verdict(word: str, variant: str) -> str:
    return f"{word} ({variant})" if variant else word


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def _fields(template: str) -> list[str]:
    try:
        return [name for name, _ in fields(template)]
    except ValueError:
        # A text that is no template, such as `why`: load has checked those that are.
        return []
