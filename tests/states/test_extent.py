"""First and last moment of a stream."""

from __future__ import annotations

from batches import Row, cuts, fed_apart, feed, names_of
from hypothesis import given
from hypothesis import strategies as st

from diagnose.states.extent import Extent

NAMES = names_of({})
rows_ = st.lists(
    st.builds(lambda s, d: {"start_ns": s, "end_ns": s + d}, st.integers(-99, 99), st.integers(-9, 9)),
    max_size=30,
)


@given(rows_, cuts, st.integers(0, 30))
def test_extent_is_first_start_and_last_end(rows: list[Row], at: list[int], cut: int) -> None:
    first = min((r["start_ns"] or 0 for r in rows), default=None)
    last = max((max(r["start_ns"] or 0, r["end_ns"] or 0) for r in rows), default=None)
    for state in (
        feed(Extent("kernels"), rows, at, NAMES),
        fed_apart(lambda: Extent("kernels"), rows, cut, NAMES),
    ):
        assert (state.rows, state.first, state.last) == (len(rows), first, last)


def test_a_stream_without_ends_reaches_to_its_last_start() -> None:
    state = feed(Extent("allocations"), [{"start_ns": 3}, {"start_ns": 9}], [], NAMES)
    assert (state.first, state.last) == (3, 9)
