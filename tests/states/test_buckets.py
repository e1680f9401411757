"""Time buckets: sums are kept whatever the order of times; `before` gives true bounds."""

from __future__ import annotations

from batches import ints
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.states import buckets
from diagnose.states.buckets import Buckets

times = st.one_of(st.integers(-3000, 3000), st.integers(-(10**12), 10**12))
rows = st.lists(st.tuples(times, st.integers(0, 9)), min_size=1, max_size=25)


def filled(content: list[tuple[int, int]], exact: bool, each: int = 4, count: int = 8) -> Buckets:
    made = Buckets(count)
    if not exact:
        made._kept = None  # as after 4,096 rows
    for at in range(0, len(content), each):
        part = content[at : at + each]
        made.add(ints([t for t, _ in part]), ints([v for _, v in part]))
    return made


@settings(max_examples=150)
@given(rows, times, st.booleans(), st.integers(1, 9))
def test_nothing_is_lost_and_before_is_bounded(
    content: list[tuple[int, int]], limit: int, exact: bool, each: int
) -> None:
    made = filled(content, exact, each)
    assert int(made.sums.sum()) == sum(v for _, v in content)
    assert made.origin is not None
    assert made.origin <= min(t for t, _ in content)
    assert max(t for t, _ in content) < made.origin + made.width_ns * made.count
    low, high = made.before(limit)
    truth = sum(v for t, v in content if t < limit)
    assert low <= truth <= high
    assert not exact or low == high


@settings(max_examples=200)
@given(rows, rows, times, st.booleans(), st.booleans())
def test_bounds_hold_after_merging(
    left: list[tuple[int, int]], right: list[tuple[int, int]], limit: int, a: bool, b: bool
) -> None:
    made = filled(left, a)
    made.merge(filled(right, b))
    assert int(made.sums.sum()) == sum(v for _, v in left + right)
    low, high = made.before(limit)
    assert low <= sum(v for t, v in left + right if t < limit) <= high


def test_the_width_doubles_only_as_far_as_needed() -> None:
    made = Buckets(count=4)
    made.add(ints([0, 4095]), ints([1, 2]))
    assert (made.width_ns, made.sums.tolist()) == (1024, [1, 0, 0, 2])
    made.add(ints([4096]), ints([4]))
    assert (made.origin, made.width_ns, made.sums.tolist()) == (0, 2048, [1, 2, 4, 0])
    made.add(ints([-1]), ints([8]))
    # 16,384 ns from -8,192: the old buckets moved to the upper half.
    assert (made.origin, made.width_ns, made.sums.tolist()) == (-8192, 4096, [0, 8, 3, 4])


def test_an_empty_one_holds_nothing() -> None:
    made = Buckets()
    made.add(ints([]), ints([]))
    assert made.before(5) == (0, 0) and made.origin is None
    made.merge(Buckets())
    assert made.origin is None


def test_above_the_limit_of_kept_values_only_bounds_remain() -> None:
    made = Buckets()
    many = ints(list(range(buckets.EXACT)))
    made.add(many, many * 0 + 1)
    assert made.before(100) == (100, 100)
    made.add(ints([5000]), ints([1]))
    low, high = made.before(100)
    assert low == 0 and high == 1024  # the first bucket of 1,024 ns holds 1,024 of them
