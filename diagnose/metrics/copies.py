"""Metrics over explicit copies: how long the link was busy, how much of that was not hidden by kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from diagnose.findings import ExhibitRow, Fact
from diagnose.metrics.kernels import source_of
from diagnose.metrics.measurements import Measurements
from diagnose.metrics.registry import claim, exhibit, known, metric, ratio, unknown
from diagnose.scope import Scope
from diagnose.states.copies import Copies, CopyTotal
from diagnose.states.intervals import Intervals, empty, gaps, join, overlap_ns, subtract
from diagnose.states.trace_pass import TracePass

READS = ("copies", "kernels")
KIND = {"kind": ("htod", "dtoh", "dtod", "all")}
MEMORY = {0: "pageable", 1: "pinned", 2: "device", 3: "array", 4: "managed"}


def _key(params: Mapping[str, Any]) -> tuple[str, str, int, str]:
    return ("copies", str(params.get("kind", "htod")), int(params.get("min_bytes", 0)), "any")


def want_copies(trace: TracePass, params: Mapping[str, Any]) -> None:
    _, kind, size, cause = key = _key(params)
    trace.want(key, lambda: Copies(kind, size, cause))


class Chosen:
    """Totals and union of the chosen copies in a scope."""

    def __init__(self, m: Measurements, scope: Scope, key: tuple[str, str, int, str]) -> None:
        state = m.state(key)
        self.keys = m.keys_in(scope)
        self.total = CopyTotal()
        sets: list[Intervals] = []
        self.top: list[tuple[int, tuple[int, int, int, int, int, int], int]] = []
        for k in self.keys:
            if k in state.totals:
                self.total.add(state.totals[k])
                sets.append(state.unions[k].result())
                self.top += [(k[1], row, k[0]) for row in state.top[k]]
        self.union = join(sets) if sets else empty()
        self.top.sort(key=lambda item: item[1], reverse=True)


def choose(m: Measurements, scope: Scope, kind: str, min_bytes: float, *columns: str) -> Chosen | Fact:
    problem = m.copies_problem(scope, "kind", *(["bytes"] if min_bytes else []), *columns)
    if problem is not None:
        return problem
    key = ("copies", kind, int(min_bytes), "any")
    cache = ("chosen", scope, key)
    if cache not in m.cache:
        m.cache[cache] = Chosen(m, scope, key)
    return m.cache[cache]  # type: ignore[no-any-return]


@metric("count", READS, wants=want_copies, choices=KIND)
def copy_count(m: Measurements, scope: Scope, *, kind: str = "htod", min_bytes: float = 0) -> Fact:
    """Copies of that kind of at least `min_bytes`."""
    found = choose(m, scope, kind, min_bytes)
    return found if isinstance(found, Fact) else known(float(found.total.count), source_of(scope, "copies"))


@metric("bytes", READS, wants=want_copies, choices=KIND)
def copy_bytes(m: Measurements, scope: Scope, *, kind: str = "htod", min_bytes: float = 0) -> Fact:
    """Bytes moved by those copies."""
    found = choose(m, scope, kind, min_bytes, "bytes")
    return found if isinstance(found, Fact) else known(float(found.total.bytes), source_of(scope, "copies"))


@metric("ns", READS, wants=want_copies, choices=KIND)
def copy_time_ns(m: Measurements, scope: Scope, *, kind: str = "htod", min_bytes: float = 0) -> Fact:
    """Summed duration of those copies."""
    found = choose(m, scope, kind, min_bytes)
    return found if isinstance(found, Fact) else known(float(found.total.sum_ns), source_of(scope, "copies"))


@metric("gb_s", READS, wants=want_copies, choices=KIND)
def copy_rate_gb_s(m: Measurements, scope: Scope, *, kind: str = "htod", min_bytes: float = 0) -> Fact:
    """Bytes moved over the time in which at least one of those copies ran (1e9 bytes a second)."""
    found = choose(m, scope, kind, min_bytes, "bytes")
    if isinstance(found, Fact):
        return found
    if not found.union.covered_ns:
        return unknown("there is no such copy")
    rate = found.total.bytes / found.union.covered_ns
    return known(
        rate,
        source_of(scope, "copies"),
        numerator=float(found.total.bytes),
        denominator=float(found.union.covered_ns),
        parts_unit="bytes/ns",
    )


@metric("ratio", READS, wants=want_copies, choices=KIND)
def copy_busy_share(m: Measurements, scope: Scope, *, kind: str = "htod", min_bytes: float = 0) -> Fact:
    """Time with at least one of those copies running over the window W."""
    found = choose(m, scope, kind, min_bytes)
    if isinstance(found, Fact):
        return found
    covered, dropped = found.union.covered_ns, found.union.dropped_ns
    return ratio(float(covered), float(m.window_ns), source_of(scope, "copies"), "ns", slack=dropped)


def _exposed(m: Measurements, scope: Scope, found: Chosen) -> Intervals:
    return subtract(found.union, m.busy(scope.at("device") if scope.device is not None else scope))


@metric("ns", READS, wants=want_copies, choices=KIND)
def copy_exposed_ns(m: Measurements, scope: Scope, *, kind: str = "htod", min_bytes: float = 0) -> Fact:
    """Time of those copies during which no kernel ran on the device."""
    found = choose(m, scope, kind, min_bytes)
    problem = m.kernels_problem(scope)
    if isinstance(found, Fact) or problem is not None:
        return found if isinstance(found, Fact) else problem  # type: ignore[return-value]
    return known(float(_exposed(m, scope, found).covered_ns), source_of(scope, "copies and kernels"))


@metric("ratio", READS, wants=want_copies, choices=KIND)
def copy_overlap_ratio(m: Measurements, scope: Scope, *, kind: str = "htod", min_bytes: float = 0) -> Fact:
    """Overlap of copies and kernels over the smaller of the two busy times."""
    found = choose(m, scope, kind, min_bytes)
    problem = m.kernels_problem(scope)
    if isinstance(found, Fact) or problem is not None:
        return found if isinstance(found, Fact) else problem  # type: ignore[return-value]
    busy = m.busy(scope)
    smaller = min(busy.covered_ns, found.union.covered_ns)
    return ratio(
        float(overlap_ns(found.union, busy)), float(smaller), source_of(scope, "copies and kernels"), "ns"
    )


@metric("ratio", READS, wants=want_copies, choices=KIND)
def copy_before_kernels_share(
    m: Measurements, scope: Scope, *, kind: str = "htod", min_bytes: float = 0
) -> Fact:
    """Share of the copy time that lies before the first kernel of the scope (a model load)."""
    found = choose(m, scope, kind, min_bytes)
    problem = m.kernels_problem(scope)
    if isinstance(found, Fact) or problem is not None:
        return found if isinstance(found, Fact) else problem  # type: ignore[return-value]
    busy = m.busy(scope)
    if not len(busy):
        return known(1.0 if len(found.union) else 0.0, source_of(scope, "copies and kernels"))
    first = busy.starts[0]
    before = np.clip(found.union.ends, None, first) - np.clip(found.union.starts, None, first)
    return ratio(
        float(before.sum()), float(found.union.covered_ns), source_of(scope, "copies and kernels"), "ns"
    )


@metric("ratio", READS, wants=want_copies, choices=KIND)
def copy_gaps_with_kernels(
    m: Measurements, scope: Scope, *, kind: str = "htod", min_bytes: float = 0
) -> Fact:
    """Share of the gaps between consecutive copies in which a kernel runs (copy, compute, copy, …)."""
    found = choose(m, scope, kind, min_bytes)
    problem = m.kernels_problem(scope)
    if isinstance(found, Fact) or problem is not None:
        return found if isinstance(found, Fact) else problem  # type: ignore[return-value]
    between, busy = gaps(found.union), m.busy(scope)
    if not len(between):
        return unknown("there are fewer than two such copies")
    begun = np.searchsorted(busy.starts, between.ends, side="left")
    ended = np.searchsorted(busy.ends, between.starts, side="right")
    return ratio(
        float((begun > ended).sum()), float(len(between)), source_of(scope, "copies and kernels"), "count"
    )


@metric("ratio", READS, wants=want_copies, choices=KIND)
def copy_pageable_share(m: Measurements, scope: Scope, *, kind: str = "htod", min_bytes: float = 0) -> Fact:
    """Share of the copy time from or to pageable host memory."""
    return _host_share(m, scope, kind, min_bytes, "pageable_ns")


@metric("ratio", READS, wants=want_copies, choices=KIND)
def copy_pinned_share(m: Measurements, scope: Scope, *, kind: str = "htod", min_bytes: float = 0) -> Fact:
    """Share of the copy time from or to pinned host memory."""
    return _host_share(m, scope, kind, min_bytes, "pinned_ns")


def _host_share(m: Measurements, scope: Scope, kind: str, min_bytes: float, which: str) -> Fact:
    found = choose(m, scope, kind, min_bytes, "src_memory" if kind == "htod" else "dst_memory")
    if isinstance(found, Fact):
        return found
    if found.total.kind_unknown_ns:
        return unknown("the memory kind of some copies is not recorded", "copies.src_memory")
    time = float(getattr(found.total, which))
    return ratio(time, float(found.total.sum_ns), source_of(scope, "copies"), "ns")


@exhibit(READS, wants=want_copies, choices=KIND)
def top_copies(
    m: Measurements, scope: Scope, limit: int, *, kind: str = "htod", min_bytes: float = 0
) -> list[ExhibitRow]:
    """The longest of those copies."""
    found = choose(m, scope, kind, min_bytes)
    if isinstance(found, Fact):
        return []
    rows = []
    for device, (duration, start, stream, size, correlation, source), pid in found.top[:limit]:
        memory = MEMORY.get(source, "")
        rate = f"{size / duration:.2f} GB/s" if duration > 0 else ""
        rows.append(
            ExhibitRow(
                start_ns=start,
                duration_ns=duration,
                name=f"memcpy {kind}",
                device=device if device >= 0 else None,
                stream=stream if stream >= 0 else None,
                pid=pid if pid >= 0 else None,
                detail=", ".join(p for p in (f"{size:,} bytes", memory, rate) if p),
                correlation=correlation if correlation > 0 else None,
            )
        )
    return rows


@claim(READS, wants=want_copies, choices=KIND)
def copy_exposed_claim(
    m: Measurements, scope: Scope, *, kind: str = "htod", min_bytes: float = 0
) -> list[tuple[int, Intervals]]:
    """The intervals of the exposed copy time, per device."""
    out = []
    for device in sorted({d for _, d in m.keys_in(scope)}):
        one = Scope(device, scope.pid)
        found = choose(m, one, kind, min_bytes)
        if not isinstance(found, Fact) and m.kernels_problem(one) is None:
            out.append((device, _exposed(m, one, found)))
    return out
