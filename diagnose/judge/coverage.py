"""What limits the conclusions: what the trace holds, what was hidden or lost, what would add evidence."""

from __future__ import annotations

import numpy as np

from diagnose.artifacts.nsys_sqlite import NsysExport
from diagnose.case import Case
from diagnose.catalogue.captures import capture_for
from diagnose.findings import CoverageNote
from diagnose.metrics.measurements import Measurements
from diagnose.scope import Scope
from diagnose.states import intervals

# overheadType 3 to 5 of ENUM_CUPTI_OVERHEAD_TYPE are the profiler's own cost.
PROFILER_OWN = (3, 4, 5)
NOTABLE, CONTAMINATED = 0.05, 0.15
WORTH_SAYING = (
    "Not all CUDA events",
    "No CUDA events collected",
    "CUPTI events",
    "not supported",
    "cannot be traced",
    "might have not been started",
)
SHORT_NS = 1_000_000_000
FEW_KERNELS = 50
TABLES = ("kernels", "copies", "memsets", "graph_launches", "api_calls", "allocations")


def _note(text: str, missing: str = "") -> CoverageNote:
    capture = capture_for(missing) if missing else None
    return CoverageNote("note", text, capture.command if capture else "")


def _warning(text: str, missing: str = "") -> CoverageNote:
    capture = capture_for(missing) if missing else None
    return CoverageNote("warning", text, capture.command if capture else "")


def coverage(case: Case, m: Measurements) -> list[CoverageNote]:
    out = [_warning(f"{error}" + (f" ({error.hint})" if error.hint else "")) for error in case.errors]
    out += [_note(text) for text in case.notes]
    for one in case.inputs:
        if one.readable:
            out += [_warning(f"{one.path}: {problem}") for problem in one.problems]
    if m.trace is None or case.export is None:
        return out
    if not case.facts.schema_version:
        out.append(
            _note("the export carries no schema version; it was read by the tables and columns it has")
        )
    words = {"copies": "copies and managed-memory moves"}
    held = [
        f"{m.trace.rows[t]:,} {words.get(t, t.replace('_', ' '))}" for t in TABLES if m.trace.rows.get(t)
    ]
    out.append(_note("the trace holds " + (", ".join(held) or "no CUDA activity at all")))
    if not held:
        out.append(_warning("nothing was traced: this is not the same as a healthy run", "kernels"))
    out += _blind(case, m) + _limits(m) + _graphs(m) + _diagnostics(case, m)
    out += _overhead(case.export, m.window)
    if m.trace.resorted:
        out.append(_note(f"rows of {', '.join(m.trace.resorted)} were not in start order and were sorted"))
    return out


def _blind(case: Case, m: Measurements) -> list[CoverageNote]:
    assert m.trace is not None
    out = []
    if not m.trace.rows.get("kernels") and m.trace.rows.get("api_calls"):
        launches = m.api_table.succeeded("launch")
        where = " (recorded under WSL2)" if case.facts.wsl else ""
        if launches:
            out.append(
                _warning(
                    f"{launches:,} kernel launches succeeded but no GPU-side row was recorded{where}: "
                    "GPU use is unknown, not zero",
                    "kernels",
                )
            )
        else:
            out.append(_warning("no kernel was recorded: GPU use is unknown, not zero", "kernels"))
    if m.trace.rows.get("kernels") and not m.rows("trace_devices"):
        out.append(_warning("the export does not say which GPU ran", "devices"))
    if m.trace.rows.get("kernels"):
        table = m.kernel_table.all
        unnamed = int(table.count[table.code == 0].sum())
        if unnamed:
            out.append(
                _warning(f"{unnamed:,} of {int(table.count.sum()):,} kernels have no name in the export")
            )
    return out


def _limits(m: Measurements) -> list[CoverageNote]:
    assert m.trace is not None
    out = []
    kernels = m.trace.rows.get("kernels", 0)
    if m.window is not None and (m.window_ns < SHORT_NS or 0 < kernels < FEW_KERNELS):
        out.append(
            _note(
                f"short capture ({m.window_ns / 1e9:.2f} s, {kernels:,} kernels): confirmed becomes probable "
                "where a signature needs at least 1 s and 50 kernels"
            )
        )
    for pid in m.pids:
        problem = m.lost_problem(Scope(pid=pid))
        if problem is not None:
            out.append(_warning(f"process {pid}: {problem.why_unknown}", *problem.missing[:1]))
    return out


def short_window(m: Measurements) -> bool:
    """A window under 1 s or under 50 kernels lowers confirmed to probable (signatures may opt out)."""
    if m.trace is None:
        return False
    kernels = m.trace.rows.get("kernels", 0)
    return m.window_ns < SHORT_NS or 0 < kernels < FEW_KERNELS


def _graphs(m: Measurements) -> list[CoverageNote]:
    share = m.graphs_hidden(Scope())
    if share is None:
        return [_warning("CUDA graphs ran but none of their work was recorded", "kernels.graph")]
    if share > 0:
        text = f"{share:.1%} of the busy time is recorded as whole CUDA graphs, whose kernels are not listed"
        return [_warning(text, "kernels.graph") if share > 0.1 else _note(text, "kernels.graph")]
    return []


def _diagnostics(case: Case, m: Measurements) -> list[CoverageNote]:
    del case
    seen: dict[str, int] = {}
    for row in m.rows("diagnostics"):
        if row["severity"] in (2, 3) and any(text in row["text"] for text in WORTH_SAYING):
            first = str(row["text"]).strip().splitlines()[0][:200] if str(row["text"]).strip() else ""
            seen[first] = seen.get(first, 0) + 1
    return [
        _warning(f"nsys reported: {text}" + (f" ({count} times)" if count > 1 else ""))
        for text, count in seen.items()
        if text
    ]


def overhead_share(export: NsysExport, window: tuple[int, int] | None) -> float | None:
    """Profiler's own time inside the window (union over threads) over it; None when not recorded.

    Most of that time lies before the first CUDA call and does not count.
    """
    sets = []
    for table in ("PROFILER_OVERHEAD", "CUPTI_ACTIVITY_KIND_OVERHEAD"):
        if not export.has(table, "start", "end"):
            continue
        where = ""
        if export.has(table, "overheadType"):
            where = f" WHERE overheadType IN {PROFILER_OWN}"
        elif table != "PROFILER_OVERHEAD":
            continue
        rows = export.rows(f'SELECT start, "end" FROM {table}{where} LIMIT 2000000')
        times = np.array(
            [(a, b) for a, b in rows if isinstance(a, int) and isinstance(b, int)], dtype=np.int64
        ).reshape(-1, 2)
        sets.append(intervals.union(times[:, 0], times[:, 1]))
    if not sets or window is None or window[1] <= window[0]:
        return None
    begin, end = (np.array([t], dtype=np.int64) for t in window)
    whole = intervals.Intervals(begin, end)
    return intervals.overlap_ns(intervals.join(sets), whole) / (window[1] - window[0])


def _overhead(export: NsysExport, window: tuple[int, int] | None) -> list[CoverageNote]:
    share = overhead_share(export, window)
    if share is None or share < NOTABLE:
        return []
    text = f"the profiler's own work takes {share:.0%} of the window"
    if share >= CONTAMINATED:
        return [_warning(text + "; confirmed becomes probable")]
    return [_note(text)]
