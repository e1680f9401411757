"""When a table can be trusted: whatever is missing, hidden, lost, cut or damaged is unknown, never zero."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from make_export import GRAPH_LAUNCH, KERNEL, LAUNCH, MEMCPY, RUNTIME, Trace
from measuring import Asked, text_only, told

from diagnose.metrics.measurements import FEW_CALLS
from diagnose.scope import Scope

GPU0, GPU1 = Scope(device=0), Scope(device=1)
SYNC = "cudaDeviceSynchronize_v3020"


def launches(count: int = 10, trace: Trace | None = None, **how: int) -> Trace:
    trace = trace or Trace()
    for i in range(count):
        trace.launch(100 * i + 10, 100 * i + 60, corr=i + 1, **how)
    return trace


# --- no kernel table --------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", [Scope(), GPU0, Scope(pid=100)])
def test_no_kernel_table_is_unknown_never_zero(tmp_path: Path, scope: Scope) -> None:
    """WSL2, un-traced GPUs and failed runs look alike: launches, but nothing on the GPU side."""
    trace = launches()
    asked = Asked(tmp_path, trace, drop=[KERNEL])
    for name in ("kernel_count", "kernel_time_ns", "kernel_max_ns"):
        assert "no kernels" in asked.unknown(name, scope)
    for name in ("copy_count", "copy_bytes"):
        assert "no copies" in asked.unknown(name, scope)  # nothing on the GPU side is recorded
    assert asked.unknown("kernel_busy_share")
    assert asked.value("api_count", group="launch") == 10


def test_without_a_trace_everything_of_a_trace_is_unknown() -> None:
    for name in ("kernel_count", "copy_count", "api_count", "pool_growth_ratio", "um_bytes"):
        params: dict[str, Any] = {"group": "sync"} if name == "api_count" else {}
        assert told({}, name, **params).why_unknown == "there is no trace"
    assert told({}, "window_ns").value is None
    m = text_only({})
    assert (m.window, m.window_ns, m.gpu_keys, m.devices_used, m.pids) == (None, 0, [], [], [])


# --- CUDA graphs --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("graph_ns", "share"), [(50, 0.09), (56, 0.1), (57, 0.102), (500, 0.5)])
def test_graphs_that_hide_more_than_a_tenth_make_kernels_and_copies_unknown(
    tmp_path: Path, graph_ns: int, share: float
) -> None:
    trace = launches()  # 10 kernels of 50 ns: 500 ns busy
    trace.copy(5000, 5004)
    trace.api(1999, 2000, GRAPH_LAUNCH)
    trace.graph(2000, 2000 + graph_ns)
    asked = Asked(tmp_path, trace)
    # graph / (500 kernels + 4 copy + graph)
    assert asked.value("graphs_hidden_share") == pytest.approx(graph_ns / (504 + graph_ns))
    assert asked.value("graphs_hidden_share") == pytest.approx(share, abs=0.01)
    for name in ("kernel_count", "copy_count"):
        if graph_ns > 56:  # 56 of 560 is a tenth, not more
            assert "hidden inside CUDA graphs" in asked.unknown(name)
            assert "hidden inside CUDA graphs" in asked.unknown(name, GPU0)
        else:
            assert asked.value(name) == {"kernel_count": 10, "copy_count": 1}[name]


def test_graph_launches_without_any_graph_row_are_unknown(tmp_path: Path) -> None:
    trace = launches()
    trace.copy(5000, 5004)
    trace.api(6000, 6001, GRAPH_LAUNCH)
    asked = Asked(tmp_path, trace)
    for name in ("kernel_count", "copy_count"):
        assert "none of their work was recorded" in asked.unknown(name)
    assert asked.unknown("graphs_hidden_share")
    assert asked.unknown("api_idle_share", group="launch")


def test_graph_launches_that_failed_or_show_as_nodes_hide_nothing(tmp_path: Path) -> None:
    failed = launches()
    failed.api(6000, 6001, GRAPH_LAUNCH, code=1)
    assert Asked(tmp_path, failed).value("kernel_count") == 10
    nodes = launches()
    nodes.api(6000, 6001, GRAPH_LAUNCH, corr=77)
    nodes.kernel(6010, 6020, corr=77, node=5)
    asked = Asked(tmp_path, nodes)
    assert asked.value("kernel_count") == 11 and asked.value("graphs_hidden_share") == 0.0


def test_graphs_of_one_process_or_gpu_say_nothing_about_another(tmp_path: Path) -> None:
    trace = launches(pid=100)
    launches(trace=trace, pid=200, device=1)
    trace.api(1999, 2000, GRAPH_LAUNCH, pid=200)
    trace.graph(2000, 2500, pid=200, device=1)
    asked = Asked(tmp_path, trace)
    assert asked.value("kernel_count", GPU0) == 10
    assert asked.value("kernel_count", Scope(pid=100)) == 10
    assert asked.value("graphs_hidden_share", GPU0) == 0.0
    assert "hidden" in asked.unknown("kernel_count", GPU1)
    assert "hidden" in asked.unknown("kernel_count", Scope(pid=200))


def test_graphs_of_a_second_process_that_left_no_row_are_not_excused_by_the_first(tmp_path: Path) -> None:
    trace = launches(pid=100)
    trace.api(1999, 2000, GRAPH_LAUNCH, pid=100)
    trace.graph(2000, 2005, pid=100)
    launches(trace=trace, pid=200, device=1)
    trace.api(1999, 2000, GRAPH_LAUNCH, pid=200)
    asked = Asked(tmp_path, trace)
    assert asked.value("kernel_count", Scope(pid=100)) == 10
    assert "none of their work" in asked.unknown("kernel_count", Scope(pid=200))
    assert "none of their work" in asked.unknown("kernel_count")


# --- lost events --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("lost", "known"), [(0, True), (2, True), (3, False)])
def test_more_than_one_percent_of_launches_without_a_kernel_are_lost_events(
    tmp_path: Path, lost: int, known: bool
) -> None:
    trace = launches(201)  # ids 1 … 201, and the kernels of ids 50 … are taken away
    trace.tables[KERNEL] = [r for r in trace.tables[KERNEL] if not 50 <= r["correlationId"] < 50 + lost]
    asked = Asked(tmp_path, trace)
    # 2 / 201 = 0.995 %, 3 / 201 = 1.49 %
    if known:
        assert asked.value("kernel_count") == 201 - lost
    else:
        assert "1.5% of the launches have no kernel row" in asked.unknown("kernel_count")
        assert asked.unknown("kernel_busy_share") and asked.unknown("copy_exposed_ns")


def test_launches_outside_the_range_of_kernels_mean_a_cut_trace_not_lost_events(tmp_path: Path) -> None:
    trace = launches(100)
    trace.tables[KERNEL] = [r for r in trace.tables[KERNEL] if 30 <= r["correlationId"] <= 60]
    assert Asked(tmp_path, trace).value("kernel_count") == 31


def test_launches_that_failed_have_no_kernel_by_right(tmp_path: Path) -> None:
    trace = launches(50)
    trace.tables[KERNEL] = [r for r in trace.tables[KERNEL] if not 20 <= r["correlationId"] < 30]
    for row in trace.tables[RUNTIME]:
        row["returnValue"] = 701 if 20 <= row["correlationId"] < 30 else 0
    assert Asked(tmp_path, trace).value("kernel_count") == 40


def test_launches_that_are_captured_into_a_graph_have_no_kernel_of_their_own(tmp_path: Path) -> None:
    """A captured launch only records a node; the kernel runs under the id of the graph launch."""
    trace = launches(50)
    trace.tables[KERNEL] = [r for r in trace.tables[KERNEL] if not 20 <= r["correlationId"] < 40]
    assert "lost" in Asked(tmp_path, trace).unknown("kernel_count")
    for row in trace.tables[RUNTIME]:
        row["correlationId"] *= 10
    for row in trace.tables[KERNEL]:
        row["correlationId"] *= 10
    trace.api(1905, 1906, "cudaStreamBeginCapture_v10000", corr=195)
    trace.api(3905, 3906, "cudaStreamEndCapture_v10000", corr=395)
    assert Asked(tmp_path, trace).value("kernel_count") == 30


def test_ids_are_joined_within_a_process(tmp_path: Path) -> None:
    """Correlation ids repeat: the kernels of one process are no proof for the launches of another."""
    trace = launches(100, pid=100)
    launches(100, trace, pid=200)
    trace.tables[KERNEL] = [
        r
        for r in trace.tables[KERNEL]
        if r["globalPid"] >> 24 & 0xFFFFFF == 100 or not 40 <= r["correlationId"] < 60
    ]
    asked = Asked(tmp_path, trace)
    assert asked.value("kernel_count", Scope(pid=100)) == 100
    assert "20.0%" in asked.unknown("kernel_count", Scope(pid=200))
    assert "20.0%" in asked.unknown("kernel_count", GPU0)  # both ran on it


def test_a_process_without_a_single_kernel_row_for_its_launches_is_unknown(tmp_path: Path) -> None:
    trace = launches(pid=100)
    launches(trace=trace, pid=200)
    trace.tables[KERNEL] = [r for r in trace.tables[KERNEL] if r["globalPid"] >> 24 & 0xFFFFFF == 100]
    trace.api(9000, 9001, "cudaMalloc_v3020", pid=300)
    asked = Asked(tmp_path, trace)
    assert asked.value("kernel_count", Scope(pid=100)) == 10
    assert "none of the launches" in asked.unknown("kernel_count", Scope(pid=200))
    assert asked.value("kernel_count", Scope(pid=300)) == 0  # it launched nothing
    assert asked.value("kernel_count", GPU0) == 10


def test_without_launch_rows_lost_kernels_cannot_be_excluded(tmp_path: Path) -> None:
    assert Asked(tmp_path, launches(), drop=[RUNTIME]).unknown("kernel_count")
    trace = launches()
    trace.tables[RUNTIME] = []
    trace.api(0, 1, SYNC)
    assert "no launch call" in Asked(tmp_path, trace).unknown("kernel_count")
    for table, column in (
        (KERNEL, "correlationId"),
        (RUNTIME, "correlationId"),
        (RUNTIME, "globalTid"),
        (RUNTIME, "nameId"),
    ):
        assert "lacks" in Asked(tmp_path, launches(), without={table: [column]}).unknown("kernel_count")
    assert Asked(tmp_path, launches(), without={RUNTIME: ["returnValue"]}).value("kernel_count") == 10


# --- names, columns, scopes ---------------------------------------------------------------------------


@pytest.mark.parametrize(("unnamed", "known"), [(1, True), (2, False)])
def test_more_than_one_percent_of_unnamed_kernels_hide_the_families(
    tmp_path: Path, unnamed: int, known: bool
) -> None:
    trace = launches(101)
    for row in trace.tables[KERNEL][:unnamed]:
        row |= {"demangledName": 9999, "shortName": 9998}
    asked = Asked(tmp_path, trace)
    assert asked.value("kernel_count") == 101
    assert asked.value("kernel_time_ns") == 5050
    if known:  # 1 of 101 = 0.99 %
        assert asked.value("kernel_count", family="fp8_gemm") == 0
    else:
        assert "2% of the kernels have no name" in asked.unknown("kernel_count", family="fp8_gemm")
        assert asked.unknown("kernel_time_share", family="fp8_gemm")


def test_without_any_name_column_families_are_unknown_and_counts_are_not(tmp_path: Path) -> None:
    asked = Asked(tmp_path, launches(), without={KERNEL: ["demangledName", "shortName"]})
    assert asked.value("kernel_count") == 10
    assert "lacks kernels.name_id" in asked.unknown("kernel_count", family="fp8_gemm")
    assert "no name" in Asked(tmp_path, launches(), drop=["StringIds"]).unknown("api_count", group="sync")


def test_a_scope_needs_its_column(tmp_path: Path) -> None:
    two = launches(5, pid=100)
    launches(7, two, pid=200, device=1)
    two.copy(4000, 4010, pid=200, device=1)
    blind = Asked(tmp_path, two, without={KERNEL: ["deviceId"], MEMCPY: ["deviceId"]})
    assert blind.value("kernel_count") == 12 and blind.value("copy_count") == 1
    assert "lacks kernels.device" in blind.unknown("kernel_count", GPU0)
    assert "lacks copies.device" in blind.unknown("copy_count", GPU0)
    assert blind.value("kernel_count", Scope(pid=200)) == 7
    blind = Asked(tmp_path, two, without={KERNEL: ["globalPid"], MEMCPY: ["globalPid"]})
    assert "lacks kernels.global_pid" in blind.unknown("kernel_count", Scope(pid=100))
    assert "lacks copies.global_pid" in blind.unknown("copy_count", Scope(pid=100))


def test_rows_without_a_process_belong_to_the_only_process(tmp_path: Path) -> None:
    trace = launches(5)
    trace.copy(4000, 4010)
    asked = Asked(tmp_path, trace, without={KERNEL: ["globalPid"], MEMCPY: ["globalPid"]})
    assert asked.value("kernel_count", Scope(pid=100)) == 5
    assert asked.value("copy_count", Scope(pid=100)) == 1
    assert asked.value("kernel_count", GPU0) == 5


# --- copies ---------------------------------------------------------------------------------------------


def test_no_copy_table_means_no_copies_only_when_that_is_certain(tmp_path: Path) -> None:
    assert Asked(tmp_path, launches()).value("copy_count") == 0.0
    with_call = launches()
    with_call.api(5000, 5001, "cudaMemcpyAsync_v3020")
    assert "no copies" in Asked(tmp_path, with_call).unknown("copy_count")
    failed = launches()
    failed.api(5000, 5001, "cudaMemcpyAsync_v3020", code=1)
    assert Asked(tmp_path, failed).value("copy_count") == 0.0
    graphs = launches()
    graphs.api(5000, 5001, GRAPH_LAUNCH, corr=99)
    graphs.kernel(5002, 5003, corr=99, node=4)  # a graph may hold copies, which a node-level row would show
    assert "no copies" in Asked(tmp_path, graphs).unknown("copy_count")
    assert "no copies" in Asked(tmp_path, launches(), drop=[RUNTIME]).unknown("copy_count")
    unnamed = launches()
    for row in unnamed.tables[RUNTIME]:
        row["nameId"] = 9999
    assert "no copies" in Asked(tmp_path, unnamed).unknown("copy_count")


# --- API calls ------------------------------------------------------------------------------------------


def test_without_event_class_calls_may_be_listed_twice(tmp_path: Path) -> None:
    trace = launches()
    trace.api(5000, 5200, SYNC)
    trace.api(6000, 6001, LAUNCH, code=209)
    asked = Asked(tmp_path, trace, without={RUNTIME: ["eventClass"]})
    for name in (
        "api_count",
        "api_time_ns",
        "api_wall_share",
        "api_time_share",
        "api_slow_ns",
        "api_idle_ns",
        "api_idle_share",
        "api_exposed_ns",
        "api_per_launch",
        "api_first_tenth_share",
    ):
        assert "eventClass" in asked.unknown(name, group="sync"), name
    assert "eventClass" in asked.unknown("launch_failures")
    assert asked.value("api_count", group="prefetch") == 0.0  # none is none, however often it is listed
    assert asked.value("api_time_ns", group="prefetch") == 0.0
    assert asked.value("launch_failures", codes="2") == 0.0


@pytest.mark.parametrize(("calls", "known"), [(FEW_CALLS - 1, False), (FEW_CALLS, True)])
def test_a_few_calls_without_gpu_work_are_a_program_still_loading(
    tmp_path: Path, calls: int, known: bool
) -> None:
    trace = Trace()
    for i in range(calls):
        trace.api(i, i + 1, SYNC)
    trace.launch(10_000, 10_010, pid=200)
    asked = Asked(tmp_path, trace)
    if known:
        assert asked.value("api_count", Scope(pid=100), group="sync") == calls
    else:
        assert "no GPU work" in asked.unknown("api_count", Scope(pid=100), group="sync")
    assert asked.value("api_count", Scope(pid=200), group="sync") == 0.0  # it has GPU work
    assert asked.value("api_count", group="sync") == calls
    assert asked.unknown("api_count", Scope(pid=999), group="sync")


@pytest.mark.parametrize("column", ["nameId", "globalTid"])
def test_api_metrics_need_names_and_threads(tmp_path: Path, column: str) -> None:
    asked = Asked(tmp_path, launches(), without={RUNTIME: [column]})
    assert "lacks api_calls" in asked.unknown("api_count", group="sync")
    assert "lacks api_calls.return_code" in Asked(
        tmp_path, launches(), without={RUNTIME: ["returnValue"]}
    ).unknown("launch_failures")
