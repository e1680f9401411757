"""From evaluated conditions to a verdict word. Three-valued values in, one decision out.

The order, first that applies:
no table of `any_of` → cannot_tell; a rule-out true → ruled_out; a gate false → absent; a gate unknown
→ cannot_tell (a gate about identity counts as true and caps instead); the first verdict condition
that is true → its word; any verdict condition unknown → cannot_tell; else absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from diagnose.engine.compiled import Signature, verdict_key
from diagnose.engine.program import Scalar
from diagnose.engine.signature import VerdictSpec
from diagnose.findings import Severity, Verdict

OVERHEAD_LIMIT = 0.15  # judgement: above this the profiler itself distorts what it measures
Because = Literal[
    "no_table",
    "rule_out",
    "gate_false",
    "gate_unknown",
    "verdict",
    "verdict_unknown",
    "nothing_holds",
    "lowered",
]
_LOWER: dict[Verdict, Verdict] = {"confirmed": "probable", "probable": "cannot_tell"}


@dataclass(frozen=True, slots=True)
class Context:
    """What limits the conclusions about one scope, apart from its facts.

    `tables_present`: tables the case has. `short_window`: W < 1 s or fewer than 50 kernels.
    `window_ns`: the scope's W. `overhead_ratio`: profiler overhead over W, None when not known.
    `capped_reasons`: further reasons found by the caller; each lowers the verdict one level.
    """

    tables_present: frozenset[str]
    short_window: bool = False
    capped_reasons: tuple[str, ...] = ()
    window_ns: float | None = None
    overhead_ratio: float | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """`ids` are the steps, rule-outs or verdict keys that decided; `caps` says what lowered the word."""

    verdict: Verdict
    because: Because
    ids: tuple[str, ...] = ()
    variant: str = ""
    caps: tuple[str, ...] = ()
    cap_ids: tuple[str, ...] = ()


def decide(signature: Signature, values: Mapping[str, Scalar], context: Context) -> Decision:
    """The decision for one scope; `values` holds every result of the signature's program."""
    file = signature.file
    if not context.tables_present & set(file.needs.any_of):
        return Decision("cannot_tell", "no_table", file.needs.any_of)
    if hit := tuple(r.id for r in file.rule_outs if values[r.id] is True):
        return Decision("ruled_out", "rule_out", hit)
    gates = [s for s in file.steps if s.role == "gate"]
    if failed := tuple(s.id for s in gates if values[s.id] is False):
        return Decision("absent", "gate_false", failed)
    if unknown := tuple(s.id for s in gates if values[s.id] is None and not s.identity):
        return Decision("cannot_tell", "gate_unknown", unknown)
    for i, verdict in enumerate(file.verdicts):
        if values[verdict_key(i)] is True:
            return _capped(signature, values, context, verdict, verdict_key(i))
    keys = [verdict_key(i) for i in range(len(file.verdicts))]
    if unknown := tuple(k for k in keys if values[k] is None):
        return Decision("cannot_tell", "verdict_unknown", unknown)
    return Decision("absent", "nothing_holds", tuple(keys))


def _capped(
    signature: Signature, values: Mapping[str, Scalar], context: Context, spec: VerdictSpec, key: str
) -> Decision:
    """Lower the word: profiler overhead and the caller's reasons by one level each, and never
    above probable for a short window, an unknown identity or an unchecked look-alike."""
    word, variant = spec.word, spec.variant
    if word not in _LOWER:
        return Decision(word, "verdict", (key,), variant)
    file = signature.file
    lowering = list(context.capped_reasons)
    if context.overhead_ratio is not None and context.overhead_ratio >= OVERHEAD_LIMIT:
        lowering.insert(0, f"profiler overhead takes {context.overhead_ratio:.0%} of the window")
    limiting: list[str] = []
    ids: list[str] = []
    if file.length_gate and context.short_window:
        limiting.append("the window is short")
    for step in file.steps:
        if step.identity and values[step.id] is None:
            limiting.append(f"{step.id} could not be checked")
            ids.append(step.id)
    for rule_out in file.rule_outs:
        if rule_out.if_unknown == "cap" and values[rule_out.id] is None:
            limiting.append(f"the look-alike {rule_out.id} could not be checked")
            ids.append(rule_out.id)
    lowered: Verdict = word
    for _ in lowering:
        lowered = _LOWER.get(lowered, lowered)
    if lowered == "confirmed" and limiting:
        lowered = "probable"
    caps = tuple(lowering) + (tuple(limiting) if word == "confirmed" else ())
    because: Because = "lowered" if lowered == "cannot_tell" else "verdict"
    return Decision(lowered, because, (key,), variant, caps, tuple(ids))


def severity(kind: str, verdict: Verdict, lost_ns: float | None, window_ns: float | None) -> Severity:
    """From lost/window: 30 % critical, 10 % high, 3 % medium, else low; a lost run is critical.

    Findings that cost something other than time have a floor, so that they reach the usual bar:
    wrong results high (probable: medium), memory medium (probable: low), a lost run that is only
    probable high. A cost that could not be measured is not a low cost: confirmed is then medium.
    Verdicts other than confirmed and probable are info.
    """
    if verdict not in ("confirmed", "probable"):
        return "info"
    share = lost_ns / window_ns if lost_ns is not None and window_ns else 0.0
    order: tuple[Severity, ...] = ("critical", "high", "medium", "low")
    measured = order[sum(share < limit for limit in (0.30, 0.10, 0.03))]
    floors: dict[str, tuple[Severity, Severity]] = {
        "run_lost": ("critical", "high"),
        "wrong_results": ("high", "medium"),
        "memory": ("medium", "low"),
    }
    unmeasured: tuple[Severity, Severity] = ("medium", "low") if lost_ns is None else ("low", "low")
    floor = floors.get(kind, unmeasured)[verdict == "probable"]
    return order[min(order.index(measured), order.index(floor))]
