"""Names behind ids: codes in any range of ids, looked up once; flags per name."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
from batches import chunk_of, cuts, names_of, starting
from hypothesis import given
from hypothesis import strategies as st

from diagnose.states.names import UNRESOLVED, Complement, Flags, Names
from diagnose.states.trace_pass import UnionFlags

ids = st.one_of(
    st.none(), st.integers(0, 12), st.sampled_from([-5, 1023, 1024, 5000, 2**22, 2**22 + 1, 2**31, 2**62])
)
TEXTS = {i: f"{'abc'[i % 3]}{i % 5}" for i in (*range(10), -5, 1024, 2**22, 2**62)} | {3: ""}


@given(st.lists(ids, max_size=30), cuts)
def test_codes_lead_back_to_the_names(column: list[int | None], at: list[int]) -> None:
    names = names_of(TEXTS)
    edges = [0, *sorted({c for c in at if c < len(column)}), len(column)]
    for a, b in itertools.pairwise(edges):
        codes = names.codes(chunk_of([{"name_id": i} for i in column[a:b]]))
        expected = [(TEXTS.get(i) or UNRESOLVED) if i is not None else UNRESOLVED for i in column[a:b]]
        assert [names.names[c] for c in codes.tolist()] == expected
    assert len(set(names.names)) == len(names.names)  # two ids of one text share a code


def test_an_id_is_resolved_once() -> None:
    asked: list[int] = []

    def resolve(wanted: Iterable[int]) -> dict[int, str]:
        asked.extend(wanted)
        return {1: "a", 2**40: "far"}

    names = Names(resolve)
    for _ in range(3):
        names.codes(chunk_of([{"name_id": 1}, {"name_id": 8}]))
        names.codes(chunk_of([{"name_id": 2**40}]))
    assert sorted(asked) == [1, 8, 2**40]


def test_without_a_name_column_everything_is_unresolved() -> None:
    assert names_of({}).codes(chunk_of([{"start_ns": 1}, {"start_ns": 2}])).tolist() == [0, 0]


def test_flags_follow_names_that_appear_later_and_never_hold_the_unresolved_one() -> None:
    names = names_of({1: "apple", 2: "bean", 3: "corn"})
    everything = Flags(names, lambda new: np.ones(len(new), dtype=np.bool_))
    a, b = starting(names, "a"), starting(names, "b")
    either, others = UnionFlags(names, [a, b]), Complement(a)
    assert everything.flags.tolist() == [False]
    names.codes(chunk_of([{"name_id": 2}]))
    assert (everything.flags.tolist(), b.flags.tolist()) == ([False, True], [False, True])
    codes = names.codes(chunk_of([{"name_id": i} for i in (1, 2, 3, 9)]))
    assert everything.of(codes).tolist() == [True, True, True, False]
    assert either.of(codes).tolist() == [True, True, False, False]
    assert others.of(codes).tolist() == [False, True, True, True]  # an unnamed kernel may be anything
