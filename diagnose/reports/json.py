"""The report for programs: `diagnose.report/1`, whose contract is `schema/report-1.json`.

Changes only add. Names are whole and exact (JSON escapes what could act), unknown is null.
Findings keep their rank order; everything else keeps the order of the case and of the signature files.
"""

from __future__ import annotations

import json
import math
import re
from importlib.resources import files
from typing import Any

from diagnose.findings import (
    VERDICTS,
    Capture,
    Device,
    Exhibit,
    ExhibitRow,
    Fact,
    Finding,
    Remedy,
    Report,
    RuleOut,
    ScopeRef,
    Step,
    TimeShare,
    TraceInfo,
)
from diagnose.reports import RenderOptions

SCHEMA = "diagnose.report/1"
_LONE = re.compile("[\ud800-\udfff]")
Object = dict[str, Any]


def render(report: Report, options: RenderOptions) -> str:  # noqa: ARG001 - one shape for every option
    """The report as ASCII-only JSON with a final newline."""
    return json.dumps(as_object(report), ensure_ascii=True, allow_nan=False, indent=2) + "\n"


def report_schema() -> Object:
    """The published JSON Schema (draft 2020-12) of `diagnose.report/1`."""
    text = files("diagnose.reports").joinpath("schema", "report-1.json").read_text(encoding="utf-8")
    schema: Object = json.loads(text)
    return schema


def as_object(report: Report) -> Object:
    """The report as plain dicts and lists, free of NaN, infinities and lone surrogates."""
    summary = report.summary()
    out = {
        "schema": SCHEMA,
        "tool_version": report.tool_version,
        "judged": report.judged,
        "summary": {v: summary[v] for v in VERDICTS},
        "nearest_miss": report.nearest_miss or None,
        "inputs": [
            {
                "path": i.path,
                "kind": i.kind,
                "sha256": i.sha256,
                "bytes": i.bytes,
                "rows": i.rows,
                "readable": i.readable,
                "problems": list(i.problems),
            }
            for i in report.inputs
        ],
        "trace": None if report.trace is None else _trace(report.trace),
        "findings": [_finding(f, rank) for rank, f in enumerate(report.findings, 1)],
        "coverage": [
            {"level": c.level, "text": c.text, "capture": c.capture or None} for c in report.coverage
        ],
        "breakdown": [
            {
                "device": b.device,
                "family": b.family,
                "precision": b.precision or None,
                "kernels": b.kernels,
                "time_ns": b.time_ns,
                "share": b.share,
                "top_kernel": b.top_kernel or None,
            }
            for b in sorted(report.breakdown, key=_largest_first)
        ],
    }
    clean: Object = _clean(out)
    return clean


def _largest_first(b: TimeShare) -> tuple[int, int, str, str]:
    return (-1 if b.device is None else b.device, -b.time_ns, b.family, b.precision)


def _trace(t: TraceInfo) -> Object:
    return {
        "product": t.product,
        "schema_version": t.schema_version or None,
        "window_start_ns": t.window_start_ns,
        "window_end_ns": t.window_end_ns,
        "window_ns": t.window_ns,
        "kernels": t.kernels,
        "driver": t.driver or None,
        "cuda_driver": t.cuda_driver or None,
        "start_utc": t.start_utc or None,
        "start_local": t.start_local or None,
        "devices": [_device(d) for d in t.devices],
    }


def _device(d: Device) -> Object:
    return {
        "device": d.device,
        "name": d.name,
        "bus_id": d.bus_id or None,
        "compute_capability": d.compute_capability or None,
        "memory_bytes": d.memory_bytes,
        "sm_count": d.sm_count,
        "used": d.used,
    }


def _finding(f: Finding, rank: int) -> Object:
    return {
        "rank": rank,
        "signature": f.signature,
        "version": f.version,
        "status": f.status,
        "title": f.title,
        "summary": f.summary,
        "verdict": f.verdict,
        "severity": f.severity,
        "variant": f.variant or None,
        "reason": f.reason or None,
        "scope": _scope(f.scope),
        "impact": {"kind": f.impact_kind, "bound": f.bound or None},
        "lost_ns": f.lost_ns,
        "lost_bytes": f.lost_bytes,
        "lost_ratio": f.lost_ratio,
        "window_ns": f.window_ns,
        "steps": [_step(s) for s in f.steps],
        "rule_outs": [_rule_out(r) for r in f.rule_outs],
        "notes": list(f.notes),
        "exhibits": [_exhibit(x) for x in f.exhibits],
        "missing": _missing(f.missing, f.captures),
        "remedy": [_remedy(r) for r in f.remedies],
        "explains": list(f.explains),
        "folded_under": f.folded_under or None,
        "flips": list(f.flips),
        "nearness": f.nearness,
        "blind_spots": f.blind_spots or None,
    }


def _scope(s: ScopeRef) -> Object:
    return {
        "kind": s.kind,
        "device": s.device,
        "device_name": s.device_name or None,
        "bus_id": s.bus_id or None,
        "process": s.pid,
        "process_name": s.process or None,
    }


def _step(s: Step) -> Object:
    return {
        "id": s.id,
        "role": s.role,
        "stage": s.stage,
        "holds": s.holds,
        "says": s.says,
        "when": s.when,
        "way": s.way or None,
        "margin": s.margin,
        "values": {fact.name: _value(fact) for fact in s.facts},
        "thresholds": {
            t.name: {"value": t.value, "why": t.why or None, "overridden": t.overridden} for t in s.thresholds
        },
        "missing": list(s.missing),
    }


def _rule_out(r: RuleOut) -> Object:
    return {
        "id": r.id,
        "holds": r.holds,
        "says": r.says,
        "when": r.when,
        "see": r.see or None,
        "if_unknown": r.if_unknown,
        "values": {fact.name: _value(fact) for fact in r.facts},
        "missing": list(r.missing),
    }


def _value(f: Fact) -> Object:
    lost = isinstance(f.value, float) and not math.isfinite(f.value)
    return {
        "value": f.value,
        "unit": f.unit,
        "metric": f.metric or None,
        "source": f.source or None,
        "numerator": f.numerator,
        "denominator": f.denominator,
        "parts_unit": f.parts_unit or None,
        "low": f.low,
        "high": f.high,
        "why_unknown": f.why_unknown or ("not a finite number" if lost else None),
        "missing": list(f.missing),
    }


def _exhibit(x: Exhibit) -> Object:
    return {"title": x.title, "rows": [_row(r) for r in x.rows]}


def _row(r: ExhibitRow) -> Object:
    return {
        "start_ns": r.start_ns,
        "duration_ns": r.duration_ns,
        "name": r.name,
        "device": r.device,
        "stream": r.stream,
        "pid": r.pid,
        "tid": r.tid,
        "api_call": r.api_call or None,
        "range_path": r.range_path or None,
        "detail": r.detail or None,
        "input": r.input,
        "line": r.line,
    }


def _missing(tables: tuple[str, ...], captures: tuple[Capture, ...]) -> list[Object]:
    """What is missing, with the command that collects it; a table without one has a null capture."""
    out = [{"table": c.missing, "capture": c.command, "note": c.note or None} for c in captures]
    told = {c.missing for c in captures}
    return out + [{"table": t, "capture": None, "note": None} for t in tables if t not in told]


def _remedy(r: Remedy) -> Object:
    return {
        "do": r.do,
        "verify": r.verify or None,
        "applies": r.applies or None,
        "source": r.source or None,
        "url": r.url or None,
    }


def _clean(value: Any) -> Any:
    """NaN and infinities become null; a lone surrogate, which no JSON reader must accept, is spelt out."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return _LONE.sub(lambda m: f"\\u{ord(m[0]):04x}", value)
    if isinstance(value, dict):
        return {_clean(k): _clean(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_clean(v) for v in value]
    return value
