"""The measuring half: which states the signatures need, the pass, and facts per scope instance."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from diagnose.case import Case, cut_samples
from diagnose.engine.compiled import Call, Signature
from diagnose.findings import Fact, ScopeRef
from diagnose.metrics import CLAIMS, EXHIBITS, METRICS
from diagnose.metrics.measurements import Measurements
from diagnose.metrics.registry import Metric
from diagnose.scope import COARSER, Grain, Scope
from diagnose.states.trace_pass import TracePass

Progress = Callable[[str, float, float], None]


def measure(case: Case, signatures: Iterable[Signature], progress: Progress | None = None) -> Measurements:
    """Runs the pass with every state that the signatures' facts, exhibits and claims ask for."""
    if case.export is None:
        return Measurements(None, case.facts, case.tables)
    trace = TracePass(case.export)
    Measurements.want_basics(trace)
    for signature in signatures:
        calls: list[tuple[dict[str, Metric], Call]] = [(METRICS, c) for c in signature.calls.values()]
        calls += [(EXHIBITS, c) for c in signature.exhibits]
        calls += [(CLAIMS, signature.claims)] if signature.claims else []
        for registry, call in calls:
            wants = registry[call.metric].wants
            if wants is not None:
                wants(trace, with_defaults(registry[call.metric], call))
    total = float(case.inputs[_trace_index(case)].bytes)
    done = 0.0

    def report(stream: str, rows: int) -> None:
        nonlocal done
        done += rows
        if progress is not None:
            progress(f"reading {stream.replace('_', ' ')}: {done:,.0f} rows", 0.0, total)

    trace.run(report)
    found = Measurements(trace, case.facts, case.tables)
    cut_samples(case, found.window)
    return found


def _trace_index(case: Case) -> int:
    return next(i for i, one in enumerate(case.inputs) if one.kind == "nsys_sqlite")


def with_defaults(metric: Metric, call: Call) -> dict[str, object]:
    """The call's parameters with the metric's defaults filled in."""
    given: dict[str, object] = {n: p.default for n, p in metric.params.items() if not p.required}
    given.update(call.params)
    return given


def grain_of(metric: Metric, wanted: Grain) -> Grain:
    """The finest grain of the metric that a signature of that scope may read."""
    return next(grain for grain in COARSER[wanted] if grain in metric.grains)


def instances(m: Measurements, grain: Grain) -> list[Scope]:
    """What a signature of that scope is judged on; one empty scope when nothing of the kind is known."""
    if grain == "run":
        return [Scope()]
    if grain == "device":
        found = [Scope(device=d) for d in m.devices_used]
    elif grain == "process":
        found = [Scope(pid=p) for p in m.pids]
    else:
        found = [Scope(d, p) for p, d in m.gpu_keys if p >= 0 and d >= 0]
    return found or [Scope()]


def facts_of(m: Measurements, signature: Signature, scope: Scope) -> dict[str, Fact]:
    """Every fact of the signature for one scope instance (coarser grains are broadcast)."""
    out = {}
    for name, call in signature.calls.items():
        metric = METRICS[call.metric]
        place = scope.at(grain_of(metric, signature.file.scope))
        key = ("fact", call.metric, place, tuple(sorted(call.params.items())))
        if key not in m.cache:
            m.cache[key] = metric.function(m, place, **call.params)
        out[name] = replace(m.cache[key], name=name, metric=shown_call(call))
    return out


def shown_call(call: Call) -> str:
    """The metric with the parameters given: `um_bytes(cause=prefetch, kind=htod)`."""
    given = ", ".join(f"{name}={value}" for name, value in sorted(call.params.items()))
    return f"{call.metric}({given})" if given else call.metric


def scope_ref(m: Measurements, grain: Grain, scope: Scope) -> ScopeRef:
    """The instance in words: device name and bus id, process name."""
    row = next((r for r in m.rows("trace_devices") if r["device"] == scope.device), None)
    process = next((r for r in m.rows("processes") if r["pid"] == scope.pid), None)
    return ScopeRef(
        grain,
        scope.device,
        str(row["name"]) if row and scope.device is not None else "",
        str(row["bus_id"] or "") if row and scope.device is not None else "",
        scope.pid,
        str(process["name"]) if process and scope.pid is not None else "",
    )
