"""Memory-event states: pools by address, live bytes, sizes."""

from __future__ import annotations

import pytest
from batches import Row, cuts, fed_apart, feed, names_of
from hypothesis import given
from hypothesis import strategies as st

from diagnose.states.allocations import LiveBytes, Pool, Pools

NAMES = names_of({})


def row(start: int, size: int, operation: int, kind: int, pool: tuple[int, int, int] | None, pid: int) -> Row:
    address, total, used = pool or (None, None, None)
    return {
        "start_ns": start,
        "global_pid": pid << 24,
        "bytes": size,
        "operation": operation,
        "memory_kind": kind,
        "pool_address": address,
        "pool_size": total,
        "pool_used": used,
        "pool_threshold": None,
    }


pools = st.one_of(st.none(), st.tuples(st.integers(1, 2), st.integers(0, 5), st.integers(0, 5)))
tables = st.lists(
    st.builds(
        row,
        st.integers(-20, 20),
        st.integers(1, 3),
        st.integers(0, 2),
        st.sampled_from([1, 2, 5]),
        pools,
        st.integers(3, 4),
    ),
    max_size=30,
)


def pid_of(r: Row) -> int:
    return (r["global_pid"] or 0) >> 24


@given(tables, cuts, st.integers(0, 30))
def test_pools_keep_peak_sizes_and_counts_of_a_loop(rows: list[Row], at: list[int], cut: int) -> None:
    pooled = [r for r in rows if r["pool_size"] is not None]
    groups: dict[tuple[int, int], list[Row]] = {}
    sizes: dict[int, dict[int, int]] = {}
    for r in pooled:
        groups.setdefault((pid_of(r), r["pool_address"] or 0), []).append(r)
        if r["operation"] == 0:
            counts = sizes.setdefault(pid_of(r), {})
            counts[r["bytes"] or 0] = counts.get(r["bytes"] or 0, 0) + 1
    for state in (feed(Pools(), rows, at, NAMES), fed_apart(Pools, rows, cut, NAMES)):
        assert state.rows == len(rows)
        assert set(state.pools) == set(groups)
        assert state.sizes == sizes
        for key, mine in groups.items():
            pool = state.pools[key]
            # The first moment of the largest size, whatever the chunking; the larger use if two share it.
            peak = max((r["pool_size"] or 0, -(r["start_ns"] or 0), r["pool_used"] or 0) for r in mine)
            assert pool.peak == peak
            assert pool.first == min(r["start_ns"] or 0 for r in mine)
            assert pool.newest[0] == max(r["start_ns"] or 0 for r in mine)
            assert int(pool.rows.sums.sum()) == len(mine)
            assert int(pool.size.sums.sum()) == sum(r["pool_size"] or 0 for r in mine)
            assert int(pool.used.sums.sum()) == sum(r["pool_used"] or 0 for r in mine)


@given(tables, cuts, st.integers(0, 30))
def test_live_bytes_count_device_memory_only(rows: list[Row], at: list[int], cut: int) -> None:
    final: dict[int, int] = {}
    for r in rows:
        if r["memory_kind"] == 2 and r["operation"] in (0, 1):  # 1 is pinned host memory, 5 static
            final[pid_of(r)] = final.get(pid_of(r), 0) + (r["bytes"] or 0) * (1 - 2 * (r["operation"] or 0))
    for state in (feed(LiveBytes(), rows, at, NAMES), fed_apart(LiveBytes, rows, cut, NAMES)):
        assert {pid: int(state.live(pid)[1][-1]) for pid in state.change} == final
    assert len(LiveBytes().live(99)[0]) == 0


def test_quartiles_are_medians_of_the_first_and_last_quarter() -> None:
    """16 events 2,048 ns apart: sizes 100…115 MB, used half. Quarter = 7,680 ns: 4 events each end."""
    rows = [row(2048 * i, 1, 0, 2, (1, 100 + i, 50 + i), 3) for i in range(16)]
    pool = feed(Pools(), rows, [5], NAMES).pools[(3, 1)]
    # first quarter: 100, 101, 102, 103 → 101.5; last: 112 … 115 → 113.5
    assert pool.quartiles() == (101.5, 113.5, 51.5, 63.5)


@pytest.mark.parametrize("count", [0, 1, 7])
def test_few_events_give_no_trend(count: int) -> None:
    rows = [row(5000 * i, 1, 0, 2, (1, 100, 50), 3) for i in range(count)]
    state = feed(Pools(), rows, [], NAMES)
    assert (state.pools[(3, 1)] if count else Pool()).quartiles() is None


def test_without_pool_columns_no_pool_is_seen() -> None:
    rows = [{k: v for k, v in row(0, 1, 0, 2, None, 3).items() if k not in ("pool_size", "pool_used")}]
    state = feed(Pools(), rows, [], NAMES)
    assert (state.pools, state.rows) == ({}, 1)
