"""Metrics over what follows a kernel on its stream (a GEMM, then a cast of its result)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diagnose.findings import ExhibitRow, Fact
from diagnose.metrics.kernels import source_of
from diagnose.metrics.measurements import Measurements
from diagnose.metrics.registry import claim, exhibit, known, metric, ratio
from diagnose.scope import Scope
from diagnose.states.intervals import Intervals
from diagnose.states.kernels import Matched, Pairs
from diagnose.states.trace_pass import TracePass

READS = ("kernels",)


def _key(params: Mapping[str, Any]) -> tuple[str, str, str, str]:
    return ("pairs", str(params["first"]), str(params["then"]), str(params.get("skip", "")))


def want_pairs(trace: TracePass, params: Mapping[str, Any]) -> None:
    key = _key(params)
    flags = [trace.union_family(name) if name else None for name in key[1:]]
    assert flags[0] is not None and flags[1] is not None
    first, then, skip = flags[0], flags[1], flags[2]
    trace.want(key, lambda: Pairs(first, then, skip))


def _matched(m: Measurements, scope: Scope, first: str, then: str, skip: str) -> Matched | Fact:
    needed = ("name_id", "context", "stream", "device")
    problem = m.kernels_problem(scope, *needed) or m.names_problem(scope)
    if problem is not None:
        return problem
    state = m.state(("pairs", first, then, skip))
    out = Matched()
    for key in m.keys_in(scope):
        if key in state.matched:
            out.add(state.matched[key])
    return out


@metric("ratio", READS, wants=want_pairs)
def kernel_followed_by(m: Measurements, scope: Scope, *, first: str, then: str, skip: str = "") -> Fact:
    """Share of the kernels of `first` whose next kernel on the stream is of `then`.

    Kernels of `skip` are looked through. Streams are told apart by process, device, context and stream.
    """
    found = _matched(m, scope, first, then, skip)
    if isinstance(found, Fact):
        return found
    return ratio(float(found.matched), float(found.firsts), source_of(scope), "count")


@metric("ns", READS, wants=want_pairs)
def matched_time_ns(m: Measurements, scope: Scope, *, first: str, then: str, skip: str = "") -> Fact:
    """Summed duration of the `then` kernels that directly follow a `first` kernel."""
    found = _matched(m, scope, first, then, skip)
    return found if isinstance(found, Fact) else known(float(found.then_ns), source_of(scope))


@metric("ratio", READS, wants=want_pairs)
def matched_time_share(m: Measurements, scope: Scope, *, first: str, then: str, skip: str = "") -> Fact:
    """Time of the matched `then` kernels over all kernel time of the scope."""
    found = _matched(m, scope, first, then, skip)
    if isinstance(found, Fact):
        return found
    whole = float(m.kernel_table.select(scope).sum_ns.sum())
    return ratio(float(found.then_ns), whole, source_of(scope), "ns")


@metric("ratio", READS, wants=want_pairs)
def matched_per_first_ratio(m: Measurements, scope: Scope, *, first: str, then: str, skip: str = "") -> Fact:
    """Time of the matched `then` kernels over the time of the `first` kernels."""
    found = _matched(m, scope, first, then, skip)
    if isinstance(found, Fact):
        return found
    return ratio(float(found.then_ns), float(found.first_ns), source_of(scope), "ns")


@exhibit(READS, wants=want_pairs)
def pair_sites(
    m: Measurements, scope: Scope, limit: int, *, first: str, then: str, skip: str = ""
) -> list[ExhibitRow]:
    """The longest matched followers: where, on which stream, and after which kernel."""
    found = _matched(m, scope, first, then, skip)
    if isinstance(found, Fact):
        return []
    names = m.kernel_table.trace.kernel_names.names
    device = scope.device if scope.device is not None else None
    return [
        ExhibitRow(
            start_ns=start,
            duration_ns=duration,
            name=names[code],
            device=device,
            stream=stream,
            pid=pid if pid >= 0 else None,
            detail="after " + names[before],
            correlation=correlation if correlation > 0 else None,
        )
        for duration, start, stream, before, code, correlation, pid in found.sites[:limit]
    ]


@claim(READS, wants=want_pairs)
def matched_claim(
    m: Measurements, scope: Scope, *, first: str, then: str, skip: str = ""
) -> list[tuple[int, Intervals]]:
    """The intervals of the matched followers, per device."""
    if isinstance(_matched(m, scope, first, then, skip), Fact):
        return []
    state = m.state(("pairs", first, then, skip))
    return [(key[1], state.matched[key].claims.result()) for key in m.keys_in(scope) if key in state.matched]
