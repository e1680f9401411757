"""The load checks of one signature file, beyond its structure: names, types, metrics, templates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from diagnose.engine.compiled import (
    Call,
    MetricLike,
    Signature,
    impact_key,
    note_key,
    verdict_key,
    way_key,
)
from diagnose.engine.expression import Expression, ExpressionError, check, did_you_mean
from diagnose.engine.faults import Collector
from diagnose.engine.signature import ParamValue, SignatureFile
from diagnose.engine.tree import KIND_WORDS, Kind
from diagnose.engine.wording import fields, kind_accepts
from diagnose.findings import VERDICTS, Threshold
from diagnose.scope import COARSER

Loc = tuple[str | int, ...]
Metrics = Mapping[str, MetricLike]


@dataclass(frozen=True, slots=True)
class Registries:
    """What signatures may call. `exhibits` and `claims` None: their names are not checked."""

    metrics: Metrics
    exhibits: Metrics | None = None
    claims: Metrics | None = None


def validate(
    signature_id: str,
    file: SignatureFile,
    registries: Registries,
    overrides: Mapping[str, float],
    out: Collector,
) -> Signature | None:
    """The compiled signature, or None after adding every fault found to `out`."""
    before = len(out.faults)
    _unique_ids(file, out)
    calls = _facts(file, registries.metrics, out)
    exhibits, claims = _proofs(file, registries, out)
    kinds: dict[str, Kind] = {n: c.kind for n, c in calls.items()}
    kinds.update(dict.fromkeys(file.thresholds, "number"))
    conditions = _conditions(file, kinds, out)
    _templates(file, kinds, out)
    _cases(file, calls, out)
    if len(out.faults) > before:
        return None
    thresholds = {
        name: Threshold(name, float(overrides.get(name, spec.value)), spec.why, name in overrides)
        for name, spec in file.thresholds.items()
    }
    return Signature(signature_id, out.path, file, thresholds, calls, exhibits, claims, conditions)


def _unique_ids(file: SignatureFile, out: Collector) -> None:
    seen: dict[str, str] = dict.fromkeys(file.thresholds, "threshold")
    named: list[tuple[str, str, Loc]] = [(n, "fact", ("facts", n)) for n in file.facts]
    named += [(s.id, "step", ("step", i, "id")) for i, s in enumerate(file.steps)]
    named += [(r.id, "rule_out", ("rule_out", i, "id")) for i, r in enumerate(file.rule_outs)]
    for name, what, loc in named:
        if name in seen:
            out.add(loc, f"the id {name} is already used by a {seen[name]}", hint="every id is used once")
        seen.setdefault(name, what)
    for i, step in enumerate(file.steps):
        ways: set[str] = set()
        for j, way in enumerate(step.ways):
            if way.id in ways:
                out.add(("step", i, "way", j, "id"), f"the id {way.id} is already used by a way of this step")
            ways.add(way.id)
    cases: set[str] = set()
    for i, case in enumerate(file.cases):
        if case.name in cases:
            out.add(("case", i, "name"), f"the case name '{case.name}' is used twice")
        cases.add(case.name)


# -- metrics -------------------------------------------------------------------------------------
def _facts(file: SignatureFile, metrics: Metrics, out: Collector) -> dict[str, Call]:
    calls: dict[str, Call] = {}
    for name, spec in file.facts.items():
        loc: Loc = ("facts", name)
        metric = metrics.get(spec.metric)
        if metric is None:
            out.add(
                (*loc, "metric"), f"unknown metric {spec.metric}", hint=did_you_mean(spec.metric, metrics)
            )
            # Conditions over a fact whose type is not known would only add noise.
            calls[name] = Call(spec.metric, spec.params, kind="null")
            continue
        if not set(metric.grains) & set(COARSER[file.scope]):
            out.add(
                (*loc, "metric"),
                f"{spec.metric} is measured for {' or '.join(metric.grains)}, not for a {file.scope}",
                hint="change the scope of the signature or take another metric",
            )
        calls[name] = _call(spec.metric, spec.params, metric, file, loc, out)
    return calls


def _proofs(
    file: SignatureFile, registries: Registries, out: Collector
) -> tuple[tuple[Call, ...], Call | None]:
    exhibits: list[Call] = []
    for i, spec in enumerate(file.exhibits):
        exhibits.append(
            _proof("exhibit", spec.metric, spec.params, registries.exhibits, file, ("exhibit", i), out)
        )
    claims = file.impact.claims
    if claims is None:
        return tuple(exhibits), None
    loc: Loc = ("impact", "claims")
    return tuple(exhibits), _proof("claim", claims.metric, claims.params, registries.claims, file, loc, out)


def _proof(
    what: str,
    name: str,
    params: Mapping[str, ParamValue],
    known: Metrics | None,
    file: SignatureFile,
    loc: Loc,
    out: Collector,
) -> Call:
    if known is None:
        return Call(name, {k: _joined(v) for k, v in params.items()})
    metric = known.get(name)
    if metric is None:
        out.add((*loc, "metric"), f"unknown {what} {name}", hint=did_you_mean(name, known))
        return Call(name, params)
    return _call(name, params, metric, file, loc, out)


def _call(
    name: str,
    params: Mapping[str, ParamValue],
    metric: MetricLike,
    file: SignatureFile,
    loc: Loc,
    out: Collector,
) -> Call:
    for key in params:
        if key not in metric.params:
            out.add((*loc, key), f"{name} has no parameter {key}", hint=did_you_mean(key, metric.params))
    for key, param in metric.params.items():
        if key not in params:
            if param.required:
                out.add(loc, f"{name} needs the parameter {key}")
            continue
        value = _joined(params[key])
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if number != (param.type == "number") or isinstance(value, bool):
            wanted = "a number" if param.type == "number" else "text"
            out.add((*loc, key), f"the parameter {key} of {name} is {wanted}, not {value!r}")
        elif param.choices and value not in param.choices:
            hint = did_you_mean(str(value), param.choices) or f"one of {', '.join(param.choices[:12])}"
            out.add((*loc, key), f"the parameter {key} of {name} has no value '{value}'", hint=hint)
    needed = (*file.needs.any_of, *file.needs.helpful)
    for table in metric.reads:
        if table not in needed:
            out.add(
                (*loc, "metric"),
                f"{name} reads the table {table}, which is not in [needs]",
                hint=f'add "{table}" to any_of or helpful',
            )
    return Call(name, {k: _joined(v) for k, v in params.items()}, metric.unit, metric.kind, metric.reads)


def _joined(value: ParamValue) -> ParamValue:
    """Lists of words are handed over as one comma-separated text."""
    return ",".join(value) if isinstance(value, tuple) else value


# -- conditions ----------------------------------------------------------------------------------
def _conditions(file: SignatureFile, kinds: dict[str, Kind], out: Collector) -> dict[str, Expression]:
    done: dict[str, Expression] = {}
    names = dict(kinds)

    def add(key: str, text: str, loc: Loc, known: Mapping[str, Kind], want: Kind = "flag") -> None:
        try:
            done[key] = check(text, known, want=want)
        except ExpressionError as error:
            # A fact with an unknown metric has been reported already.
            if not any(kind == "null" and name in text for name, kind in known.items()):
                out.add(loc, error.message, hint=error.hint, mark=(text, error.column - 1, error.length))

    for i, step in enumerate(file.steps):
        if step.when is not None:
            add(step.id, step.when, ("step", i, "when"), names)
        for j, way in enumerate(step.ways):
            add(way_key(step.id, way.id), way.when, ("step", i, "way", j, "when"), names)
        # A step may build on the steps before it.
        names[step.id] = "flag"
    for i, rule_out in enumerate(file.rule_outs):
        add(rule_out.id, rule_out.when, ("rule_out", i, "when"), names)
    names.update(dict.fromkeys([r.id for r in file.rule_outs], "flag"))
    for i, verdict in enumerate(file.verdicts):
        add(verdict_key(i), verdict.when, ("verdict", i, "when"), names)
    words: dict[str, Kind] = {**names, **dict.fromkeys(VERDICTS, "flag")}
    for i, note in enumerate(file.notes):
        add(note_key(i), note.when, ("note", i, "when"), words)
    for key in ("lost_ns", "lost_bytes"):
        text = getattr(file.impact, key)
        if text is not None:
            add(impact_key(key), text, ("impact", key), kinds, "number")
    return done


# -- texts and cases -----------------------------------------------------------------------------
def _texts(file: SignatureFile) -> Iterator[tuple[Loc, str]]:
    yield ("summary",), file.summary
    yield ("impact", "bound"), file.impact.bound
    groups: Sequence[tuple[str, Sequence[object], tuple[str, ...]]] = (
        ("step", file.steps, ("says",)),
        ("rule_out", file.rule_outs, ("says",)),
        ("note", file.notes, ("says",)),
        ("remedy", file.remedies, ("do", "verify")),
    )
    for table, entries, keys in groups:
        for i, entry in enumerate(entries):
            for key in keys:
                yield (table, i, key), getattr(entry, key)


def _templates(file: SignatureFile, kinds: Mapping[str, Kind], out: Collector) -> None:
    for loc, template in _texts(file):
        try:
            used = fields(template)
        except ValueError as error:
            out.add(loc, str(error))
            continue
        for name, spec in used:
            if name not in kinds:
                out.add(loc, f"{{{name}}} is neither a fact nor a threshold", hint=did_you_mean(name, kinds))
            elif kinds[name] != "null" and not kind_accepts(kinds[name], spec):
                out.add(loc, f"{{{name}}} is {KIND_WORDS[kinds[name]]}: the format ':{spec}' needs a number")


def _cases(file: SignatureFile, calls: Mapping[str, Call], out: Collector) -> None:
    types: dict[Kind, tuple[type, ...]] = {"number": (int, float), "flag": (bool,), "text": (str,)}
    for i, case in enumerate(file.cases):
        for name, value in case.facts.items():
            loc: Loc = ("case", i, "facts", name)
            if name not in calls:
                out.add(loc, f"unknown fact {name}", hint=did_you_mean(name, calls))
            elif calls[name].kind != "null":
                kind = calls[name].kind
                if not isinstance(value, types[kind]) or (kind == "number" and isinstance(value, bool)):
                    out.add(loc, f"{name} is {KIND_WORDS[kind]}, not {value!r}")
    variants = {v.variant for v in file.verdicts}
    for i, remedy in enumerate(file.remedies):
        if remedy.variant and remedy.variant not in variants:
            out.add(("remedy", i, "variant"), f"no verdict has the variant '{remedy.variant}'")
    for i, case in enumerate(file.cases):
        if case.variant and case.variant not in variants:
            out.add(("case", i, "variant"), f"no verdict has the variant '{case.variant}'")
