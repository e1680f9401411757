"""Judges one signature on scopes: facts and a signature in, findings out. Pure, no input or output."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from diagnose.engine import explain
from diagnose.engine.compiled import Signature, impact_key, note_key, way_key
from diagnose.engine.decide import Context, Decision, decide, severity
from diagnose.engine.margin import margin
from diagnose.engine.program import Scalar, typed
from diagnose.engine.signature import RuleOutSpec, StepSpec
from diagnose.engine.wording import fill
from diagnose.findings import VERDICTS, Capture, Fact, Finding, Remedy, RuleOut, ScopeRef, Step

__all__ = ["CaptureFor", "Context", "evaluate", "evaluate_many"]

# From the tables (or `table.column`) that are missing to the commands that would collect them.
CaptureFor = Callable[[tuple[str, ...]], tuple[Capture, ...]]


def evaluate(
    signature: Signature,
    facts: Mapping[str, Fact],
    scope: ScopeRef,
    context: Context,
    *,
    capture_for: CaptureFor | None = None,
) -> Finding:
    """The finding for one scope, whatever its verdict. A fact that is not given counts as unknown.

    `facts` is keyed by the signature's own fact names. Exhibits are left to the caller.
    Raises TypeError when a fact is not of the type its metric declares.
    """
    return evaluate_many(signature, [(facts, scope, context)], capture_for=capture_for)[0]


def evaluate_many(
    signature: Signature,
    cases: Sequence[tuple[Mapping[str, Fact], ScopeRef, Context]],
    *,
    capture_for: CaptureFor | None = None,
) -> list[Finding]:
    """One finding for each (facts, scope, context), in order."""
    judged = [_Job(signature, facts, context) for facts, _, context in cases]
    for one, results in zip(judged, signature.program.run([j.inputs for j in judged]), strict=True):
        one.decided(results)
    if signature.file.notes:
        for one, results in zip(
            judged, signature.notes_program.run([j.note_inputs() for j in judged]), strict=True
        ):
            one.notes = results
    return [one.finding(scope, capture_for) for one, (_, scope, _) in zip(judged, cases, strict=True)]


class _Job:
    """One scope on its way from facts to a finding."""

    decision: Decision
    values: dict[str, Scalar]

    def __init__(self, signature: Signature, facts: Mapping[str, Fact], context: Context) -> None:
        self.signature = signature
        self.context = context
        self.facts = {name: _named(name, facts.get(name), signature) for name in signature.calls}
        self.inputs: dict[str, Scalar] = {n: f.value for n, f in self.facts.items()}
        self.inputs.update({n: t.value for n, t in signature.thresholds.items()})
        self.notes: dict[str, Scalar] = {}
        units = {n: c.unit for n, c in signature.calls.items()}
        self.shown = explain.Judged(signature, self.facts, self.inputs, units)

    def decided(self, results: Mapping[str, Scalar]) -> None:
        self.values = {**self.inputs, **results}
        self.shown.values = self.values
        self.decision = decide(self.signature, self.values, self.context)

    def note_inputs(self) -> dict[str, Scalar]:
        return {**self.values, **{word: word == self.decision.verdict for word in VERDICTS}}

    def says(self, template: str) -> str:
        return fill(template, self.inputs, self.shown.units)

    def finding(self, scope: ScopeRef, capture_for: CaptureFor | None) -> Finding:
        file, decision = self.signature.file, self.decision
        steps = {s.id: self.step(s) for s in file.steps}
        rule_outs = {r.id: self.rule_out(r) for r in file.rule_outs}
        missing = self.missing(rule_outs)
        found = decision.verdict in ("confirmed", "probable")
        window = self.context.window_ns
        lost = self.impact("lost_ns", window) if found else None
        return Finding(
            signature=self.signature.id,
            version=file.version,
            title=file.title,
            status=file.status,
            summary=self.says(file.summary),
            scope=scope,
            verdict=decision.verdict,
            severity=severity(file.impact.kind, decision.verdict, lost, window),
            reason=explain.reason(self.shown, decision, steps, rule_outs),
            variant=decision.variant,
            steps=tuple(steps.values()),
            rule_outs=tuple(rule_outs.values()),
            notes=self.note_texts(),
            captures=capture_for(missing) if capture_for and missing else (),
            missing=missing,
            remedies=self.remedies() if found else (),
            impact_kind=file.impact.kind,
            lost_ns=lost,
            lost_bytes=self.impact("lost_bytes", None) if found else None,
            window_ns=window,
            bound=self.says(file.impact.bound) if found else "",
            explains=file.explains,
            flips=explain.flips(self.shown, decision, steps, rule_outs),
            nearness=explain.nearness(list(steps.values())),
            blind_spots=file.blind_spots,
        )

    # -- parts -----------------------------------------------------------------------------------
    def step(self, spec: StepSpec) -> Step:
        signature = self.signature
        holds = _flag(self.values[spec.id])
        way = self.deciding_way(spec, holds)
        keys = [way_key(spec.id, way)] if way else explain.keys_of(signature, spec.id)
        names = dict.fromkeys(n for k in keys for n in signature.conditions[k].names)
        return Step(
            id=spec.id,
            role=spec.role,
            stage=spec.stage,
            holds=holds,
            says=self.says(spec.says),
            when=" OR ".join(signature.conditions[k].text for k in keys),
            facts=tuple(self.facts[n] for n in names if n in self.facts),
            thresholds=tuple(signature.thresholds[n] for n in names if n in signature.thresholds),
            margin=self.margin(keys, holds),
            way=way,
            missing=self.missing_of([spec.id]) if holds is None else (),
        )

    def deciding_way(self, spec: StepSpec, holds: bool | None) -> str:
        """The first way that made the step what it is; empty when it has none or is unknown."""
        for way in spec.ways:
            decides = holds is True or (holds is False and way.decisive)
            if decides and self.values[way_key(spec.id, way.id)] is holds:
                return way.id
        return ""

    def margin(self, keys: Sequence[str], holds: bool | None) -> float | None:
        known = [m for k in keys if (m := margin(self.signature.conditions[k].root, self.values)) is not None]
        if not known or holds is None:
            return None
        best = max(known)
        # When something other than a comparison decided, the comparisons say nothing about it.
        return best if (best >= 1) == holds or best == 1 else None

    def rule_out(self, spec: RuleOutSpec) -> RuleOut:
        holds = _flag(self.values[spec.id])
        names = self.signature.conditions[spec.id].names
        return RuleOut(
            id=spec.id,
            holds=holds,
            says=self.says(spec.says),
            when=spec.when,
            see=spec.see or "",
            if_unknown=spec.if_unknown,
            facts=tuple(self.facts[n] for n in names if n in self.facts),
            missing=self.missing_of([spec.id]) if holds is None else (),
        )

    def missing_of(self, ids: Sequence[str]) -> tuple[str, ...]:
        return explain.missing_of(self.shown, ids, self.context.tables_present)

    def missing(self, rule_outs: Mapping[str, RuleOut]) -> tuple[str, ...]:
        """What would have to be collected: to decide at all, or to lift what lowered the verdict."""
        decision = self.decision
        if decision.because == "no_table":
            return decision.ids
        if decision.because in ("gate_unknown", "verdict_unknown"):
            return self.missing_of(decision.ids)
        if decision.verdict == "cannot_tell":
            # The signature itself, or what lowered it, leaves it open: everything unknown would help.
            return self.missing_of([s.id for s in self.signature.file.steps if self.values[s.id] is None])
        if decision.because == "verdict" and decision.verdict in ("confirmed", "probable"):
            unchecked = [r.id for r in rule_outs.values() if r.holds is None]
            return self.missing_of(tuple(dict.fromkeys([*decision.cap_ids, *unchecked])))
        return ()

    def impact(self, key: str, limit: float | None) -> float | None:
        value = self.values.get(impact_key(key))
        if not isinstance(value, float):
            return None
        # Sums over streams can exceed the window; nothing can cost more than all of it.
        return max(0.0, value if limit is None else min(value, limit))

    def remedies(self) -> tuple[Remedy, ...]:
        return tuple(
            Remedy(
                do=self.says(r.do),
                verify=self.says(r.verify),
                applies=r.applies,
                source=r.source.title if r.source else "",
                url=r.source.url if r.source else "",
            )
            for r in self.signature.file.remedies
            if r.variant in ("", self.decision.variant)
        )

    def note_texts(self) -> tuple[str, ...]:
        specs = self.signature.file.notes
        return tuple(self.says(n.says) for i, n in enumerate(specs) if self.notes.get(note_key(i)) is True)


def _flag(value: Scalar) -> bool | None:
    return value if isinstance(value, bool) else None


def _named(name: str, fact: Fact | None, signature: Signature) -> Fact:
    """The fact under the signature's name for it, its value of the declared type or unknown."""
    call = signature.calls[name]
    if fact is None:
        return Fact(name, unit=call.unit, metric=call.metric, why_unknown="not measured")
    value = typed(name, call.kind, fact.value)
    why = fact.why_unknown or ("" if value is not None else "not measured")
    unit, metric = fact.unit or call.unit, fact.metric or call.metric
    return replace(fact, name=name, value=value, unit=unit, metric=metric, why_unknown=why)
