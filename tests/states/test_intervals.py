"""Interval arithmetic against sets of integers; the bounded union against the exact one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from batches import ints
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.states import intervals as iv
from diagnose.states.intervals import Collector, Intervals

pair = st.tuples(st.integers(-30, 30), st.integers(-3, 12)).map(lambda p: (p[0], p[0] + p[1]))
pairs = st.lists(pair, max_size=25)


def points(spans: list[tuple[int, int]]) -> set[int]:
    return {t for a, b in spans for t in range(a, b)}


def made(spans: list[tuple[int, int]]) -> Intervals:
    return iv.union(ints([a for a, _ in spans]), ints([b for _, b in spans]))


def spans_of(found: Intervals) -> list[tuple[int, int]]:
    return list(zip(found.starts.tolist(), found.ends.tolist(), strict=True))


def covered(found: Intervals) -> set[int]:
    """The points, after checking that the set is disjoint, in order and without empty members."""
    spans = spans_of(found)
    assert all(a < b for a, b in spans)
    assert all(x[1] <= y[0] for x, y in itertools.pairwise(spans))
    return points(spans)


@given(pairs)
def test_union_covers_exactly_the_points_and_touching_ones_are_joined(spans: list[tuple[int, int]]) -> None:
    found = made(spans)
    assert covered(found) == points(spans)
    assert found.covered_ns == len(points(spans))
    assert all(x[1] < y[0] for x, y in zip(spans_of(found), spans_of(found)[1:], strict=False))


@given(pairs, pairs)
def test_intersect_subtract_overlap_and_join_agree_with_sets(
    left: list[tuple[int, int]], right: list[tuple[int, int]]
) -> None:
    a, b = made(left), made(right)
    assert covered(iv.intersect(a, b)) == points(left) & points(right)
    assert covered(iv.subtract(a, b)) == points(left) - points(right)
    assert iv.overlap_ns(a, b) == len(points(left) & points(right))
    assert covered(iv.join([a, b])) == points(left) | points(right)


@given(pairs)
def test_gaps_are_what_lies_between_the_first_and_the_last_point(spans: list[tuple[int, int]]) -> None:
    all_points = points(spans)
    inside = set(range(min(all_points), max(all_points))) - all_points if all_points else set()
    assert covered(iv.gaps(made(spans))) == inside


def test_edges_that_a_trace_has() -> None:
    assert spans_of(made([(5, 5), (9, 3)])) == []  # zero length, and a clock that ran backwards
    assert spans_of(made([(-9, -4), (-4, 2)])) == [(-9, 2)]
    assert spans_of(made([(1, 4), (1, 4), (1, 3)])) == [(1, 4)]
    big = 2**62
    assert made([(-big, big - 1)]).covered_ns == 2 * big - 1
    assert len(iv.join([])) == 0 and iv.empty().covered_ns == 0


def test_every_operation_keeps_the_length_of_the_gaps_that_were_closed() -> None:
    a = Intervals(ints([0, 20]), ints([10, 30]), dropped_ns=3)
    b = Intervals(ints([5]), ints([25]), dropped_ns=4)
    nothing = Intervals(ints([100]), ints([101]), dropped_ns=4)
    assert iv.intersect(a, b).dropped_ns == 7
    assert iv.intersect(a, nothing).dropped_ns == 7  # also when nothing is left
    assert iv.subtract(a, b).dropped_ns == 7
    assert iv.subtract(a, Intervals(ints([]), ints([]), dropped_ns=4)).dropped_ns == 7
    assert iv.join([a, b]).dropped_ns == 7
    assert iv.gaps(a).dropped_ns == 3


# --- the bounded union --------------------------------------------------------------------------

parts = st.lists(st.lists(st.tuples(st.integers(-400, 400), st.integers(0, 6)), max_size=15), max_size=12)


def collected(chunks: list[list[tuple[int, int]]], cap: int) -> Collector:
    collector = Collector(cap)
    for part in chunks:
        collector.add(ints([s for s, _ in part]), ints([s + d for s, d in part]))
    return collector


def truth(chunks: list[list[tuple[int, int]]]) -> set[int]:
    return points([(s, s + d) for part in chunks for s, d in part])


@settings(max_examples=200)
@given(parts, st.sampled_from([2, 4, 16]))
def test_covered_length_lies_within_the_bounds_it_gives(
    chunks: list[list[tuple[int, int]]], cap: int
) -> None:
    real = truth(chunks)
    found = collected(chunks, cap).result()
    assert len(found) <= cap
    assert real <= covered(found)  # closing gaps can only add
    # Rows may arrive later inside a gap that was closed: then the lower bound is below the truth.
    assert found.covered_ns - found.dropped_ns <= len(real) <= found.covered_ns
    assert found.exact_ns in (None, len(real))


@given(parts, st.sampled_from([2, 4, 1000]))
def test_in_start_order_the_exact_length_is_known_whatever_was_closed(
    chunks: list[list[tuple[int, int]]], cap: int
) -> None:
    rows = sorted(row for part in chunks for row in part)
    ordered = [rows[i : i + 7] for i in range(0, len(rows), 7)]
    assert collected(ordered, cap).result().exact_ns == len(truth(chunks))


@given(parts, st.randoms(use_true_random=False))
def test_below_the_cap_it_is_the_union_in_any_order(
    chunks: list[list[tuple[int, int]]], random: object
) -> None:
    shuffled = list(chunks)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    found = collected(shuffled, 1000).result()
    assert spans_of(found) == spans_of(made([(s, s + d) for part in chunks for s, d in part]))
    assert found.dropped_ns == 0 and found.exact_ns == len(truth(chunks))


@given(parts, parts, st.sampled_from([2, 4, 1000]))
def test_merging_gives_the_bounds_of_all_at_once(
    first: list[list[tuple[int, int]]], second: list[list[tuple[int, int]]], cap: int
) -> None:
    merged = collected(first, cap)
    merged.merge(collected(second, cap))
    found, real = merged.result(), truth(first + second)
    assert real <= covered(found)
    # A gap closed on one side may be covered by the other: then the lower bound is below the truth.
    assert found.covered_ns - found.dropped_ns <= len(real) <= found.covered_ns
    assert found.exact_ns in (None, len(real))
    if cap == 1000:
        assert spans_of(found) == spans_of(collected(first + second, cap).result())


@given(parts, st.sampled_from([2, 1000]))
def test_a_result_may_be_asked_for_half_way(chunks: list[list[tuple[int, int]]], cap: int) -> None:
    collector = Collector(cap)
    for i, part in enumerate(chunks):
        collector.add(ints([s for s, _ in part]), ints([s + d for s, d in part]))
        found = collector.result()
        real = len(truth(chunks[: i + 1]))
        assert found.covered_ns - found.dropped_ns <= real <= found.covered_ns


@pytest.mark.parametrize("gap", [1, 1000])
def test_equal_gaps_are_not_all_closed_at_once(gap: int) -> None:
    """A periodic trace: one more interval than fits must not turn all idle time into busy time."""
    starts = np.arange(81, dtype=np.int64) * (10 + gap)
    collector = Collector(cap=40)
    collector.add(starts, starts + 10)
    found = collector.result()
    assert 20 <= len(found) <= 40
    assert found.exact_ns == 810 and found.covered_ns - found.dropped_ns == 810


def test_short_intervals_inside_a_long_one_are_not_counted_again() -> None:
    collector = Collector(cap=2)
    for start, end in ((0, 100), (10, 20), (30, 40), *((150 + 50 * i, 151 + 50 * i) for i in range(5))):
        collector.add(ints([start]), ints([end]))
    found = collector.result()
    assert found.dropped_ns > 0 and found.exact_ns == 100 + 5
