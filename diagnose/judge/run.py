"""The main job: judge one case with every loaded signature and rank what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from diagnose import __version__
from diagnose.artifacts import nsys_facts
from diagnose.case import TRACE_KIND, Case, collect
from diagnose.catalogue.captures import capture_for
from diagnose.engine.compiled import Signature, SignatureSet
from diagnose.engine.evaluate import Context, evaluate_many
from diagnose.engine.rank import nearest_miss, rank
from diagnose.findings import Capture, Device, Exhibit, ExhibitRow, Fact, Finding, Report, TraceInfo
from diagnose.judge.breakdown import breakdown
from diagnose.judge.coverage import CONTAMINATED, coverage, overhead_share, short_window
from diagnose.judge.locate import locate
from diagnose.judge.measure import Progress, facts_of, grain_of, instances, measure, scope_ref
from diagnose.judge.options import JudgeOptions, load_signatures
from diagnose.metrics import CLAIMS, EXHIBITS
from diagnose.metrics.measurements import Measurements
from diagnose.scope import Scope

# Tables of which one row decides nothing but who is there.
IDENTITY_ONLY = frozenset({"devices"})


def judge(
    paths: Sequence[Path], options: JudgeOptions | None = None, progress: Progress | None = None
) -> Report:
    """Reads the paths as one case and judges it.

    Raises InputError when nothing can be read, SignatureErrors when a signature file is at fault.
    """
    options = options or JudgeOptions()
    signatures = load_signatures(options)
    case = collect(paths, hash_inputs=options.hash_inputs)
    try:
        m = measure(case, signatures, progress)
        return _report(case, m, signatures)
    finally:
        case.close()


def facts(paths: Sequence[Path], options: JudgeOptions | None = None) -> list[tuple[str, Fact]]:
    """(signature and scope in words, fact) for every fact of every signature and scope instance."""
    options = options or JudgeOptions()
    signatures = load_signatures(options)
    case = collect(paths, hash_inputs=False)
    try:
        m = measure(case, signatures)
        out = []
        for signature in signatures:
            for scope in instances(m, signature.file.scope):
                where = scope_ref(m, signature.file.scope, scope).label
                out += [(f"{signature.id}, {where}", f) for f in facts_of(m, signature, scope).values()]
        return out
    finally:
        case.close()


def tables_present(m: Measurements) -> frozenset[str]:
    """Names that `[needs]` may list and that hold something in this case."""
    present = {name for name, rows in m.tables.items() if rows}
    if m.rows("trace_devices"):
        present.add("devices")
    if any(row["origin"] == "process_output" for row in m.rows("text_seen")):
        present.add("process_output")
    if any(row["origin"] == "log" for row in m.rows("text_seen")):
        present.add("text_lines")
    if m.trace is not None:
        present |= {stream for stream, rows in m.trace.rows.items() if rows}
        if m.trace.rows.get("graph_launches"):
            present |= {"kernels", "copies"}  # hidden, but there: the metrics say what is unknown
    return frozenset(present)


def _report(case: Case, m: Measurements, signatures: SignatureSet) -> Report:
    context = _context(case, m)
    findings: list[Finding] = []
    claims: dict[int, Any] = {}
    for signature in signatures:
        grain = signature.file.scope
        scopes = instances(m, grain)
        cases = [(facts_of(m, signature, s), scope_ref(m, grain, s), context) for s in scopes]
        judged = evaluate_many(signature, cases, capture_for=_captures)
        for scope, finding in zip(scopes, judged, strict=True):
            finding = _known_references(finding, signatures)
            if finding.is_finding:
                finding = replace(finding, exhibits=_exhibits(m, signature, scope))
                claims[len(findings)] = _claims(m, signature, scope)
            findings.append(finding)
    ranked = [_located(case, m, f) for f in rank(findings, claims)]
    case.finish_hashes()
    if m.trace is not None:
        index = next(i for i, one in enumerate(case.inputs) if one.kind == TRACE_KIND)
        case.set_rows(index, sum(m.trace.rows.values()), m.trace.export.problems)
    return Report(
        tool_version=__version__,
        inputs=tuple(case.inputs),
        trace=_trace_info(case, m),
        findings=tuple(ranked),
        coverage=tuple(coverage(case, m)),
        breakdown=tuple(breakdown(m)),
        nearest_miss=nearest_miss(ranked),
        judged=any(_decided(f) for f in ranked),
    )


def _known_references(finding: Finding, signatures: SignatureSet) -> Finding:
    """Points only to signatures that are loaded: a reader must be able to ask for them."""
    known = tuple(
        r if not r.see or r.see in signatures.by_id else replace(r, see="") for r in finding.rule_outs
    )
    return replace(finding, rule_outs=known)


def _captures(missing: tuple[str, ...]) -> tuple[Capture, ...]:
    """The commands for what is missing, each once."""
    found = [capture_for(name) for name in missing]
    return tuple({c.command: c for c in found if c is not None}.values())


def _decided(finding: Finding) -> bool:
    """The verdict rests on something measured, not on identity alone."""
    if finding.verdict == "cannot_tell":
        return False
    facts_used = [f for s in finding.steps for f in s.facts] + [f for r in finding.rule_outs for f in r.facts]
    known = [f for f in facts_used if f.value is not None]
    return any(
        not f.metric.startswith(("compute_capability", "device_", "driver_", "memory_total")) for f in known
    )


def _context(case: Case, m: Measurements) -> Context:
    reasons = []
    if m.trace is not None:
        share = overhead_share(m.trace.export, m.window)
        if share is not None and share >= CONTAMINATED:
            reasons.append(f"the profiler's own work takes {share:.0%} of the window")
    del case
    return Context(
        tables_present=tables_present(m),
        short_window=short_window(m),
        capped_reasons=tuple(reasons),
        window_ns=float(m.window_ns) if m.window else None,
    )


def _exhibits(m: Measurements, signature: Signature, scope: Scope) -> tuple[Exhibit, ...]:
    out = []
    for call, spec in zip(signature.exhibits, signature.file.exhibits, strict=True):
        place = scope.at(grain_of(EXHIBITS[call.metric], signature.file.scope))
        if m.trace is None and "text_lines" not in EXHIBITS[call.metric].reads:
            continue
        rows = EXHIBITS[call.metric].function(m, place, spec.limit, **call.params)
        if rows:
            out.append(Exhibit(spec.title or _title(call.metric, call.params), tuple(rows)))
    return tuple(out)


def _title(metric: str, params: Any) -> str:
    words = {
        "pair_sites": "longest {then} after {first}",
        "top_copies": "longest copies ({kind})",
        "top_api_calls": "longest calls ({group})",
        "top_kernels": "longest kernels ({family})",
        "um_moves": "longest moves of managed memory ({cause})",
        "pool_timeline": "pool over time",
        "text_lines": "lines ({pattern})",
    }
    return words.get(metric, metric).format(**{"kind": "htod", "cause": "any", **params})


def _claims(m: Measurements, signature: Signature, scope: Scope) -> list[tuple[int, Any, Any]]:
    call = signature.claims
    if call is None or m.trace is None:
        return []
    found = CLAIMS[call.metric].function(m, scope, **call.params)
    return [(device, part.starts, part.ends) for device, part in found]


def _located(case: Case, m: Measurements, finding: Finding) -> Finding:
    """Adds the API call and the NVTX path to the exhibits, re-reading only what they need."""
    if case.export is None or not finding.exhibits:
        return finding
    rows: list[ExhibitRow] = [row for exhibit in finding.exhibits for row in exhibit.rows]
    known = iter(locate(case.export, rows))
    exhibits = tuple(Exhibit(e.title, tuple(next(known) for _ in e.rows)) for e in finding.exhibits)
    del m
    return replace(finding, exhibits=exhibits)


def _trace_info(case: Case, m: Measurements) -> TraceInfo | None:
    if m.trace is None:
        return None
    start = m.window[0] if m.window else None
    moment = nsys_facts.moment_of(case.facts, start) if start is not None else None
    local = ""
    if moment is not None and case.facts.utc_offset_s is not None:
        from datetime import timedelta, timezone

        zone = timezone(timedelta(seconds=case.facts.utc_offset_s))
        local = moment.astimezone(zone).isoformat(timespec="milliseconds")
    devices = [
        Device(
            row["device"],
            str(row["name"]),
            str(row["bus_id"] or ""),
            str(row["cc"] or ""),
            row["memory_bytes"],
            row["sm_count"],
            row["device"] in m.devices_used,
        )
        for row in m.rows("trace_devices")
    ]
    named = {d.device for d in devices}
    devices += [Device(d, "", used=True) for d in m.devices_used if d not in named]
    return TraceInfo(
        product=f"Nsight Systems {case.facts.product}" if case.facts.product else "",
        schema_version=case.facts.schema_version,
        window_start_ns=start,
        window_end_ns=m.window[1] if m.window else None,
        devices=tuple(devices),
        driver=case.facts.driver,
        cuda_driver=case.facts.cuda_driver,
        start_utc=moment.isoformat(timespec="milliseconds") if moment else "",
        start_local=local,
        kernels=m.trace.rows.get("kernels") or None,
    )
