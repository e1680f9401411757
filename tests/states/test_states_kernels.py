"""Kernel states against plain loops: totals, busy time, what follows what, the longest rows."""

from __future__ import annotations

from typing import Any

import pytest
from batches import Row, cuts, fed_apart, feed, names_of, starting
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.states.base import OutOfOrder
from diagnose.states.kernels import SITES, BusyIntervals, KernelTotals, Pairs, TopKernels

# f: a kernel of the first family, t: of the second, s: skipped, x: anything else, b: first and second
TEXTS = {1: "f1", 2: "f2", 3: "t1", 4: "s1", 5: "x1", 6: "b1"}


def row(start: int, end: int, name: int | None, device: int, stream: int, pid: int, node: int | None) -> Row:
    return {
        "start_ns": start,
        "end_ns": end,
        "device": device,
        "stream": stream,
        "context": 1,
        "global_pid": pid << 24,
        "name_id": name,
        "correlation": start + 1000,
        "graph_node": node,
    }


drawn = st.tuples(
    st.integers(-50, 50),
    st.integers(-2, 9),
    st.sampled_from([None, 1, 2, 3, 4, 5, 6, 99]),
    st.integers(0, 1),
    st.integers(7, 8),
    st.sampled_from([3, 4]),
    st.sampled_from([None, 0, 5]),
)
tables = st.lists(drawn, max_size=40).map(lambda rows: [row(s, s + d, *rest) for s, d, *rest in rows])


def totals_of(rows: list[Row]) -> dict[tuple[int, int, str], tuple[int, ...]]:
    out: dict[tuple[int, int, str], list[tuple[int, int]]] = {}
    for r in rows:
        key = ((r["global_pid"] or 0) >> 24, r["device"] or 0, TEXTS.get(r["name_id"] or 0, "?"))
        start = r["start_ns"] or 0
        out.setdefault(key, []).append((start, max(r["end_ns"] or 0, start)))
    return {
        key: (
            len(v),
            sum(e - s for s, e in v),
            min(e - s for s, e in v),
            max(e - s for s, e in v),
            min(s for s, _ in v),
            max(s for s, _ in v),
            max(e for _, e in v),
        )
        for key, v in out.items()
    }


def shown(state: KernelTotals, names: Any) -> dict[tuple[int, int, str], tuple[int, ...]]:
    return {
        (pid, device, names.names[code]): (
            t.count,
            t.sum_ns,
            t.min_ns,
            t.max_ns,
            t.first_start,
            t.last_start,
            t.last_end,
        )
        for (pid, device, code), t in state.totals.items()
    }


@given(tables, cuts, st.integers(0, 40))
def test_totals_are_those_of_a_loop_in_any_chunking(rows: list[Row], at: list[int], cut: int) -> None:
    names = names_of(TEXTS)
    state = feed(KernelTotals(), rows, at, names)
    assert shown(state, names) == totals_of(rows)
    nodes: dict[int, int] = {}
    for r in rows:
        if r["graph_node"]:
            pid = (r["global_pid"] or 0) >> 24
            nodes[pid] = nodes.get(pid, 0) + 1
    assert state.graph_nodes == nodes
    merged = fed_apart(KernelTotals, rows, cut, names)
    assert (shown(merged, names), merged.graph_nodes) == (totals_of(rows), nodes)


@given(tables, cuts, st.sampled_from(["", "f", "ft"]))
def test_busy_time_is_the_set_of_moments_in_which_a_kernel_runs(
    rows: list[Row], at: list[int], letters: str
) -> None:
    names = names_of(TEXTS)
    family = starting(names, letters) if letters else None
    state = feed(BusyIntervals("kernels", family), rows, at, names)
    moments: dict[tuple[int, int], set[int]] = {}
    for r in rows:
        if not letters or TEXTS.get(r["name_id"] or 0, "?")[0] in letters:
            key = ((r["global_pid"] or 0) >> 24, r["device"] or 0)
            moments.setdefault(key, set()).update(range(r["start_ns"] or 0, r["end_ns"] or 0))
    found = {key: c.result().covered_ns for key, c in state.unions.items()}
    assert {k: v for k, v in found.items() if v} == {k: len(v) for k, v in moments.items() if v}


# --- pairs ---------------------------------------------------------------------------------------


def naive_pairs(rows: list[Row], first: str, then: str, skip: str) -> dict[tuple[int, int], list[int]]:
    """Per (pid, device): firsts, their time, matched, their time, gaps; one stream after the other."""
    streams: dict[tuple[int, ...], list[Row]] = {}
    for r in rows:
        key = ((r["global_pid"] or 0) >> 24, r["device"] or 0, r["stream"] or 0)
        streams.setdefault(key, []).append(r)
    out: dict[tuple[int, int], list[int]] = {}
    for (pid, device, _), mine in streams.items():
        previous: tuple[str, int] | None = None
        for r in mine:
            letter = TEXTS.get(r["name_id"] or 0, "?")[0]
            start = r["start_ns"] or 0
            end = max(r["end_ns"] or 0, start)
            if letter in skip and letter not in first and letter not in then:
                continue
            sums = out.setdefault((pid, device), [0] * 5)
            if previous is not None and previous[0] in first and letter in then:
                sums[2] += 1
                sums[3] += end - start
                sums[4] += max(start - previous[1], 0)
            if letter in first:
                sums[0] += 1
                sums[1] += end - start
            previous = (letter, end)
    return {key: sums for key, sums in out.items() if sums[0]}


def shown_pairs(state: Pairs) -> dict[tuple[int, int], list[int]]:
    return {
        key: [m.firsts, m.first_ns, m.matched, m.then_ns, m.gap_ns]
        for key, m in state.matched.items()
        if m.firsts
    }


FAMILIES = st.sampled_from([("fb", "tb", "s"), ("f", "t", ""), ("f", "f", "sx"), ("f", "t", "st")])


def pairs_state(names: Any, families: tuple[str, str, str]) -> Pairs:
    first, then, skip = families
    return Pairs(starting(names, first), starting(names, then), starting(names, skip) if skip else None)


@settings(max_examples=150)
@given(tables, cuts, FAMILIES)
def test_pairs_are_those_of_a_scan_stream_by_stream(
    rows: list[Row], at: list[int], families: tuple[str, str, str]
) -> None:
    rows = sorted(rows, key=lambda r: r["start_ns"] or 0)
    names = names_of(TEXTS)
    state = feed(pairs_state(names, families), rows, at, names)
    assert shown_pairs(state) == naive_pairs(rows, *families)


def test_a_pair_is_seen_whatever_chunk_boundary_lies_between() -> None:
    order = [1, 4, 3, 5, 2, 3, 1, 4, 4, 3, 1, 1, 3, 4]
    rows = [row(10 * i, 10 * i + 4, n, 0, 7 + (i == 5), 3, None) for i, n in enumerate(order)]
    names = names_of(TEXTS)
    whole = naive_pairs(rows, "f", "t", "s")
    # f1 s t | x f2 (its t is on stream 8) | f1 s s t | f1 f1 t s: three matches of five firsts, 4 ns each;
    # gaps: 20-4, 90-64, 120-114.
    assert whole == {(3, 0): [5, 20, 3, 12, 48]}
    for cut in range(len(rows) + 1):
        for second in range(cut, len(rows) + 1):
            state = feed(pairs_state(names, ("f", "t", "s")), rows, [cut, second], names)
            assert shown_pairs(state) == whole, (cut, second)


def test_sites_are_the_longest_followers_and_claims_their_intervals() -> None:
    rows = []
    for i in range(30):
        rows += [
            row(100 * i, 100 * i + 5, 1, 0, 7, 3, None),
            row(100 * i + 10, 100 * i + 11 + i, 3, 0, 7, 3, None),
        ]
    names = names_of(TEXTS)
    state = feed(pairs_state(names, ("f", "t", "")), rows, [31, 32], names)
    matched = state.matched[(3, 0)]
    assert len(matched.sites) == SITES
    duration, start, stream, before, code, correlation, pid = matched.sites[0]
    assert (duration, start, stream, pid, correlation) == (30, 2910, 7, 3, 3910)
    assert (names.names[before], names.names[code]) == ("f1", "t1")
    assert matched.claims.result().covered_ns == sum(range(1, 31))


def test_merged_parts_lose_only_the_pair_across_the_seam() -> None:
    rows = [row(10 * i, 10 * i + 4, 1 if i % 2 == 0 else 3, 0, 7, 3, None) for i in range(8)]
    names = names_of(TEXTS)
    for cut in range(9):
        merged = fed_apart(lambda: pairs_state(names, ("f", "t", "")), rows, cut, names)
        assert merged.matched[(3, 0)].matched == (3 if cut % 2 else 4)


def test_rows_out_of_start_order_on_one_stream_are_refused() -> None:
    names = names_of(TEXTS)
    early, late = row(10, 12, 1, 0, 7, 3, None), row(20, 22, 3, 0, 7, 3, None)
    other = row(5, 6, 1, 0, 8, 3, None)
    feed(pairs_state(names, ("f", "t", "")), [early, other, late], [1, 2], names)  # another stream: fine
    for at in ([], [1]):
        with pytest.raises(OutOfOrder):
            feed(pairs_state(names, ("f", "t", "")), [late, early], at, names)


@given(tables, cuts, st.integers(0, 40))
def test_the_longest_kernels_of_every_device_are_kept(rows: list[Row], at: list[int], cut: int) -> None:
    names = names_of(TEXTS)
    expected: dict[tuple[int, int], list[int]] = {}
    for r in rows:
        if TEXTS.get(r["name_id"] or 0, "?")[0] == "f":
            key = ((r["global_pid"] or 0) >> 24, r["device"] or 0)
            expected.setdefault(key, []).append(max((r["end_ns"] or 0) - (r["start_ns"] or 0), 0))
    best = {key: sorted(v, reverse=True)[:3] for key, v in expected.items()}
    for state in (
        feed(TopKernels(starting(names, "f"), keep=3), rows, at, names),
        fed_apart(lambda: TopKernels(starting(names, "f"), keep=3), rows, cut, names),
    ):
        assert {key: [r[0] for r in top] for key, top in state.top.items()} == best


def test_short_kernels_of_one_gpu_are_not_crowded_out_by_long_ones_of_another() -> None:
    rows = [row(i, i + 1000, 1, 0, 7, 3, None) for i in range(500)] + [row(600, 601, 1, 1, 7, 3, None)]
    names = names_of(TEXTS)
    state = feed(TopKernels(starting(names, "f")), rows, [], names)
    assert [r[0] for r in state.top[(3, 1)]] == [1]
