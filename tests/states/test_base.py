"""Groups against a dict, and what a batch makes of missing and empty cells."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from batches import Row, chunk_of, ints, names_of
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.artifacts.chunks import Chunk
from diagnose.states.base import Batch, Groups

small = st.integers(-3, 3)
wide = st.one_of(small, st.sampled_from([2**56 + 5, 2**56 + 2**24, -(2**62), 2**62, 2**63 - 1, -(2**63)]))


@settings(max_examples=150)
@given(st.integers(1, 4).flatmap(lambda k: st.lists(st.tuples(*[wide] * k), max_size=30)))
def test_groups_are_those_of_a_dict(rows: list[tuple[int, ...]]) -> None:
    expected: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for at, key in enumerate(rows):
        expected[key].append(at)
    width = len(rows[0]) if rows else 1
    groups = Groups([ints([row[i] for row in rows]) for i in range(width)])
    places = np.arange(len(rows), dtype=np.int64)
    found = dict(zip(groups.keys, (part.tolist() for part in groups.slices(places)), strict=True))
    assert found == dict(expected)
    assert len(groups.keys) == len(set(groups.keys))
    assert sorted(groups.sorted(places).tolist()) == places.tolist()


def test_many_sparse_columns_are_packed_without_collisions() -> None:
    """Five columns of 300,000 distinct values each: the product of their ranges passes 2^64."""
    rng = np.random.default_rng(7)
    columns = [rng.integers(0, 2**60, 3000) for _ in range(5)]
    groups = Groups([np.concatenate((c, c)) for c in columns])
    assert len(groups.keys) == 3000
    assert [len(part) for part in groups.slices(np.arange(6000))] == [2] * 3000


def test_a_batch_fills_what_is_missing_with_minus_one() -> None:
    rows: list[Row] = [
        {"start_ns": 5, "end_ns": 9, "device": 1, "global_pid": (1 << 56) | (77 << 24)},
        {"start_ns": 5, "end_ns": 2, "device": None, "global_pid": None},
    ]
    batch = Batch(chunk_of(rows), names_of({}))
    assert batch.pid.tolist() == [77, -1]
    assert batch.device.tolist() == [1, -1]
    assert batch.stream.tolist() == [-1, -1]
    assert batch.code.tolist() == [0, 0]
    assert batch.end.tolist() == [9, 5]  # a clock that ran backwards gives duration 0
    assert batch.duration.tolist() == [4, 0]


def test_the_pid_comes_from_the_thread_id_where_there_is_no_process_id() -> None:
    batch = Batch(chunk_of([{"start_ns": 0, "global_tid": (1 << 56) | (0xABCDEF << 24) | 12}]), names_of({}))
    assert batch.pid.tolist() == [0xABCDEF]


def test_a_chunk_knows_which_cells_hold_a_value() -> None:
    chunk = chunk_of([{"a": 1, "b": None}, {"a": 2, "b": 4}])
    assert chunk.mask("a").tolist() == [True, True]
    assert chunk.mask("b").tolist() == [False, True]
    assert chunk.mask("absent").tolist() == [False, False]
    taken = chunk.take(np.array([1]))
    assert taken.rows == 1 and taken.columns["b"].tolist() == [4] and taken.mask("b").tolist() == [True]
    assert Chunk(0).take(np.zeros(0, dtype=np.bool_)).rows == 0
