"""What a state is: a mergeable streaming reduction over one event stream of a trace.

One pass over the file feeds every state that the loaded signatures ask for. A state sees a stream in
chunks (`update`), can take over the result of another one that saw other rows (`merge`), and gives
small results at the end. Memory stays bounded however long the trace is.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from diagnose.artifacts.chunks import Bools, Chunk, Ints
from diagnose.states.names import Names

V = TypeVar("V", Ints, Bools)
NO_DEVICE = -1
NO_PID = -1


class OutOfOrder(Exception):
    """Raised by a state that needs start order inside a stream; the pass reads the table again, sorted."""


class Batch:
    """A chunk with what several states need computed once: names as dense codes, processes, devices."""

    def __init__(self, chunk: Chunk, names: Names) -> None:
        self.chunk = chunk
        self.names = names
        self.rows = chunk.rows
        self._cache: dict[Hashable, Any] = {}

    def column(self, name: str) -> Ints:
        return self.chunk.columns[name]

    def has(self, name: str) -> bool:
        return name in self.chunk.columns

    @property
    def start(self) -> Ints:
        return self.chunk.columns["start_ns"]

    @property
    def end(self) -> Ints:
        """Ends, never before the start (a clock that ran backwards gives duration 0)."""
        if "end" not in self._cache:
            self._cache["end"] = np.maximum(self.chunk.columns["end_ns"], self.start)
        return self._cache["end"]  # type: ignore[no-any-return]

    @property
    def duration(self) -> Ints:
        if "duration" not in self._cache:
            self._cache["duration"] = self.end - self.start
        return self._cache["duration"]  # type: ignore[no-any-return]

    @property
    def code(self) -> Ints:
        """Dense name codes of `names`."""
        if "code" not in self._cache:
            self._cache["code"] = self.names.codes(self.chunk)
        return self._cache["code"]  # type: ignore[no-any-return]

    @property
    def tid(self) -> Ints:
        """Global thread ids (-1 where unknown)."""
        return self.filled("global_tid")

    @property
    def pid(self) -> Ints:
        """Process ids, from the global pid or the global tid (same bits); -1 where unknown."""
        if "pid" not in self._cache:
            source = "global_pid" if self.has("global_pid") else "global_tid"
            raw = self.filled(source)
            self._cache["pid"] = np.where(raw == NO_PID, NO_PID, (raw >> 24) & 0xFFFFFF)
        return self._cache["pid"]  # type: ignore[no-any-return]

    @property
    def device(self) -> Ints:
        return self.filled("device")

    @property
    def correlation(self) -> Ints:
        return self.filled("correlation")

    @property
    def context(self) -> Ints:
        return self.filled("context")

    @property
    def stream(self) -> Ints:
        return self.filled("stream")

    def filled(self, name: str) -> Ints:
        key = ("filled", name)
        if key not in self._cache:
            if not self.has(name):
                self._cache[key] = np.full(self.rows, -1, dtype=np.int64)
            else:
                valid = self.chunk.valid.get(name)
                raw = self.chunk.columns[name]
                self._cache[key] = raw if valid is None else np.where(valid, raw, -1)
        return self._cache[key]  # type: ignore[no-any-return]

    def groups(self, *columns: str) -> Groups:
        """Rows grouped by (pid | tid | device | code) tuples, computed once a chunk."""
        if columns not in self._cache:
            self._cache[columns] = Groups([getattr(self, name) for name in columns])
        return self._cache[columns]  # type: ignore[no-any-return]


class Groups:
    """Rows of a batch by key: `keys[i]` has rows `order[first[i]:first[i + 1]]`, in row order.

    `order` is None when all rows share one key.
    """

    def __init__(self, columns: list[Ints]) -> None:
        self.rows = len(columns[0])
        packed, size = _packed(columns)
        # A 16-bit key sorts by radix, several times faster than a 64-bit comparison sort.
        key = packed.astype(np.uint16) if size <= 65536 else packed
        self.order: Ints | None = None
        if self.rows == 0:
            self.first = np.zeros(0, dtype=np.int64)
        elif (key[0] == key).all():
            self.first = np.zeros(1, dtype=np.int64)
        else:
            self.order = np.argsort(key, kind="stable")
            ordered = key[self.order]
            self.first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        at = self.first if self.order is None else self.order[self.first]
        self.keys: list[tuple[int, ...]] = list(
            zip(*(column[at].tolist() for column in columns), strict=True)
        )

    def sorted(self, values: V) -> V:
        """`values` in group order."""
        return values if self.order is None else values[self.order]

    def slices(self, values: V) -> list[V]:
        """`values` split by group, aligned with `keys`."""
        return np.split(self.sorted(values), self.first[1:]) if len(self.first) else []


def _packed(columns: list[Ints]) -> tuple[Ints, int]:
    """One integer a row for the tuple of `columns`, below the returned size."""
    packed = np.zeros(len(columns[0]), dtype=np.int64)
    size = 1
    if not len(packed):
        return packed, size
    for column in columns:
        low, high = int(column.min()), int(column.max())
        if high == low:
            continue
        width = high - low + 1
        dense = column - low
        if width > 65536:  # thread ids are sparse 48-bit numbers
            unique, dense = np.unique(column, return_inverse=True)
            width = len(unique)
        packed = packed * width + dense
        size *= width
        if size > 2**40:
            unique, packed = np.unique(packed, return_inverse=True)
            size = len(unique)
    return packed, size


class State(Protocol):
    """`stream`: which stream it reads. `columns`: what it needs of it (an absent one makes it unusable)."""

    stream: str
    columns: frozenset[str]

    def update(self, batch: Batch) -> None: ...

    def merge(self, other: Self) -> None: ...
