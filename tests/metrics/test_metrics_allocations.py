"""Pool and memory-event metrics on hand-made traces; the arithmetic stands beside each value."""

from __future__ import annotations

from pathlib import Path

import pytest
from make_export import MEMORY, Trace
from measuring import Asked

from diagnose.scope import Scope

P100, P200 = Scope(pid=100), Scope(pid=200)


@pytest.fixture
def growing(tmp_path: Path) -> Asked:
    """16 events 2,048 ns apart: reserved 100 … 250, in use 80 … 95; process 200 has a small flat pool."""
    trace = Trace()
    for i in range(16):
        trace.memory(2048 * i, 10 + i, pool=(100 + 10 * i, 80 + i), threshold=0)
    for i in range(16):
        trace.memory(2048 * i, 5, pid=200, pool=(50, 20), pool_address=9)
    trace.memory(0, 1000)  # an ordinary cudaMalloc has no pool
    trace.memory(40_000, 1000, kind=1)  # pinned host memory
    return Asked(tmp_path, trace)


def test_growth_from_the_first_to_the_last_quarter(growing: Asked) -> None:
    # 30,720 ns; quarter 7,680: events 0…3 and 12…15. Size medians 115 and 235, use 81.5 and 93.5.
    v = growing.value
    assert v("pool_growth_ratio", P100) == pytest.approx(235 / 115)
    assert v("pool_used_growth_ratio", P100) == pytest.approx(12 / 120)
    assert v("pool_slack_ratio", P100) == pytest.approx(1 - 93.5 / 235)
    assert v("pool_growth_ratio") == pytest.approx(235 / 115)  # the run: the largest pool
    assert v("pool_growth_ratio", P200) == 1.0
    assert growing.unknown("pool_used_growth_ratio", P200) == "the pool did not grow"


def test_sizes_at_the_peak(growing: Asked) -> None:
    assert growing.value("pool_peak_bytes", P100) == 250
    assert growing.value("pool_unused_bytes", P100) == 250 - 95
    assert growing.value("pool_unused_bytes", P200) == 30


def test_the_release_threshold(growing: Asked, tmp_path: Path) -> None:
    assert growing.value("pool_release_threshold", P100) == 0.0
    assert "not recorded" in growing.unknown("pool_release_threshold", P200)
    trace = Trace()
    trace.memory(0, 1, pool=(5, 5), threshold=-1)  # 2^64 - 1 as SQLite keeps it
    assert Asked(tmp_path, trace).value("pool_release_threshold") == float(2**64 - 1)


def test_live_bytes_against_the_pool(tmp_path: Path) -> None:
    """Pool 100 → 220 (medians 115 and 235 as above); every allocation lives on, of 3 bytes each."""
    trace = Trace()
    for i in range(16):
        trace.memory(2048 * i, 3, pool=(100 + 10 * i, 50))
    # Live after event i: 3 (i + 1). Buckets of 1,024 ns carry on. First quarter (0…7,680): 8 buckets
    # 3, 3, 6, 6, 9, 9, 12, 12 → median 7.5. Last quarter from 23,040: buckets 23 … 30, whose live bytes
    # are 36, 39, 39, 42, 42, 45, 45, 48 → 42. Growth 34.5 of 120.
    assert Asked(tmp_path, trace).value("live_growth_ratio") == pytest.approx(34.5 / 120)
    freed = Trace()
    for i in range(16):
        freed.memory(2048 * i, 3, pool=(100 + 10 * i, 50))
        freed.memory(2048 * i + 100, 3, free=True, pool=(100 + 10 * i, 50))
    assert Asked(tmp_path, freed).value("live_growth_ratio") == 0.0


def test_sizes_of_pool_allocations(growing: Asked) -> None:
    # process 100: 10 … 25; process 200: sixteen of 5
    assert growing.value("alloc_size_share", P100, lo_bytes=10, hi_bytes=13) == pytest.approx(4 / 16)
    assert growing.value("alloc_size_share", lo_bytes=5, hi_bytes=5) == pytest.approx(16 / 32)
    assert growing.value("alloc_size_share", lo_bytes=26, hi_bytes=2000) == 0.0


def test_a_timeline_as_proof(growing: Asked) -> None:
    rows = growing.exhibit("pool_timeline", P100, limit=2)
    assert [(r.start_ns, r.detail, r.pid) for r in rows] == [
        (0, "100 bytes reserved, 80 in use", 100),
        (30_720, "250 bytes reserved, 95 in use", 100),
    ]


def test_plain_allocations_tell_nothing_about_pools(tmp_path: Path) -> None:
    trace = Trace()
    for i in range(20):
        trace.memory(2048 * i, 10)
    asked = Asked(tmp_path, trace)
    for name in ("pool_growth_ratio", "pool_slack_ratio", "pool_unused_bytes", "live_growth_ratio"):
        assert asked.unknown(name) == "no memory event carries a pool size"
    assert asked.unknown("alloc_size_share", lo_bytes=0, hi_bytes=99) == "no memory event carries a pool size"
    assert asked.exhibit("pool_timeline") == []


@pytest.mark.parametrize(
    ("column", "name"),
    [
        ("localMemoryPoolSize", "pool_growth_ratio"),
        ("localMemoryPoolUtilizedSize", "pool_slack_ratio"),
        ("bytes", "live_growth_ratio"),
        ("memKind", "live_growth_ratio"),
        ("memoryOperationType", "live_growth_ratio"),
    ],
)
def test_columns_before_3_11_are_missing(tmp_path: Path, column: str, name: str) -> None:
    trace = Trace()
    for i in range(16):
        trace.memory(2048 * i, 3, pool=(100 + 10 * i, 50))
    assert "lacks allocations" in Asked(tmp_path, trace, without={MEMORY: [column]}).unknown(name)
    assert "no allocations" in Asked(tmp_path, trace, drop=[MEMORY]).unknown(name)


def test_a_process_needs_the_process_column(tmp_path: Path) -> None:
    trace = Trace()
    for i in range(16):
        trace.memory(2048 * i, 3, pool=(100 + 10 * i, 50))
    asked = Asked(tmp_path, trace, without={MEMORY: ["globalPid"]})
    assert "lacks allocations.global_pid" in asked.unknown("pool_growth_ratio", P100)
    assert asked.value("pool_growth_ratio") == pytest.approx(235 / 115)


def test_few_events_show_no_trend(tmp_path: Path) -> None:
    trace = Trace()
    for i in range(7):
        trace.memory(2048 * i, 3, pool=(100 + 10 * i, 50))
    assert Asked(tmp_path, trace).unknown("pool_growth_ratio") == "too few memory events to see a trend"
    assert Asked(tmp_path, trace).value("pool_unused_bytes") == 110
