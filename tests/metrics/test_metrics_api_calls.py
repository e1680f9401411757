"""API-call metrics on hand-made traces; the arithmetic stands beside each value."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from make_export import GRAPH_LAUNCH, LAUNCH, Trace
from measuring import Asked

from diagnose import states
from diagnose.metrics.measurements import FEW_CALLS
from diagnose.scope import Scope
from diagnose.states.intervals import Collector

SYNC, MALLOC, FREE = "cudaStreamSynchronize_v3020", "cudaMallocAsync_v11020", "cudaFree_v3020"
P100, P200 = Scope(pid=100), Scope(pid=200)


@pytest.fixture
def two_threads(tmp_path: Path) -> Asked:
    """Process 100: thread 1 makes the context (cudaFree 0…200 of 1000), launches, syncs 400…500;
    thread 2 syncs 300…600 and 700…750. Process 200: launch at 990. Kernels 300…450 and 991…1000."""
    trace = Trace()
    trace.api(0, 200, FREE)
    trace.launch(300, 450, at=250)
    trace.api(400, 500, SYNC)
    trace.api(300, 600, SYNC, tid=2)
    trace.api(700, 750, SYNC, tid=2)
    trace.launch(991, 1000, pid=200, at=980)
    return Asked(tmp_path, trace)


def test_counts_and_times_over_threads(two_threads: Asked) -> None:
    v = two_threads.value
    assert v("api_count", group="sync") == 3 and v("api_count", P200, group="sync") == 0
    assert v("api_time_ns", group="sync") == 450 and v("api_time_ns", P100, group="launch") == 1
    assert v("api_count", group="launch") == 2 and v("api_count", P200, group="launch") == 1
    assert v("api_per_launch", P100, group="sync") == 3.0 and v("api_per_launch", group="sync") == 1.5
    assert v("api_per_launch", P100, group="prefetch") == 0.0


def test_wall_share_is_of_one_thread_and_leaves_context_creation_out(two_threads: Asked) -> None:
    # W = 0 … 1000, context 200 → 800. The busiest thread in sync is 2: 350.
    assert two_threads.value("api_wall_share", P100, group="sync") == pytest.approx(350 / 800)
    fact = two_threads.fact("api_wall_share", group="sync")
    source = "api_calls, all processes, thread 2, window without the longest call before any work (200 ns)"
    assert (fact.numerator, fact.denominator, fact.source) == (350, 800, source)
    assert two_threads.value("api_wall_share", P200, group="sync") == 0.0


def test_time_share_is_over_all_calls_of_that_thread(two_threads: Asked) -> None:
    # Thread 2 did nothing else. It did not make the context, though its longest call is longer than that.
    assert two_threads.value("api_time_share", P100, group="sync") == 1.0
    # Thread 1: launch 1 ns, sync 100; cudaFree made the context and is left out of both sides.
    assert two_threads.value("api_time_share", P100, group="launch") == pytest.approx(1 / 101)
    assert two_threads.value("api_time_share", P100, group="free") == 0.0
    assert two_threads.value("api_wall_share", P100, group="free") == 0.0


def test_the_same_group_later_on_still_counts(tmp_path: Path) -> None:
    trace = Trace()
    trace.api(0, 200, FREE)
    trace.launch(300, 310)
    trace.api(400, 440, FREE)
    trace.api(500, 510, SYNC)
    asked = Asked(tmp_path, trace)
    # W_steady = 510 - 200; on the thread: 40 + 10 + 1 without the context
    assert asked.value("api_wall_share", group="free") == pytest.approx(40 / 310)
    assert asked.value("api_time_share", group="free") == pytest.approx(40 / 51)


def test_idle_time_is_blocked_time_without_any_device_activity(two_threads: Asked, tmp_path: Path) -> None:
    # sync in time: 300…600, 700…750 = 350; kernels cover 300…450 → 200 idle
    assert two_threads.value("api_idle_ns", P100, group="sync") == 200
    assert two_threads.value("api_idle_share", P100, group="sync") == pytest.approx(200 / 350)
    assert two_threads.value("api_exposed_ns", P100, group="sync") == 200
    assert two_threads.claim("api_idle_claim", P100, group="sync") == [(0, [(450, 600), (700, 750)])]
    assert two_threads.unknown("api_idle_share", P200, group="sync") == "no call of this group"
    trace = Trace()
    trace.launch(0, 10)
    trace.copy(100, 130)
    trace.memset(140, 150)
    trace.launch(100, 200, pid=200)  # another process: its work does not excuse the wait
    trace.api(100, 200, SYNC)
    trace.api(100, 200, "cudaMemcpy_v3020")
    asked = Asked(tmp_path, trace)
    assert asked.value("api_idle_ns", P100, group="sync") == 100 - 30 - 10
    assert asked.value("api_exposed_ns", P100, group="sync") == 100  # copies do not count as work
    assert asked.claim("api_exposed_claim", P100, group="sync") == [(0, [(100, 200)])]


def test_whole_graphs_count_as_activity(tmp_path: Path) -> None:
    trace = Trace()
    trace.launch(0, 10)
    trace.api(90, 91, GRAPH_LAUNCH)
    trace.graph(100, 180)
    trace.api(100, 200, SYNC)
    assert Asked(tmp_path, trace).value("api_idle_ns", group="sync") == 20
    # lost kernels would make a busy GPU look idle, graphs or not
    for i in range(50):
        trace.api(300 + i, 301 + i, LAUNCH, corr=100 + i)
    trace.kernel(400, 401, corr=200)
    trace.api(399, 400, LAUNCH, corr=200)
    assert "lost" in Asked(tmp_path, trace).unknown("api_idle_ns", group="sync")


def test_without_copy_rows_that_should_be_there_idle_time_is_unknown(tmp_path: Path) -> None:
    trace = Trace()
    trace.launch(0, 10)
    trace.api(20, 30, "cudaMemcpyAsync_v3020")
    trace.api(40, 90, SYNC)
    assert "no copies" in Asked(tmp_path, trace).unknown("api_idle_ns", group="sync")
    assert Asked(tmp_path, trace).value("api_exposed_ns", group="sync") == 50


def test_slow_calls(tmp_path: Path) -> None:
    trace = Trace()
    trace.launch(0, 10)
    trace.launch(20, 30, pid=200)
    for i, length in enumerate((99_000, 100_000, 100_001, 250_000)):
        trace.api(1_000_000 * i, 1_000_000 * i + length, MALLOC)
    asked = Asked(tmp_path, trace)
    assert asked.value("api_slow_ns", group="async_alloc") == 350_001  # longer than 100 µs
    assert asked.value("api_slow_ns", group="async_alloc", over_us=200) == 250_000
    assert asked.value("api_slow_ns", P200, group="async_alloc") == 0.0


def test_the_first_tenth_of_the_window(tmp_path: Path) -> None:
    trace = Trace()
    trace.launch(1, 2, at=0)
    for start in (0, 50, 99, 100, 500, 999):
        trace.api(start, start + 1, MALLOC)
    # W = 0 … 1000: three of six begin before 100.
    fact = Asked(tmp_path, trace).fact("api_first_tenth_share", group="async_alloc")
    assert (fact.value, fact.low, fact.high) == (0.5, 0.5, 0.5)
    assert (
        Asked(tmp_path, trace).unknown("api_first_tenth_share", group="prefetch") == "no call of this group"
    )


def test_failed_launches_by_code(tmp_path: Path) -> None:
    trace = Trace()
    trace.launch(0, 10)
    trace.launch(20, 30, pid=200)
    for code, name in (
        (209, LAUNCH),
        (701, LAUNCH),
        (1, GRAPH_LAUNCH),
        (209, MALLOC),
        (98, "cuLaunchKernel"),
    ):
        trace.api(100, 101, name, code=code)
    asked = Asked(tmp_path, trace)
    assert (
        asked.value("launch_failures") == 3
    )  # 209, 1, 98; 701 is not among the codes, MallocAsync no launch
    assert asked.value("launch_failures", codes="701") == 1
    assert asked.value("launch_failures", P200) == 0


def test_calls_per_launch_without_launches(tmp_path: Path) -> None:
    trace = Trace()
    for i in range(FEW_CALLS):
        trace.api(i, i + 1, SYNC)
    asked = Asked(tmp_path, trace)
    assert asked.unknown("api_per_launch", group="sync") == "the process launched no kernel"
    assert asked.value("api_per_launch", group="prefetch") == 0.0


def test_slow_allocations_after_alloc_and_sync(tmp_path: Path) -> None:
    """Slow ones (over 100 µs): the first (nothing before), the third (after alloc → sync), the fourth."""
    trace = Trace()
    trace.launch(0, 10)
    trace.launch(20, 30, pid=200)
    at = 1000
    for name, length in (
        (MALLOC, 200_000),
        (LAUNCH, 5),
        (SYNC, 10),
        ("cudaFreeAsync_v11020", 7),
        (MALLOC, 5),
        (SYNC, 10),
        (MALLOC, 150_000),
        (MALLOC, 150_000),
    ):
        trace.api(at, at + length, name)
        at += length + 1
    asked = Asked(tmp_path, trace)
    assert asked.value("alloc_sync_alloc_share") == pytest.approx(1 / 3)
    assert asked.value("alloc_sync_alloc_share", over_us=0.001) == pytest.approx(2 / 4)
    assert asked.value("alloc_sync_alloc_share", P200) == 0.0
    trace.tables["CUPTI_ACTIVITY_KIND_RUNTIME"].reverse()
    assert "not in start order" in Asked(tmp_path, trace).unknown("alloc_sync_alloc_share")


def test_the_longest_calls_as_proof(two_threads: Asked) -> None:
    rows = two_threads.exhibit("top_api_calls", limit=2, group="sync")
    assert [(r.start_ns, r.duration_ns, r.pid, r.tid, r.name) for r in rows] == [
        (300, 300, 100, 2, "cudaStreamSynchronize"),
        (400, 100, 100, 1, "cudaStreamSynchronize"),
    ]
    assert two_threads.exhibit("top_api_calls", P200, group="sync") == []


@pytest.mark.parametrize("seed", range(6))
def test_bounds_hold_when_the_bounded_unions_had_to_close_gaps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng = random.Random(seed)
    trace, at = Trace(), 0
    for _ in range(60):
        at += rng.randrange(1, 40)
        trace.launch(at, at + rng.randrange(1, 30))
        trace.copy(at, at + rng.randrange(1, 9))
        trace.api(at, at + rng.randrange(1, 40), SYNC)
    asked = Asked(tmp_path, trace)
    names: dict[str, dict[str, Any]] = {
        "api_idle_share": {"group": "sync"},
        "copy_busy_share": {},
        "kernel_busy_share": {},
    }
    exact = {name: asked.value(name, **params) for name, params in names.items()}
    for module in (states.api_calls, states.copies, states.kernels):
        monkeypatch.setattr(module, "Collector", lambda: Collector(cap=6))
    for name, params in names.items():
        fact = asked.fact(name, **params)
        assert fact.value is not None
        if name == "kernel_busy_share":  # rows in start order: exact all the same
            assert fact.value == pytest.approx(exact[name]) and fact.low is None
            continue
        assert fact.low is not None and fact.high is not None
        assert 0.0 <= fact.low <= exact[name] <= fact.high <= 1.0, name
