"""Decisive numbers of a built trace, by plain SQL and Python over the raw file.

The definitions are the documented ones of the metrics with the same names. Nothing of the program is used,
so that the program's facts can be compared with these values. Kernel families are the documented regular
expressions.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

Interval = tuple[int, int]
FAMILY = {
    "fp8_gemm": r"sm\d+_xmma_gemm_e[45]m[23]|nvjet_(?:sm\d+_)?q[qr]|"
    r"cutlass3x_sm\d+_\w*gemm_(?:\w*?_)?(?:e4m3|e5m2|f8)_",
    "fp8_gemm_out_f32": r"xmma_gemm_e[45]m[23](?:e[45]m[23])?f32_|"
    r"cutlass3x_\w*gemm_(?:e4m3|e5m2|f8)_\w+_f32_f32_f32",
    "cast_to_f32": r"direct_copy_kernel_cuda.*lambda\(float\).*(?:LoadWithCast|StoreWithCast)",
    "fp8_weight_only": r"[Mm]arlin<\(long\)1125899906909960, *\(long\)2814749767172868",
    "fp8_quantise": r"float8_copy_kernel_cuda|fp8_quant|cast_transpose|cast_fp8",
    "splitk_reduce": r"splitKreduce_kernel",
    "nccl": r"^nccl(?:Dev|Symk?Dev)?Kernel",
}
GROUP = {
    "async_alloc": {"cudaMallocAsync", "cudaMallocFromPoolAsync"},
    "async_free": {"cudaFreeAsync"},
    "prefetch": {"cudaMemPrefetchAsync"},
    "stream_sync": {"cudaStreamSynchronize"},
    "sync": {"cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize"},
    "launch": {"cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx"},
    "graph_launch": {"cudaGraphLaunch"},
    "memcpy": {"cudaMemcpyAsync"},
}
COPY = {"htod": 1, "dtoh": 2, "dtod": 8}
ACTIVITY = ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE")


def union(spans: Iterable[Interval]) -> list[Interval]:
    """Disjoint, sorted intervals covering the same time."""
    merged: list[Interval] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def length(spans: Iterable[Interval]) -> int:
    """Time covered."""
    return sum(end - start for start, end in union(spans))


def overlap(a: Iterable[Interval], b: Iterable[Interval]) -> int:
    """Time covered by both."""
    left, right = list(a), list(b)
    return length(left) + length(right) - length([*left, *right])


def _median(values: list[int]) -> float:
    return float(sorted(values)[len(values) // 2])


class Measured:
    """Facts of one file, collected as rows of expected.json."""

    def __init__(self, path: Path) -> None:
        self.exact: list[dict[str, Any]] = []
        self.about: list[dict[str, Any]] = []
        uri = path.resolve().as_uri() + "?mode=ro&immutable=1"
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as db:
            tables = {r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            self.events = {kind: self._rows(db, f"CUPTI_ACTIVITY_KIND_{kind}", tables) for kind in ACTIVITY}
            self.calls = self._calls(db)
            self.memory = self._rows(db, "CUDA_GPU_MEMORY_USAGE_EVENTS", tables)
            names = dict(db.execute("SELECT id, value FROM StringIds"))
        for row in self.events["KERNEL"]:
            row["name"] = names[row["demangledName"]]
        self.api = [c for c in self.calls if c["eventClass"] != 67]
        spans = [(r["start"], r["end"]) for rows in self.events.values() for r in rows]
        spans += [(c["start"], c["end"]) for c in self.api]
        self.begin, self.end = min(s for s, _ in spans), max(e for _, e in spans)
        self.window = self.end - self.begin
        self.add("window_ns", {}, self.window)

    @staticmethod
    def _rows(db: sqlite3.Connection, table: str, tables: set[str]) -> list[dict[str, Any]]:
        if table not in tables:
            return []
        cursor = db.execute(f"SELECT * FROM {table} ORDER BY start")
        head = [c[0] for c in cursor.description]
        return [dict(zip(head, row, strict=True)) for row in cursor]

    @staticmethod
    def _calls(db: sqlite3.Connection) -> list[dict[str, Any]]:
        cursor = db.execute(
            "SELECT r.*, s.value AS name FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds s "
            "ON s.id = r.nameId ORDER BY r.start"
        )
        head = [c[0] for c in cursor.description]
        rows = [dict(zip(head, row, strict=True)) for row in cursor]
        for row in rows:
            row["base"] = re.sub(r"_v\d{4,5}$", "", row["name"])
        return rows

    def add(
        self, metric: str, params: dict[str, Any], value: Any, *, near: float | None = None, **scope: int
    ) -> None:
        """Keep a fact; `near` is the absolute tolerance where the definition leaves a choice."""
        row: dict[str, Any] = {"metric": metric, "params": params, **scope}
        row["value"] = round(value, 9) if isinstance(value, float) else value
        if near is None:
            self.exact.append(row)
        else:
            self.about.append({**row, "abs_tol": near})

    # -- kernels -----------------------------------------------------------------------------------
    def kernels(self, family: str = "", device: int | None = None) -> list[dict[str, Any]]:
        """Kernel rows of a family, of one device or all."""
        pattern = re.compile(FAMILY[family]) if family else None
        return [
            k
            for k in self.events["KERNEL"]
            if (device is None or k["deviceId"] == device) and (pattern is None or pattern.search(k["name"]))
        ]

    def busy(self, device: int) -> None:
        """kernel_count and kernel_busy_share of a device."""
        rows = self.kernels(device=device)
        self.add("kernel_count", {"family": ""}, len(rows), device=device)
        self.add(
            "kernel_busy_share", {}, length((k["start"], k["end"]) for k in rows) / self.window, device=device
        )

    def share(self, family: str, device: int = 0) -> None:
        """kernel_count and kernel_time_share of a family."""
        every, some = (sum(k["end"] - k["start"] for k in self.kernels(f, device)) for f in ("", family))
        self.add("kernel_count", {"family": family}, len(self.kernels(family, device)), device=device)
        self.add("kernel_time_share", {"family": family}, some / every, device=device)

    def last(self, family: str, device: int = 0) -> None:
        """family_is_last and tail_after_family_ns."""
        rows, every = self.kernels(family, device), self.kernels(device=device)
        start = max(k["start"] for k in rows)
        self.add("family_is_last", {"family": family}, all(k["start"] <= start for k in every), device=device)
        self.add(
            "tail_after_family_ns", {"family": family}, self.end - max(k["end"] for k in rows), device=device
        )

    def follow(self, first: str, then: str, skip: str, device: int = 0) -> None:
        """kernel_followed_by, matched_time_share, matched_per_first_ratio."""
        one, two, out = (re.compile(FAMILY[f]) for f in (first, then, skip))
        streams: dict[tuple[int, int], list[dict[str, Any]]] = {}
        for k in self.kernels(device=device):
            streams.setdefault((k["globalPid"], k["streamId"]), []).append(k)
        starts, matched = 0, []
        for rows in streams.values():
            for place, k in enumerate(rows):
                if not one.search(k["name"]):
                    continue
                starts += 1
                following = next((n for n in rows[place + 1 :] if not out.search(n["name"])), None)
                if following is not None and two.search(following["name"]):
                    matched.append(following)
        cost = sum(k["end"] - k["start"] for k in matched)
        every = sum(k["end"] - k["start"] for k in self.kernels(device=device))
        firsts = sum(k["end"] - k["start"] for k in self.kernels(first, device))
        params = {"first": first, "then": then, "skip": skip}
        self.add("kernel_followed_by", params, len(matched) / starts, device=device)
        self.add("matched_time_ns", params, cost, device=device)
        self.add("matched_time_share", params, cost / every, device=device)
        self.add("matched_per_first_ratio", params, cost / firsts, device=device)

    # -- copies ------------------------------------------------------------------------------------
    def copies(self, kind: str, min_bytes: int, device: int) -> None:
        """The copy metrics of one device."""
        rows = [
            c
            for c in self.events["MEMCPY"]
            if c["deviceId"] == device and c["copyKind"] == COPY[kind] and c["bytes"] >= min_bytes
        ]
        params = {"kind": kind, "min_bytes": min_bytes}
        spans = [(c["start"], c["end"]) for c in rows]
        work = [(k["start"], k["end"]) for k in self.kernels(device=device)]
        self.add("copy_count", params, len(rows), device=device)
        self.add("copy_busy_share", params, length(spans) / self.window, device=device)
        if not rows:
            return
        both, total = overlap(spans, work), sum(e - s for s, e in spans)
        self.add("copy_bytes", params, sum(c["bytes"] for c in rows), device=device)
        self.add("copy_time_ns", params, total, device=device)
        self.add("copy_rate_gb_s", params, sum(c["bytes"] for c in rows) / total, device=device)
        self.add("copy_exposed_ns", params, length(spans) - both, device=device)
        self.add("copy_overlap_ratio", params, both / min(length(spans), length(work)), device=device)
        first = min(s for s, _ in work)
        early = sum(e - s for s, e in spans if s < first)
        self.add("copy_before_kernels_share", params, early / total, device=device)
        gaps = [(a[1], b[0]) for a, b in pairwise(spans) if b[0] > a[1]]
        held = sum(1 for g in gaps if overlap([g], work) > 0)
        if gaps:
            self.add("copy_gaps_with_kernels", params, held / len(gaps), near=0.1, device=device)

    def managed(self) -> None:
        """Managed-memory metrics: bytes, busy share, exposure, moves of a 2 MiB granule."""
        rows = [c for c in self.events["MEMCPY"] if c["copyKind"] in (11, 12)]
        work = [(k["start"], k["end"]) for k in self.kernels()]
        for cause, number in (("prefetch", 1), ("fault", 2), ("speculative", 3)):
            some = [c for c in rows if c["migrationCause"] == number]
            self.add("um_bytes", {"cause": cause, "kind": "any"}, sum(c["bytes"] for c in some))
            if some:
                spans = [(c["start"], c["end"]) for c in some]
                params = {"cause": cause, "kind": "any"}
                self.add("um_busy_share", params, length(spans) / self.window)
                self.add("um_exposed_share", params, 1 - overlap(spans, work) / length(spans))
        into: dict[int, int] = {}
        for c in rows:
            if c["copyKind"] == 11 and c["migrationCause"] == 1:
                into[c["virtualAddress"] >> 21] = into.get(c["virtualAddress"] >> 21, 0) + 1
        if into:
            self.add("um_region_moves", {"cause": "prefetch"}, sorted(into.values())[len(into) // 2])

    # -- host calls --------------------------------------------------------------------------------
    def group(self, name: str, calls: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
        """API rows of a group."""
        return [c for c in (self.api if calls is None else calls) if c["base"] in GROUP[name]]

    def start_up(self) -> dict[str, Any]:
        """The longest call that begins before the first launch or copy: context creation."""
        work = GROUP["launch"] | GROUP["memcpy"] | GROUP["graph_launch"]
        first = min(c["start"] for c in self.api if c["base"] in work)
        return max((c for c in self.api if c["start"] < first), key=lambda c: c["end"] - c["start"])

    def api_group(self, name: str) -> None:
        """Count, wall share, API share and idle share of a group (one process, one host thread)."""
        rows, context = self.group(name), self.start_up()
        time = sum(c["end"] - c["start"] for c in rows)
        rest = sum(c["end"] - c["start"] for c in self.api if c is not context)
        steady = self.window - (context["end"] - context["start"])
        self.add("api_count", {"group": name}, len(rows))
        self.add("api_wall_share", {"group": name}, time / steady)
        self.add("api_time_share", {"group": name}, time / rest)
        if rows:
            active = [(r["start"], r["end"]) for rs in self.events.values() for r in rs]
            spans = [(c["start"], c["end"]) for c in rows]
            self.add("api_idle_share", {"group": name}, 1 - overlap(spans, active) / length(spans))
            tenth = sum(1 for c in rows if c["start"] - self.begin < self.window / 10)
            self.add("api_first_tenth_share", {"group": name}, tenth / len(rows))

    def allocations(self) -> None:
        """Async allocation metrics and the pool's growth."""
        self.add(
            "api_per_launch",
            {"group": "async_alloc"},
            len(self.group("async_alloc")) / len(self.group("launch")),
        )
        order = [c for c in self.api if c["base"] in GROUP["async_alloc"] | GROUP["sync"]]
        slow = hits = 0
        for place, c in enumerate(order):
            if c["base"] not in GROUP["async_alloc"] or c["end"] - c["start"] <= 100_000:
                continue
            slow += 1
            before = [o["base"] in GROUP["sync"] for o in order[max(0, place - 2) : place]]
            hits += before == [False, True]
        if slow:
            self.add("alloc_sync_alloc_share", {"over_us": 100}, hits / slow)
        sizes = [
            m["bytes"]
            for m in self.memory
            if m["memoryOperationType"] == 0 and m["localMemoryPoolSize"] is not None
        ]
        if sizes:
            inside = sum(1 for s in sizes if 2 << 20 <= s <= 8 << 20)
            self.add("alloc_size_share", {"lo_bytes": 2 << 20, "hi_bytes": 8 << 20}, inside / len(sizes))
            self._pool()

    def _pool(self) -> None:
        rows = [m for m in self.memory if m["localMemoryPoolSize"] is not None]
        size = [m["localMemoryPoolSize"] for m in rows]
        used = [m["localMemoryPoolUtilizedSize"] for m in rows]
        live = [0]
        for m in rows:
            live.append(live[-1] + (-m["bytes"] if m["memoryOperationType"] else m["bytes"]))
        q = len(rows) // 4
        growth = _median(size[-q:]) - _median(size[:q])
        self.add("pool_growth_ratio", {}, _median(size[-q:]) / _median(size[:q]), near=0.05)
        if growth:
            for name, values in (("pool_used_growth_ratio", used), ("live_growth_ratio", live)):
                self.add(name, {}, (_median(values[-q:]) - _median(values[:q])) / growth, near=0.15)
        self.add("pool_slack_ratio", {}, 1 - used[-1] / size[-1], near=0.03)
        self.add("pool_release_threshold", {}, rows[-1]["localMemoryPoolReleaseThreshold"])

    def result(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Exact facts, and those with a tolerance."""
        return self.exact, self.about
