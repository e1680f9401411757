"""One pass over a trace: every state that was asked for sees its stream once, in chunks.

States are asked for by key, so that two metrics with the same needs share one state. Columns that no
state needs are not read; streams that no state needs are not opened.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from diagnose.artifacts.chunks import Bools
from diagnose.artifacts.nsys_sqlite import NsysExport
from diagnose.catalogue import apis, kernels
from diagnose.states.base import Batch, OutOfOrder
from diagnose.states.names import Flags, Names

S = TypeVar("S")
Progress = Callable[[str, int], None]


class TracePass:
    """Collects requests (`want`), runs them (`run`), and hands out the finished states (`got`)."""

    def __init__(self, export: NsysExport) -> None:
        self.export = export
        self.kernel_names = Names(export.kernel_names)
        self.api_names = Names(export.strings)
        self._makers: dict[Hashable, Callable[[], Any]] = {}
        self._states: dict[Hashable, Any] = {}
        self._families: dict[str, Flags] = {}
        self._groups: dict[str, Flags] = {}
        self.rows: dict[str, int] = {}
        self.resorted: list[str] = []

    def family(self, name: str) -> Flags:
        """Kernel family (or `class:<op class>`) as flags over this trace's kernel names."""
        if name not in self._families:

            def decide(names: list[str], family: str = name) -> Bools:
                return np.asarray(_classes(tuple(names)).in_family(family), dtype=np.bool_)

            self._families[name] = Flags(self.kernel_names, decide)
        return self._families[name]

    def union_family(self, names: str) -> Flags:
        """Flags for a comma-separated list of families."""
        parts = [self.family(part.strip()) for part in names.split(",")]
        if len(parts) == 1:
            return parts[0]
        key = "union:" + names
        if key not in self._families:
            self._families[key] = UnionFlags(self.kernel_names, parts)
        return self._families[key]

    def group(self, name: str) -> Flags:
        """API group as flags over this trace's API names."""
        if name not in self._groups:

            def decide(names: list[str], group: str = name) -> Bools:
                return np.array([group in apis.groups_of(n) for n in names], dtype=np.bool_)

            self._groups[name] = Flags(self.api_names, decide)
        return self._groups[name]

    def want(self, key: Hashable, maker: Callable[[], S]) -> None:
        self._makers.setdefault(key, maker)

    def got(self, key: Hashable) -> Any:
        return self._states[key]

    def has(self, key: Hashable) -> bool:
        return key in self._states

    def run(self, progress: Progress | None = None) -> None:
        self._states = {key: make() for key, make in self._makers.items()}
        streams = {state.stream for state in self._states.values()}
        for stream in ("kernels", "graph_launches", "copies", "memsets", "allocations", "api_calls"):
            if stream in streams:
                self._read(stream, progress)

    def _read(self, stream: str, progress: Progress | None) -> None:
        try:
            self._feed(stream, progress, by_start=False)
        except OutOfOrder:
            # Rare (3 of 222 real exports): start over for this stream, in start order.
            self.resorted.append(stream)
            for key, state in self._states.items():
                if state.stream == stream:
                    self._states[key] = self._makers[key]()
            self._feed(stream, progress, by_start=True)

    def _feed(self, stream: str, progress: Progress | None, *, by_start: bool) -> None:
        states = [s for s in self._states.values() if s.stream == stream]
        columns = frozenset().union(*(s.columns for s in states))
        names = self.kernel_names if stream == "kernels" else self.api_names
        done = 0
        for chunk in self.export.stream(stream, columns, by_start=by_start):
            batch = Batch(chunk, names)
            for state in states:
                state.update(batch)
            done += chunk.rows
            if progress is not None:
                progress(stream, chunk.rows)
        self.rows[stream] = done


@lru_cache(maxsize=32)
def _classes(names: tuple[str, ...]) -> kernels.KernelClasses:
    """One classification for all the families that ask about the same new names."""
    return kernels.classify(names)


class UnionFlags(Flags):
    def __init__(self, names: Names, parts: list[Flags]) -> None:
        super().__init__(names, lambda new: np.zeros(len(new), dtype=np.bool_))
        self._parts = parts

    @property
    def flags(self) -> Bools:
        out = self._parts[0].flags
        for part in self._parts[1:]:
            out = out | part.flags
        return out
