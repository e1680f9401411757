"""API-call states against plain loops and a slow automaton."""

from __future__ import annotations

from typing import Any

from batches import Row, cuts, fed_apart, feed, names_of, starting
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.states.api_calls import SITES, AllocSyncAlloc, ApiIntervals, ApiTotals, SlowCalls

# l: launch (work), a: allocation, s: sync, o: any other call
TEXTS = {1: "l1", 2: "l2", 3: "a1", 4: "s1", 5: "o1"}


def row(
    start: int, length: int, name: int | None, pid: int = 3, thread: int = 1, code: int | None = 0
) -> Row:
    return {
        "start_ns": start,
        "end_ns": start + length,
        "global_tid": (1 << 56) | (pid << 24) | thread,
        "name_id": name,
        "return_code": code,
        "correlation": start,
    }


drawn = st.builds(
    row,
    st.integers(-60, 60),
    st.integers(0, 30),
    st.sampled_from([None, 1, 2, 3, 4, 5]),
    st.integers(3, 4),
    st.integers(1, 2),
    st.sampled_from([None, 0, 0, 0, 1, 209]),
)
tables = st.lists(drawn, max_size=35)


def letter(r: Row) -> str:
    return TEXTS.get(r["name_id"] or 0, "?")[0]


def length(r: Row) -> int:
    return (r["end_ns"] or 0) - (r["start_ns"] or 0)


def pid_of(r: Row) -> int:
    return ((r["global_tid"] or 0) >> 24) & 0xFFFFFF


def totals(names: Any) -> ApiTotals:
    return ApiTotals(starting(names, "l"))


@given(tables, cuts, st.integers(0, 35))
def test_totals_and_failures_are_those_of_a_loop(rows: list[Row], at: list[int], cut: int) -> None:
    count: dict[tuple[int, str], list[int]] = {}
    failed: dict[tuple[int, str, int], list[int]] = {}
    for r in rows:
        text = TEXTS.get(r["name_id"] or 0, "?")
        sums = count.setdefault((r["global_tid"] or 0, text), [0, 0])
        sums[0] += 1
        sums[1] += length(r)
        if r["return_code"]:
            seen = failed.setdefault((pid_of(r), text, r["return_code"]), [0, 10**9])
            seen[0] += 1
            seen[1] = min(seen[1], r["start_ns"] or 0)
    names = names_of(TEXTS)
    for state in (feed(totals(names), rows, at, names), fed_apart(lambda: totals(names), rows, cut, names)):
        assert {(t, names.names[c]): [v.count, v.sum_ns] for (t, c), v in state.totals.items()} == count
        assert {(p, names.names[c], e): v for (p, c, e), v in state.failures.items()} == failed


@settings(max_examples=200)
@given(tables, cuts, st.integers(0, 35))
def test_context_creation_is_the_longest_call_before_the_first_launch_in_any_row_order(
    rows: list[Row], at: list[int], cut: int
) -> None:
    names = names_of(TEXTS)
    states = (feed(totals(names), rows, at, names), fed_apart(lambda: totals(names), rows, cut, names))
    for pid in (3, 4, 5):
        mine = [r for r in rows if pid_of(r) == pid]
        # NULL counts as success: the export does not say that the call failed.
        work = [r["start_ns"] or 0 for r in mine if letter(r) == "l" and r["return_code"] in (0, None)]
        before = [r for r in mine if not work or (r["start_ns"] or 0) < min(work)]
        longest = max((length(r) for r in before), default=0)
        for state in states:
            assert state.context_ns(pid) == longest
            call = state.context_call(pid)
            if call is None:
                assert not before
            else:
                start, duration, tid, code = call
                assert duration == longest
                assert any(
                    (r["start_ns"], length(r), r["global_tid"], TEXTS.get(r["name_id"] or 0, "?"))
                    == (start, longest, tid, names.names[code])
                    for r in before
                )


@given(tables, cuts, st.integers(0, 35))
def test_intervals_and_slow_calls_per_thread(rows: list[Row], at: list[int], cut: int) -> None:
    names = names_of(TEXTS)
    unions: dict[int, set[int]] = {}
    starts: dict[int, int] = {}
    slow: dict[int, list[int]] = {}
    for r in rows:
        if letter(r) != "s":
            continue
        tid = r["global_tid"] or 0
        unions.setdefault(tid, set()).update(range(r["start_ns"] or 0, r["end_ns"] or 0))
        starts[tid] = starts.get(tid, 0) + 1
        if length(r) > 10:
            seen = slow.setdefault(tid, [0, 0])
            seen[0] += 1
            seen[1] += length(r)
    for state in (
        feed(ApiIntervals(starting(names, "s")), rows, at, names),
        fed_apart(lambda: ApiIntervals(starting(names, "s")), rows, cut, names),
    ):
        assert {t: c.result().covered_ns for t, c in state.unions.items()} == {
            t: len(u) for t, u in unions.items()
        }
        assert {t: int(b.sums.sum()) for t, b in state.starts.items()} == starts
        for tid, top in state.top.items():
            longest = sorted(
                (length(r) for r in rows if r["global_tid"] == tid and letter(r) == "s"), reverse=True
            )
            assert [t[0] for t in top] == longest[:SITES]
    for slow_state in (
        feed(SlowCalls(starting(names, "s"), 10), rows, at, names),
        fed_apart(lambda: SlowCalls(starting(names, "s"), 10), rows, cut, names),
    ):
        assert slow_state.slow == slow


def automaton(rows: list[Row], over: int) -> tuple[dict[int, int], dict[int, int]]:
    """Per thread: slow allocations; those whose call before (alloc or sync) is a sync after an alloc."""
    history: dict[int, list[str]] = {}
    slow: dict[int, int] = {}
    after: dict[int, int] = {}
    for r in rows:
        tid, kind = r["global_tid"] or 0, letter(r)
        if kind not in "as":
            continue
        past = history.setdefault(tid, [])
        if kind == "a" and length(r) > over:
            slow[tid] = slow.get(tid, 0) + 1
            if past and past[-1] == "s" and "a" in past:
                after[tid] = after.get(tid, 0) + 1
        past.append(kind)
    return slow, after


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(st.sampled_from([1, 3, 3, 4, 4, 5]), st.integers(0, 20), st.integers(1, 2)), max_size=35
    ),
    cuts,
)
def test_alloc_sync_alloc_is_what_an_automaton_sees(calls: list[tuple[int, int, int]], at: list[int]) -> None:
    rows = [row(25 * i, size, name, thread=thread) for i, (name, size, thread) in enumerate(calls)]
    names = names_of(TEXTS)
    state = feed(AllocSyncAlloc(starting(names, "a"), starting(names, "s"), 10), rows, at, names)
    slow, after = automaton(rows, 10)
    assert {t: n for t, n in state.slow.items() if n} == slow
    assert {t: n for t, n in state.after_sync.items() if n} == after
    assert state.disordered == 0


def test_rows_of_a_thread_out_of_order_are_counted() -> None:
    names = names_of(TEXTS)
    swapped = [row(50, 1, 3), row(10, 1, 4), row(60, 1, 3)]
    for at in ([], [1], [1, 2]):
        state = feed(AllocSyncAlloc(starting(names, "a"), starting(names, "s"), 10), swapped, at, names)
        assert state.disordered == 1
    two_threads = [row(50, 1, 3, thread=1), row(10, 1, 4, thread=2)]
    assert (
        feed(
            AllocSyncAlloc(starting(names, "a"), starting(names, "s"), 10), two_threads, [], names
        ).disordered
        == 0
    )
