"""Copy states against plain loops: kinds, causes, host memory, granules."""

from __future__ import annotations

from typing import Any

import pytest
from batches import Row, cuts, fed_apart, feed, names_of
from hypothesis import given
from hypothesis import strategies as st

from diagnose.states.copies import GRANULE_BITS, Copies, CopyTotal, Granules

NAMES = names_of({})
MIB = 1 << 20


def row(
    start: int, length: int, size: int, kind: int | None, src: int | None, dst: int | None, **more: Any
) -> Row:
    base: Row = {
        "start_ns": start,
        "end_ns": start + length,
        "device": 0,
        "stream": 7,
        "global_pid": 3 << 24,
        "correlation": 0,
        "bytes": size,
        "kind": kind,
        "src_memory": src,
        "dst_memory": dst,
        "um_cause": None,
        "address": None,
    }
    return base | more


memory = st.sampled_from([None, 0, 1, 2, 7])
drawn = st.builds(
    lambda start, length, size, kind, src, dst, cause, device: row(
        start, length, size, kind, src, dst, um_cause=cause, device=device
    ),
    st.integers(-50, 50),
    st.integers(0, 9),
    st.integers(0, 4),
    st.sampled_from([None, 1, 2, 3, 8, 10, 11, 12, 13]),
    memory,
    memory,
    st.sampled_from([None, 1, 2, 3]),
    st.integers(0, 1),
)
KINDS = {
    "htod": {1},
    "dtoh": {2},
    "dtod": {8},
    "all": set(range(1, 11)),
    "um_any": {11, 12, 13},
    "um_htod": {11},
    "um_dtoh": {12},
}
CAUSES: dict[str, set[int | None]] = {
    "any": {None, 1, 2, 3},
    "prefetch": {1},
    "fault": {2},
    "speculative": {3},
}


def expected(rows: list[Row], kind: str, size: int, cause: str) -> dict[tuple[int, int], CopyTotal]:
    out: dict[tuple[int, int], CopyTotal] = {}
    for r in rows:
        if r["kind"] not in KINDS[kind] or (r["bytes"] or 0) < size or r["um_cause"] not in CAUSES[cause]:
            continue
        time = (r["end_ns"] or 0) - (r["start_ns"] or 0)
        # From the host (HtoD 1, HtoA 3, HtoH 9) the source tells the memory kind, else the destination.
        host = r["src_memory"] if r["kind"] in (1, 3, 9) else r["dst_memory"]
        out.setdefault((3, r["device"] or 0), CopyTotal()).add(
            CopyTotal(
                1, r["bytes"] or 0, time, time * (host == 0), time * (host == 1), time * (host in (None, 7))
            )
        )
    return out


@given(
    st.lists(drawn, max_size=30),
    cuts,
    st.integers(0, 30),
    st.sampled_from(sorted(KINDS)),
    st.sampled_from([0, 2]),
    st.sampled_from(sorted(CAUSES)),
)
def test_totals_are_those_of_a_loop(
    rows: list[Row], at: list[int], cut: int, kind: str, size: int, cause: str
) -> None:
    whole = expected(rows, kind, size, cause)
    assert feed(Copies(kind, size, cause), rows, at, NAMES).totals == whole
    merged = fed_apart(lambda: Copies(kind, size, cause), rows, cut, NAMES)
    assert merged.totals == whole
    for (pid, device), collector in merged.unions.items():
        moments = {
            t
            for r in rows
            if r["device"] == device and expected([r], kind, size, cause)
            for t in range(r["start_ns"] or 0, r["end_ns"] or 0)
        }
        assert (pid, collector.result().covered_ns) == (3, len(moments))


def test_the_longest_copies_are_kept_with_size_and_source_memory() -> None:
    rows = [row(100 * i, i, 10 * i, 1, 0, 2) for i in range(50)]
    top = feed(Copies("htod"), rows, [13, 14], NAMES).top[(3, 0)]
    assert [r[0] for r in top] == list(range(49, 29, -1))
    assert top[0] == (49, 4900, 7, 490, 0, 0)


@pytest.mark.parametrize("column", ["kind", "um_cause", "bytes"])
def test_without_the_column_that_chooses_rows_nothing_is_counted(column: str) -> None:
    rows = [{k: v for k, v in row(0, 5, 9, 11, None, None, um_cause=1).items() if k != column}]
    assert feed(Copies("um_any", 1, "prefetch"), rows, [], NAMES).totals == {}


def test_without_memory_kinds_the_time_counts_as_unknown() -> None:
    rows = [{k: v for k, v in row(0, 5, 9, 1, None, None).items() if k not in ("src_memory", "dst_memory")}]
    total = feed(Copies("htod"), rows, [], NAMES).totals[(3, 0)]
    assert (total.sum_ns, total.pageable_ns, total.pinned_ns, total.kind_unknown_ns) == (5, 0, 0, 5)


# --- granules of managed memory ---------------------------------------------------------------------

moves = st.builds(
    lambda kind, cause, address, pid: row(
        0, 1, 4096, kind, 7, 7, um_cause=cause, address=address, global_pid=pid << 24
    ),
    st.sampled_from([1, 11, 11, 11, 12]),
    st.sampled_from([1, 2]),
    st.one_of(st.none(), st.integers(0, 3).flatmap(lambda g: st.integers(g << 21, (g << 21) + 2**21 - 1))),
    st.integers(3, 4),
)


@given(st.lists(moves, max_size=30), cuts, st.integers(0, 30), st.sampled_from(["any", "prefetch"]))
def test_granules_count_the_rows_that_begin_in_each_2_mib_block(
    rows: list[Row], at: list[int], cut: int, cause: str
) -> None:
    counts: dict[int, dict[int, int]] = {}
    for r in rows:
        if r["kind"] == 11 and r["address"] is not None and (cause == "any" or r["um_cause"] == 1):
            mine = counts.setdefault((r["global_pid"] or 0) >> 24, {})
            mine[r["address"] // (2 * MIB)] = mine.get(r["address"] // (2 * MIB), 0) + 1
    assert feed(Granules(cause), rows, at, NAMES).moves == counts
    assert fed_apart(lambda: Granules(cause), rows, cut, NAMES).moves == counts


def test_too_many_granules_are_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Granules, "CAP", 3)
    rows = [row(0, 1, 1, 11, 7, 7, um_cause=1, address=i << GRANULE_BITS) for i in range(4)]
    assert not feed(Granules("any"), rows[:3], [], NAMES).full
    assert feed(Granules("any"), rows, [1, 2], NAMES).full
    assert fed_apart(lambda: Granules("any"), rows, 2, NAMES).full
