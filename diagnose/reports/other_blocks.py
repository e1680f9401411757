"""The blocks that belong to no single finding: what was read, where time went, what did not fire."""

from __future__ import annotations

from diagnose.findings import CoverageNote, Device, Finding, Input, Report, TimeShare, TraceInfo, Verdict
from diagnose.reports import numbers
from diagnose.reports.blocks import (
    WORDS,
    Bar,
    Bars,
    Cell,
    Code,
    Command,
    Facts,
    Inline,
    Item,
    Items,
    Line,
    Section,
    Table,
)
from diagnose.reports.finding_blocks import prose
from diagnose.reports.names import clip, middle, visible

_BARS = 6
_DEVICES = 2
_HEAD_INPUTS = 3
SHORT_HASH = 12
_LABEL, _PATH = 120, 300  # characters of a name; longer ones are no names


def _label(words: str) -> str:
    return clip(visible(words), _LABEL)


def _path(i: Input) -> str:
    return middle(visible(i.path), _PATH)


def read_head(report: Report) -> Facts:
    """Two labels: the inputs (kind, rows, short hash) and the trace in one line."""
    lines: list[Inline] = [_input_line(i) for i in report.inputs[:_HEAD_INPUTS]]
    if len(report.inputs) > _HEAD_INPUTS:
        lines.append((f"and {len(report.inputs) - _HEAD_INPUTS} more inputs (listed at the end)",))
    rows: list[tuple[str, tuple[Inline, ...]]] = [("read", tuple(lines) or (("nothing",),))]
    if report.trace:
        rows.append(("trace", ((trace_line(report.trace),),)))
    return Facts(tuple(rows))


def _input_line(i: Input) -> Inline:
    state = "" if i.readable else "not readable, "
    rows = "1 row" if i.rows == 1 else f"{numbers.count(i.rows)} rows"
    digest = visible(i.sha256[:SHORT_HASH])
    return (Code(_path(i)), f"({state}{_label(i.kind)}, {rows}, sha256 {digest}…)")


def trace_line(trace: TraceInfo) -> str:
    """`NVIDIA Nsight Systems 2025.3 · schema 3.20 · 61.4 s · 2 × NVIDIA H100 80GB HBM3 · 412,806 kernels`."""
    parts = [_label(trace.product)]
    if trace.schema_version:
        parts.append(f"schema {_label(trace.schema_version)}")
    if trace.window_ns is not None:
        parts.append(numbers.duration(trace.window_ns))
    used = [d for d in trace.devices if d.used] or list(trace.devices)
    names = dict.fromkeys(d.name for d in used)
    unnamed = "GPU of unknown name"
    parts += [f"{sum(d.name == name for d in used)} × {_label(name) or unnamed}" for name in names]
    if trace.kernels is not None:
        parts.append(f"{numbers.count(trace.kernels)} kernels")
    return " · ".join(p for p in parts if p)


def time_section(rows: tuple[TimeShare, ...], importance: int = 5) -> Section | None:
    """Where GPU time went: one set of bars a device, the rest summed up in its last bar."""
    devices = list(dict.fromkeys(r.device for r in rows))
    blocks = tuple(_bars(d, [r for r in rows if r.device == d], len(devices) > 1) for d in devices[:_DEVICES])
    if not blocks:
        return None
    more = f"{len(devices) - _DEVICES} more GPUs: see the JSON report" if len(devices) > _DEVICES else ""
    return Section("where the GPU time went", (*blocks, *((Line((more,)),) if more else ())), importance)


def _kernels(n: int) -> str:
    return "1 kernel" if n == 1 else f"{numbers.count(n)} kernels"


def _bars(device: int | None, rows: list[TimeShare], named: bool) -> Bars:
    rows = sorted(rows, key=lambda r: (-r.time_ns, r.family, r.precision))
    if len(rows) == _BARS + 1:
        shown, rest = rows, []
    else:
        shown, rest = rows[:_BARS], rows[_BARS:]
    bars = [
        Bar(
            label=middle(visible(f"{r.family} {r.precision}".strip()), 28),
            share=r.share,
            value=f"{numbers.duration(r.time_ns)} · {_kernels(r.kernels)}",
            name=r.top_kernel,
        )
        for r in shown
    ]
    if rest:
        time, kernels = sum(r.time_ns for r in rest), sum(r.kernels for r in rest)
        value = f"{numbers.duration(time)} · {_kernels(kernels)}"
        bars.append(Bar(f"{len(rest)} others", sum(r.share for r in rest), value))
    where = f" on GPU {device}" if named and device is not None else ""
    return Bars(f"where the GPU time went{where} (share of kernel time)", tuple(bars))


def verdict_section(report: Report, verdict: Verdict, importance: int, verbose: bool) -> Section | None:
    """Absent signatures as a line of ids (with reasons if `verbose`), ruled-out ones with the reason."""
    title = WORDS[verdict]
    found = [f for f in report.findings if f.verdict == verdict]
    if not found:
        return None
    labels = [_scoped(f, report.findings) for f in found]
    if verdict == "absent" and not verbose:
        ids = tuple(Code(label) for label in dict.fromkeys(labels))
        return Section(title, (Items(title, (Item(ids),)),), importance)
    rows = dict.fromkeys(zip(labels, map(_why, found), strict=True))
    items = tuple(Item((Code(label), ": " + prose(why)) if why else (Code(label),)) for label, why in rows)
    return Section(title, (Items(title, items),), importance)


def cannot_tell_section(report: Report, verbose: bool) -> Section | None:
    """Grouped by what would decide: signatures that one and the same command decides stand together."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for f in report.findings:
        if f.verdict == "cannot_tell":
            key = tuple(c.command for c in f.captures) or ("", _why(f))
            groups.setdefault(key, []).append(f)
    if not groups:
        return None
    items = tuple(_undecided(members, report.findings, verbose) for members in groups.values())
    return Section("cannot tell", (Items("cannot tell", items),), 2)


def _undecided(members: list[Finding], everyone: tuple[Finding, ...], verbose: bool) -> Item:
    ids = tuple(Code(x) for x in dict.fromkeys(_scoped(f, everyone) for f in members))
    under: list[tuple[str, Inline]] = []
    reasons = list(dict.fromkeys(_why(f) for f in members))
    if len(reasons) == 1 or verbose:
        under += [("why", (prose(r),)) for r in reasons if r]
    missing = dict.fromkeys(m for f in members for m in f.missing)
    if missing:
        under.append(("missing", tuple(Code(_label(m)) for m in missing)))
    for c in members[0].captures:
        under.append(("run", (Command(clip(visible(c.command), 2000)),)))
        if c.note:
            under.append(("", (prose(c.note),)))
    return Item(ids, tuple(under))


def _why(f: Finding) -> str:
    if f.reason:
        return f.reason
    held = next((r for r in f.rule_outs if r.holds), None) if f.verdict == "ruled_out" else None
    return (held.says + (f" (see {held.see})" if held.see else "")) if held else ""


def _scoped(f: Finding, everyone: tuple[Finding, ...]) -> str:
    """The id alone when all scopes of the signature agree, else with the scope it is about."""
    verdicts = {x.verdict for x in everyone if x.signature == f.signature}
    return _label(f.signature if len(verdicts) == 1 else f"{f.signature} ({f.scope.label})")


def coverage_sections(report: Report) -> tuple[Section, ...]:
    """What the inputs hold, what limits the conclusions, and each input's whole SHA-256."""
    out: list[Section] = []
    faults = [CoverageNote("warning", f"{i.path}: {p}") for i in report.inputs for p in i.problems]
    notes = sorted([*report.coverage, *faults], key=lambda n: n.level != "warning")
    if notes:
        items = Items("limits of this analysis", tuple(_note(n) for n in notes))
        out.append(Section("limits of this analysis", (items,), 3))
    if report.trace:
        facts = _trace(report.trace)
        out += [Section("trace", (facts,), 6, fold=True)] if facts.rows else []
    if report.inputs:
        out.append(Section("inputs", (_inputs(report.inputs),), 4, fold=True))
    return tuple(out)


def _note(n: CoverageNote) -> Item:
    run: Inline = (Command(clip(visible(n.capture), 2000)),)
    under = (("run", run),) if n.capture else ()
    word = "warning: " if n.level == "warning" else ""
    return Item((word + prose(n.text),), under, "warning" if n.level == "warning" else "")


def _trace(trace: TraceInfo) -> Facts:
    rows: list[tuple[str, tuple[Inline, ...]]] = []
    if trace.window_start_ns is not None and trace.window_end_ns is not None:
        ends = f"{numbers.moment(trace.window_start_ns)} s to {numbers.moment(trace.window_end_ns)} s"
        rows.append(("window", ((f"{ends} of the trace's own clock",),)))
    started = [f"{_label(trace.start_utc)} UTC"] if trace.start_utc else []
    started += [f"{_label(trace.start_local)} local"] if trace.start_local else []
    if started:
        rows.append(("started", ((" · ".join(started),),)))
    versions = [f"driver {_label(trace.driver)}"] if trace.driver else []
    versions += [f"CUDA {_label(trace.cuda_driver)} (driver)"] if trace.cuda_driver else []
    if versions:
        rows.append(("software", ((" · ".join(versions),),)))
    if trace.devices:
        rows.append(("GPUs", tuple((_device(d),) for d in trace.devices)))
    return Facts(tuple(rows))


def _device(d: Device) -> str:
    parts = [f"GPU {d.device}" if d.device is not None else "GPU", _label(d.name)]
    parts += [f"compute capability {_label(d.compute_capability)}"] if d.compute_capability else []
    parts += [numbers.size(d.memory_bytes)] if d.memory_bytes is not None else []
    parts += [f"{d.sm_count} SMs"] if d.sm_count is not None else []
    parts += [f"bus {_label(d.bus_id)}"] if d.bus_id else []
    parts += [] if d.used else ["not used in this trace"]
    return " · ".join(parts)


def _inputs(inputs: tuple[Input, ...]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    under: list[Inline] = []
    for i in inputs:
        kind = _label(i.kind) if i.readable else f"{_label(i.kind)}, not readable"
        rows.append((Code(_path(i)), kind, numbers.count(i.rows), numbers.size(i.bytes)))
        under.append(("sha256", Code(_label(i.sha256))))
    return Table("inputs", ("path", "kind", "rows", "size"), tuple(rows), "llrr", tuple(under))
