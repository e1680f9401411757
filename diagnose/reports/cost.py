"""What a finding cost, in words. Losses are upper bounds and say so."""

from __future__ import annotations

from diagnose.findings import Finding
from diagnose.reports import numbers


def cost(f: Finding) -> str:
    """`at most 14.2 s of the 61.4 s window (23.2%)`, `at most 17.9 GiB of GPU memory`, `the run was lost`."""
    time = _time(f)
    memory = f"at most {numbers.size(f.lost_bytes, up=True)} of GPU memory" if f.lost_bytes else ""
    if f.impact_kind == "run_lost":
        return f"the run was lost ({time})" if time else "the run was lost"
    if f.impact_kind == "wrong_results":
        return f"the results may be wrong; {time}" if time else "the results may be wrong"
    if f.impact_kind == "memory":
        return "; ".join(x for x in (memory, time) if x) or "not measured"
    return "; ".join(x for x in (time, memory) if x) or "not measured"


def _time(f: Finding) -> str:
    if numbers.finite(f.lost_ns) is None or f.lost_ns is None:
        return ""
    text = f"at most {numbers.duration(f.lost_ns, up=True)}"
    if f.window_ns and f.lost_ratio is not None:
        window, share = numbers.duration(f.window_ns), numbers.percent(f.lost_ratio, up=True)
        return f"{text} of the {window} window ({share})"
    return text
