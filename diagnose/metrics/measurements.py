"""Everything measured about a case, as metrics see it: finished states, small tables, window, identity.

It also decides when a table can be trusted: a table that is missing, broken, cut, hidden in CUDA
graphs or that lost events gives *unknown*, never zero.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import Any

from diagnose.artifacts.base import Row
from diagnose.artifacts.nsys_facts import TraceFacts
from diagnose.findings import Fact
from diagnose.metrics.registry import unknown
from diagnose.metrics.totals import ApiTable, KernelTable
from diagnose.scope import Scope
from diagnose.states.api_calls import ApiTotals
from diagnose.states.base import NO_PID
from diagnose.states.correlations import Captures, CorrelationBits, missing_share
from diagnose.states.extent import Extent
from diagnose.states.intervals import Intervals, empty, join
from diagnose.states.kernels import BusyIntervals, KernelTotals
from diagnose.states.trace_pass import TracePass, UnionFlags

LOST_SHARE = 0.01  # more launches than this without a GPU row: events were lost
HIDDEN_SHARE = 0.10  # more of the busy time than this inside CUDA graphs: kernel rows do not tell
UNNAMED_SHARE = 0.01
FEW_CALLS = 10  # judgement: below this, and without GPU work, only start-up was captured
GPU_STREAMS = ("kernels", "copies", "memsets", "graph_launches")


class Measurements:
    """`trace` is None for a case of text artifacts only. `tables`: name → rows (see tables.TABLES)."""

    def __init__(self, trace: TracePass | None, facts: TraceFacts, tables: dict[str, list[Row]]) -> None:
        self.trace = trace
        self.facts = facts
        self.tables = tables
        self.cache: dict[Hashable, Any] = {}

    @staticmethod
    def want_basics(trace: TracePass) -> None:
        """The states that every judgement of a trace needs (window, identity of processes, trust)."""
        for stream in (*GPU_STREAMS, "api_calls", "allocations"):
            trace.want(("extent", stream), lambda s=stream: Extent(s))  # type: ignore[misc]
        trace.want("kernel_totals", KernelTotals)
        for stream in GPU_STREAMS:
            trace.want(("busy", stream, ""), lambda s=stream: BusyIntervals(s))  # type: ignore[misc]
        work = [trace.group(g) for g in ("launch", "graph_launch", "memcpy")]
        trace.want("api_totals", lambda: ApiTotals(UnionFlags(trace.api_names, work)))
        launch = trace.group("launch")
        trace.want(("bits", "launch"), lambda: CorrelationBits("api_calls", launch))
        trace.want(("bits", "kernels"), lambda: CorrelationBits("kernels"))
        trace.want("captures", lambda: Captures(trace.api_names))

    def state(self, key: Hashable) -> Any:
        assert self.trace is not None
        return self.trace.got(key)

    def rows(self, table: str) -> list[Row]:
        return self.tables.get(table, [])

    # --- window ---------------------------------------------------------------------------------

    @cached_property
    def window(self) -> tuple[int, int] | None:
        """First and last moment of kernels, copies, memsets, graph launches and API calls (trace ns)."""
        if self.trace is None:
            return None
        spans = [self.state(("extent", s)) for s in (*GPU_STREAMS, "api_calls")]
        firsts = [s.first for s in spans if s.first is not None]
        lasts = [s.last for s in spans if s.last is not None]
        return (min(firsts), max(lasts)) if firsts else None

    @property
    def window_ns(self) -> int:
        return self.window[1] - self.window[0] if self.window else 0

    def steady_ns(self, pid: int) -> int:
        """W_steady of a process: the window minus its longest call before its first launch or copy."""
        return max(self.window_ns - int(self.state("api_totals").context_ns(pid)), 0)

    # --- who is there -----------------------------------------------------------------------------

    @cached_property
    def kernel_table(self) -> KernelTable:
        assert self.trace is not None
        return KernelTable(self.state("kernel_totals"), self.trace)

    @cached_property
    def api_table(self) -> ApiTable:
        assert self.trace is not None
        return ApiTable(self.state("api_totals"), self.trace)

    @cached_property
    def gpu_keys(self) -> list[tuple[int, int]]:
        """(pid, device) pairs with rows in any GPU-side table."""
        if self.trace is None:
            return []
        keys = {key for s in GPU_STREAMS for key in self.state(("busy", s, "")).unions}
        return sorted((int(pid), int(device)) for pid, device in keys)

    @cached_property
    def devices_used(self) -> list[int]:
        return sorted({device for _, device in self.gpu_keys if device >= 0})

    @cached_property
    def pids(self) -> list[int]:
        """Processes with GPU rows or API calls."""
        if self.trace is None:
            return []
        return sorted({pid for pid, _ in self.gpu_keys if pid >= 0} | set(self.api_table.pids))

    def keys_in(self, scope: Scope) -> list[tuple[int, int]]:
        return [
            (pid, device)
            for pid, device in self.gpu_keys
            if (scope.device is None or device == scope.device) and self.same_process(scope, pid)
        ]

    def same_process(self, scope: Scope, pid: int) -> bool:
        """Rows without a process id belong to the only process there is, if there is only one."""
        if scope.pid is None or pid == scope.pid:
            return True
        return pid < 0 and len(self.api_table.pids) <= 1

    def busy(self, scope: Scope, streams: tuple[str, ...] = ("kernels",), family: str = "") -> Intervals:
        """Union of the intervals of these streams in the scope."""
        key = ("busy", scope, streams, family)
        if key not in self.cache:
            sets = []
            for stream in streams:
                unions = self.state(("busy", stream, family)).unions
                sets += [unions[k].result() for k in self.keys_in(scope) if k in unions]
            self.cache[key] = join(sets) if sets else empty()
        return self.cache[key]  # type: ignore[no-any-return]

    # --- trust ------------------------------------------------------------------------------------

    def stream_problem(self, stream: str) -> Fact | None:
        """Why nothing can be said from this stream at all: no trace, no table, or a damaged one."""
        if self.trace is None:
            return unknown("there is no trace", stream)
        if stream in self.trace.export.broken:
            return unknown(f"the table of {stream.replace('_', ' ')} is damaged", stream)
        if not self.trace.rows.get(stream):
            return unknown(f"the trace holds no {stream.replace('_', ' ')}", stream)
        return None

    def column_problem(self, stream: str, *columns: str) -> Fact | None:
        assert self.trace is not None
        present = self.trace.export.stream_columns(stream)
        lost = [c for c in columns if c not in present]
        if lost:
            return unknown(f"the export lacks {stream}.{lost[0]}", *(f"{stream}.{c}" for c in lost))
        return None

    def scope_problem(self, stream: str, scope: Scope) -> Fact | None:
        """A scope that the stream has no column for."""
        wanted = ["device"] if scope.device is not None else []
        # Without process ids the rows are attributed only when there is a single process.
        if scope.pid is not None and len(self.api_table.pids) > 1:
            wanted.append("global_pid")
        return self.column_problem(stream, *wanted) if wanted else None

    def kernels_problem(self, scope: Scope, *columns: str) -> Fact | None:
        """Why kernel rows of this scope cannot be counted on, None when they can."""
        return (
            self.stream_problem("kernels")
            or self.scope_problem("kernels", scope)
            or self.column_problem("kernels", *columns)
            or self.hidden_problem(scope, "kernels")
            or self.lost_problem(scope)
        )

    def activity_problem(self, scope: Scope) -> Fact | None:
        """Why idle time of the GPU cannot be told from busy time. Whole-graph rows count as activity."""
        assert self.trace is not None
        for stream in GPU_STREAMS:
            if stream in self.trace.export.broken:
                return self.stream_problem(stream)
            if self.trace.rows.get(stream) and (problem := self.scope_problem(stream, scope)):
                return problem
        if self.trace.rows.get("graph_launches") and self.graphs_hidden(scope) is not None:
            return self.lost_problem(scope)
        return self.kernels_problem(scope) or self.copies_problem(scope)

    def hidden_problem(self, scope: Scope, stream: str) -> Fact | None:
        if self.trace is not None and "graph_launches" in self.trace.export.broken:
            return self.stream_problem("graph_launches")
        share = self.graphs_hidden(scope)
        if share is None:
            return unknown("CUDA graphs ran but none of their work was recorded", f"{stream}.graph")
        if share > HIDDEN_SHARE:
            return unknown(f"{share:.0%} of the busy time is hidden inside CUDA graphs", f"{stream}.graph")
        return None

    def graphs_hidden(self, scope: Scope) -> float | None:
        """Share of busy time that is whole-graph rows; None when graphs ran and left no trace at all."""
        key = ("hidden", scope)
        if key not in self.cache:
            graphs = self._graphs(scope)
            whole = join([graphs, self.busy(scope, GPU_STREAMS)])
            share: float | None = graphs.covered_ns / whole.covered_ns if len(whole) else 0.0
            self.cache[key] = None if self._graphs_unrecorded(scope) else share
        return self.cache[key]  # type: ignore[no-any-return]

    def _graphs_unrecorded(self, scope: Scope) -> bool:
        """A process of the scope launched graphs of which there is neither a graph row nor a kernel."""
        recorded = {pid for pid, _ in self.state(("busy", "graph_launches", "")).unions}
        recorded |= set(self.state("kernel_totals").graph_nodes)
        if not self.api_table.pids or NO_PID in recorded:  # rows without a process may be anyone's
            return not recorded and self.api_table.succeeded("graph_launch") > 0
        return any(
            pid not in recorded and self.api_table.succeeded("graph_launch", Scope(pid=pid)) > 0
            for pid in (self.api_table.pids if scope.pid is None else [scope.pid])
        )

    def _graphs(self, scope: Scope) -> Intervals:
        """Whole-graph rows that may be of the scope: a row without a device or process may hide any."""
        unions = self.state(("busy", "graph_launches", "")).unions
        return join(
            [
                union.result()
                for (pid, device), union in unions.items()
                if (scope.device is None or device in (scope.device, -1))
                and (scope.pid is None or pid in (scope.pid, -1))
            ]
        )

    def lost_problem(self, scope: Scope) -> Fact | None:
        pids = {pid for pid, _ in self.keys_in(scope)} | ({scope.pid} if scope.pid is not None else set())
        for pid in sorted(pids):
            problem = self._lost(pid)
            if problem is not None:
                return problem
        return None

    def _lost(self, pid: int) -> Fact | None:
        key = ("lost", pid)
        if key in self.cache:
            return self.cache[key]  # type: ignore[no-any-return]
        rows = self.state("kernel_totals").totals
        problem = None
        if any(k[0] == pid for k in rows):
            problem = (
                self.stream_problem("api_calls")
                or self.column_problem("kernels", "correlation")
                or self.column_problem("api_calls", "correlation", "name_id", "global_tid")
                or self._lost_launches(pid)
            )
        elif pid >= 0 and not any(k[0] == NO_PID for k in rows):
            problem = self._lost_process(pid)
        self.cache[key] = problem
        return problem

    def _lost_process(self, pid: int) -> Fact | None:
        """A process that launched kernels and has no kernel row at all (whole graphs hide theirs)."""
        one = Scope(pid=pid)
        if self.api_table.count("graph_launch", one) or self.api_table.succeeded("launch", one) <= 0:
            return None
        return unknown("none of the launches of this process has a kernel row", "kernels.complete")

    def _lost_launches(self, pid: int) -> Fact | None:
        launches, kernels = self.state(("bits", "launch")).bits, self.state(("bits", "kernels")).bits
        owner = pid if pid >= 0 else next(iter(self.api_table.pids), -1)
        if owner not in launches and not self.api_table.count("graph_launch", Scope(pid=owner)):
            return unknown(
                "no launch call of this process was recorded, so lost kernels cannot be excluded", "api_calls"
            )
        captured = self.state("captures").ranges(owner)
        lost, all_launches = missing_share(launches.get(owner), kernels.get(pid), captured)
        if all_launches and lost / all_launches > LOST_SHARE:
            share = lost / all_launches
            return unknown(
                f"events were lost: {share:.1%} of the launches have no kernel row", "kernels.complete"
            )
        return None

    def names_problem(self, scope: Scope) -> Fact | None:
        """Kernels whose full name is not in the export cannot be told apart.

        Short names cannot: a copy, a cast and an addition of PyTorch share one.
        """
        assert self.trace is not None
        column = self.trace.export.stream_columns("kernels").get("name_id")
        if column != "demangledName":
            return unknown(f"the export holds only {column} of kernels", "kernels.name_id")
        counted = self.kernel_table.select(scope)
        total = int(counted.count.sum())
        unnamed = int(counted.count[counted.code == 0].sum())
        if total and unnamed / total > UNNAMED_SHARE:
            return unknown(
                f"{unnamed / total:.0%} of the kernels have no name in the export", "kernels.name_id"
            )
        return None

    def copies_problem(self, scope: Scope, *columns: str) -> Fact | None:
        """Why copy rows cannot be counted on. No copy table means no copies only when that is certain."""
        problem = self.stream_problem("copies")
        if problem is not None:
            if self.trace is None or "copies" in self.trace.export.broken or not self.certainly_no_copies:
                return problem
            return None
        return (
            self.scope_problem("copies", scope)
            or self.column_problem("copies", *columns)
            or self.hidden_problem(scope, "copies")
        )

    @cached_property
    def certainly_no_copies(self) -> bool:
        """Kernels are recorded, no graph ran, and no copy call succeeded."""
        if self.stream_problem("kernels") or self.stream_problem("api_calls"):
            return False
        if self.column_problem("api_calls", "name_id") or self.api_table.unnamed_share > UNNAMED_SHARE:
            return False
        graphs = self.trace is not None and self.trace.rows.get("graph_launches", 0)
        graphs = graphs or self.api_table.count("graph_launch", Scope())
        return not graphs and not self.api_table.succeeded("memcpy")

    def api_problem(self, scope: Scope, *columns: str) -> Fact | None:
        """Why API calls of this scope cannot be counted on, None when they can."""
        problem = self.stream_problem("api_calls") or self.column_problem(
            "api_calls", "name_id", "global_tid", *columns
        )
        if problem is None and self.api_table.unnamed_share > UNNAMED_SHARE:
            return unknown("API calls have no name in the export", "api_calls.name_id")
        return problem or self._start_up_only(scope)

    def _start_up_only(self, scope: Scope) -> Fact | None:
        """A capture that ended while the program was still loading says nothing about what it does."""
        calls = int(self.api_table.select(scope).count.sum())
        if calls >= FEW_CALLS or self.keys_in(scope):
            return None
        return unknown(f"only {calls} API calls and no GPU work were recorded", "api_calls")

    def duplicates_problem(self) -> Fact | None:
        """Without eventClass repeated rows cannot be told apart: a time might count twice."""
        assert self.trace is not None
        if self.trace.export.deduplicated("api_calls"):
            return None
        return unknown(
            "the export lacks api_calls.eventClass: calls may be listed twice", "api_calls.event_class"
        )
