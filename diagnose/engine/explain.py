"""Why a finding has its verdict, what would flip it, and how near it is: texts and one number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from diagnose.engine.compiled import Signature, way_key
from diagnose.engine.decide import Decision
from diagnose.engine.margin import Compared, compared
from diagnose.engine.program import Scalar
from diagnose.engine.wording import show
from diagnose.findings import Fact, RuleOut, Step

_ASKED = {
    ">=": "at least ",
    ">": "more than ",
    "<=": "at most ",
    "<": "less than ",
    "=": "",
    "<>": "other than ",
}
_DECIDING = ("gate", "cause", "effect")


@dataclass(slots=True)
class Judged:
    """A signature on one scope: facts by name, every value by name (facts, thresholds, steps), units."""

    signature: Signature
    facts: Mapping[str, Fact]
    values: Mapping[str, Scalar]
    units: Mapping[str, str]


def reason(
    judged: Judged, decision: Decision, steps: Mapping[str, Step], rule_outs: Mapping[str, RuleOut]
) -> str:
    """Why the verdict is what it is: one sentence, without a full stop."""
    match decision.because:
        case "no_table":
            return f"nothing to look at: the case holds no {' or '.join(decision.ids)}"
        case "rule_out":
            hit = rule_outs[decision.ids[0]]
            return hit.says + (f" (see {hit.see})" if hit.see else "")
        case "gate_false":
            return f"{decision.ids[0]} does not hold: {_measured(judged, decision.ids[0], holds=False)}"
        case "gate_unknown" | "verdict_unknown":
            return f"cannot be decided: {unknown_words(judged, decision.ids)}"
        case "nothing_holds":
            failed = [s.id for s in steps.values() if s.role in ("cause", "effect") and s.holds is False]
            if not failed:
                return "no combination of steps that would be a finding holds"
            return f"{failed[0]} does not hold: {_measured(judged, failed[0], holds=False)}"
    counted = [s for s in steps.values() if s.role in _DECIDING]
    holding = sum(s.holds is True for s in counted)
    text = f"{holding} of {len(counted)} gate, cause and effect steps hold"
    return text + (f"; lowered because {' and '.join(decision.caps)}" if decision.caps else "")


def flips(
    judged: Judged, decision: Decision, steps: Mapping[str, Step], rule_outs: Mapping[str, RuleOut]
) -> tuple[str, ...]:
    """What would change the verdict, one line each, the nearest first."""
    match decision.because:
        case "no_table":
            return (f"one of these tables would allow a judgement: {', '.join(decision.ids)}",)
        case "rule_out":
            holds = [(i, _measured(judged, i, holds=True)) for i in decision.ids]
            return tuple(f"ruled out only while {i} holds: {text}" for i, text in holds)
        case "gate_false":
            return tuple(f"{i}: {_measured(judged, i, holds=False)}" for i in decision.ids)
        case "nothing_holds":
            failed = [s for s in steps.values() if s.holds is False and s.role in _DECIDING]
            failed.sort(key=lambda s: -(s.margin or 0.0))
            return tuple(f"{s.id}: {_measured(judged, s.id, holds=False)}" for s in failed)
        case "gate_unknown" | "verdict_unknown":
            return tuple(unknown_facts(judged, decision.ids))
    return _flips_of_a_finding(judged, steps, rule_outs)


def _flips_of_a_finding(
    judged: Judged, steps: Mapping[str, Step], rule_outs: Mapping[str, RuleOut]
) -> tuple[str, ...]:
    holding = [s for s in steps.values() if s.role in _DECIDING and s.holds is True]
    tight = sorted((s.margin, s.id) for s in holding if s.margin is not None)[:2]
    unchecked = [s.id for s in steps.values() if s.holds is None and s.role in _DECIDING]
    looks = [r.id for r in rule_outs.values() if r.holds is None]
    return (
        *(f"{i} holds by a factor of {m:.3g}: {_measured(judged, i, holds=True)}" for m, i in tight),
        *(f"{i} was not checked: {unknown_words(judged, [i])}" for i in unchecked),
        *(f"the look-alike {i} was not checked: {unknown_words(judged, [i])}" for i in looks),
    )


def nearness(steps: Sequence[Step]) -> float:
    """0 to 1: the mean over gates, causes and effects of 1 where one holds, else measured ÷ asked."""
    counted = [s for s in steps if s.role in _DECIDING]
    if not counted:
        return 0.0
    # A step that does not hold never counts as a whole one, however near it is.
    scores = [1.0 if s.holds else min(s.margin or 0.0, 0.99) if s.holds is False else 0.0 for s in counted]
    return sum(scores) / len(scores)


# -- conditions and their facts ------------------------------------------------------------------
def keys_of(signature: Signature, step_or_key: str) -> list[str]:
    """Condition keys of a step (its ways, when it has them), a rule-out or a verdict."""
    for step in signature.file.steps:
        if step.id == step_or_key and step.ways:
            return [way_key(step.id, w.id) for w in step.ways]
    return [step_or_key]


def facts_of(signature: Signature, ids: Sequence[str]) -> list[str]:
    """Facts that the conditions read, also through the steps they name, in order of use."""
    out: dict[str, None] = {}
    seen: set[str] = set()
    todo = [k for i in ids for k in keys_of(signature, i)]
    while todo:
        key = todo.pop(0)
        if key in seen:
            continue
        seen.add(key)
        for name in signature.conditions[key].names:
            if name in signature.calls:
                out[name] = None
            elif name not in signature.thresholds:
                todo += keys_of(signature, name)
    return list(out)


def unknown_facts(judged: Judged, ids: Sequence[str]) -> list[str]:
    """`followed is unknown (no kernel table)` for every unknown fact behind the conditions."""
    out = []
    for name in facts_of(judged.signature, ids):
        fact = judged.facts[name]
        if fact.value is None:
            needs = f"needs {', '.join(fact.missing)}" if fact.missing else "not measured"
            out.append(f"{name} is unknown ({fact.why_unknown or needs})")
    return out


def unknown_words(judged: Judged, ids: Sequence[str]) -> str:
    """The first unknown facts in one line."""
    unknown = unknown_facts(judged, ids)
    more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
    return "; ".join(unknown[:3]) + more if unknown else "a value is unknown"


def missing_of(judged: Judged, ids: Sequence[str], present: frozenset[str]) -> tuple[str, ...]:
    """Tables behind the unknown facts of the conditions: as the fact says, else those not present."""
    out: dict[str, None] = {}
    for name in facts_of(judged.signature, ids):
        fact = judged.facts[name]
        if fact.value is None:
            reads = judged.signature.calls[name].reads
            out.update(dict.fromkeys(fact.missing or [t for t in reads if t not in present]))
    return tuple(out)


def _measured(judged: Judged, step: str, *, holds: bool) -> str:
    """`gemm_share is 2.0%, asked at least 5.0%` for the comparisons that came out as `holds`."""
    told: dict[str, None] = {}
    for key in keys_of(judged.signature, step):
        for one in compared(judged.signature.conditions[key].root, judged.values):
            if one.holds is holds:
                told[_words(one, judged.units)] = None
    return "; ".join(told) if told else f"the condition is {'true' if holds else 'false'}"


def _words(one: Compared, units: Mapping[str, str]) -> str:
    unit = units.get(one.name, "")
    asked = one.asked if one.limit is None or one.asked in ("yes", "no") else show(one.limit, unit)
    return f"{one.measured} is {show(one.value, unit)}, asked {_ASKED[one.op]}{asked}"
