"""Which launches have a kernel row: bits against sets, and launches recorded into a graph."""

from __future__ import annotations

from batches import Row, cuts, fed_apart, feed, names_of, starting
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.states.correlations import MAX_ID, Bits, Captures, CorrelationBits, missing_share

TEXTS = {1: "launch", 2: "other", 3: "cudaStreamBeginCapture_v10000", 4: "cudaStreamEndCapture_v10000"}
ids = st.integers(-1, 80)


def launch(correlation: int | None, name: int = 1, code: int | None = 0, pid: int = 3) -> Row:
    return {
        "start_ns": 0,
        "end_ns": 1,
        "global_tid": pid << 24,
        "name_id": name,
        "return_code": code,
        "correlation": correlation,
    }


def kernel(correlation: int | None, pid: int = 3) -> Row:
    return {"start_ns": 0, "end_ns": 1, "global_pid": pid << 24, "correlation": correlation}


calls = st.lists(
    st.builds(
        launch,
        st.one_of(st.none(), ids),
        st.integers(1, 2),
        st.sampled_from([0, 0, None, 701]),
        st.integers(3, 4),
    ),
    max_size=40,
)
rows_ = st.lists(st.builds(kernel, st.one_of(st.none(), ids), st.integers(3, 4)), max_size=40)
ranges = st.lists(st.tuples(ids, ids).map(lambda p: (min(p), max(p))), max_size=3)


@settings(max_examples=200)
@given(calls, rows_, cuts, st.integers(0, 40), ranges)
def test_missing_share_is_that_of_sets(
    launches: list[Row], kernels: list[Row], at: list[int], cut: int, captured: list[tuple[int, int]]
) -> None:
    names = names_of(TEXTS)
    flag = starting(names, "l")
    made = [CorrelationBits("api_calls", flag), CorrelationBits("kernels")]
    fed = [feed(made[0], launches, at, names).bits, feed(made[1], kernels, at, names).bits]
    merged = [
        fed_apart(lambda: CorrelationBits("api_calls", flag), launches, cut, names).bits,
        fed_apart(lambda: CorrelationBits("kernels"), kernels, cut, names).bits,
    ]
    for pid in (3, 4, 5):
        # A NULL return code does not say that the call failed. Id 0 means "no id".
        wanted = {
            r["correlation"]
            for r in launches
            if r["name_id"] == 1 and r["return_code"] in (0, None) and (r["global_tid"] or 0) >> 24 == pid
        }
        seen = {r["correlation"] for r in kernels if (r["global_pid"] or 0) >> 24 == pid}
        have = {c for c in seen if c is not None and c > 0}
        inside = {
            c
            for c in wanted
            if c is not None
            and c > 0
            and have
            and min(have) <= c <= max(have)
            and not any(low <= c <= high for low, high in captured)
        }
        for bits in (fed, merged):
            found = missing_share(bits[0].get(pid), bits[1].get(pid), captured)
            assert found == (len(inside - have), len(inside))


def test_ids_beyond_the_limit_are_left_out_and_big_ones_grow_the_bits() -> None:
    names = names_of(TEXTS)
    bits = feed(
        CorrelationBits("kernels"), [kernel(c) for c in (5, MAX_ID, MAX_ID + 7, 1_000_000)], [2], names
    ).bits[3]
    assert (bits.low, bits.high) == (5, 1_000_000)
    assert missing_share(None, bits) == (0, 0)
    assert missing_share(bits, None) == (0, 0)
    assert missing_share(bits, Bits()) == (0, 0)
    assert missing_share(bits, bits) == (0, 2)


def test_captures_give_the_id_ranges_between_begin_and_end() -> None:
    names = names_of(TEXTS)
    rows = [
        launch(c, n)
        for c, n in ((10, 3), (11, 1), (20, 4), (30, 3), (32, 3), (35, 4), (40, 4), (50, 4), (60, 3))
    ]
    rows.append(launch(12, 3, pid=4))
    for order in (rows, rows[::-1]):
        state = feed(Captures(names), order, [4], names)
        # 30…40 holds another capture; 50 ends none; 60 never ends, and neither does that of process 4.
        assert state.ranges(3) == [(10, 20), (30, 40)]
        assert state.ranges(4) == [] == state.ranges(5)
    assert fed_apart(lambda: Captures(names), rows, 3, names).ranges(3) == [(10, 20), (30, 40)]
