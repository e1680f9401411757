"""Chunks and batches from plain rows, for the tests of states."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from diagnose.artifacts.chunks import Chunk, Ints
from diagnose.states.base import Batch
from diagnose.states.names import Flags, Names

Row = dict[str, int | None]


def ints(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def chunk_of(rows: Sequence[Row]) -> Chunk:
    """All rows have the same columns; None becomes an invalid cell."""
    chunk = Chunk(len(rows))
    for name in rows[0] if rows else ():
        cells = [row[name] for row in rows]
        chunk.columns[name] = ints([c or 0 for c in cells])
        if None in cells:
            chunk.valid[name] = np.array([c is not None for c in cells], dtype=np.bool_)
    return chunk


def names_of(texts: dict[int, str]) -> Names:
    return Names(lambda ids: {i: texts[i] for i in ids if i in texts})


def starting(names: Names, letters: str) -> Flags:
    """The names that begin with one of the letters."""
    return Flags(names, lambda new: np.array([n[0] in letters for n in new], dtype=np.bool_))


def feed(state: Any, rows: Sequence[Row], cuts: Sequence[int], names: Names) -> Any:
    """The rows as chunks that end at `cuts`."""
    edges = [0, *sorted({c for c in cuts if 0 < c < len(rows)}), len(rows)]
    for a, b in itertools.pairwise(edges):
        if b > a:
            state.update(Batch(chunk_of(rows[a:b]), names))
    return state


def fed_apart(make: Callable[[], Any], rows: Sequence[Row], cut: int, names: Names) -> Any:
    """Two states that saw the rows before and after `cut`, merged."""
    first = feed(make(), rows[:cut], [], names)
    first.merge(feed(make(), rows[cut:], [], names))
    return first


cuts = st.lists(st.integers(0, 40), max_size=4)
