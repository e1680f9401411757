"""Names behind ids, looked up once each: dense codes for fast grouping, classes for signatures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from diagnose.artifacts.chunks import Bools, Chunk, Ints

Resolver = Callable[[Iterable[int]], Mapping[int, str]]
_DIRECT = 1 << 22  # ids below this use a direct look-up table (16 MB at most); StringIds are dense

UNRESOLVED = "?"


class Names:
    """id → code (0, 1, … in order of appearance) and code → name.

    Code 0 is the unresolved name: NULL ids, and ids that are not among the strings.
    """

    def __init__(self, resolve: Resolver) -> None:
        self._resolve = resolve
        self._direct = np.full(1024, -1, dtype=np.int32)
        self._far: dict[int, int] = {}
        self._by_name: dict[str, int] = {UNRESOLVED: 0}
        self.names: list[str] = [UNRESOLVED]

    def __len__(self) -> int:
        return len(self.names)

    def codes(self, chunk: Chunk) -> Ints:
        """Codes of the chunk's `name_id` column (all 0 when it has none)."""
        if "name_id" not in chunk.columns:
            return np.zeros(chunk.rows, dtype=np.int64)
        ids = chunk.columns["name_id"]
        valid = chunk.valid.get("name_id")
        if chunk.rows == 0:
            return np.zeros(0, dtype=np.int64)
        low, high = int(ids.min()), int(ids.max())
        if low < 0 or high >= _DIRECT:
            codes = self._far_codes(ids)
        else:
            if high >= len(self._direct):
                grown = np.full(max(high + 1, 2 * len(self._direct)), -1, dtype=np.int32)
                grown[: len(self._direct)] = self._direct
                self._direct = grown
            direct = self._direct[ids]
            if (direct < 0).any():
                self._learn(np.unique(ids[direct < 0]).tolist())
                direct = self._direct[ids]
            codes = direct.astype(np.int64)
        return codes if valid is None else np.where(valid, codes, 0)

    def _far_codes(self, ids: Ints) -> Ints:
        unique, inverse = np.unique(ids, return_inverse=True)
        self._learn([i for i in unique.tolist() if i not in self._far], far=True)
        return np.array([self._far[i] for i in unique.tolist()], dtype=np.int64)[inverse]

    def _learn(self, ids: list[int], *, far: bool = False) -> None:
        texts = self._resolve(ids)
        for i in ids:
            name = texts.get(i) or UNRESOLVED
            code = self._by_name.setdefault(name, len(self.names))
            if code == len(self.names):
                self.names.append(name)
            if far:
                self._far[i] = code
            else:
                self._direct[i] = code


class Flags:
    """Per name code a yes or no, decided once a name by `decide` over the names that are new."""

    def __init__(self, names: Names, decide: Callable[[list[str]], Bools]) -> None:
        self._names = names
        self._decide = decide
        self._flags: Bools = np.zeros(0, dtype=np.bool_)

    @property
    def flags(self) -> Bools:
        """One flag per code known so far."""
        known, now = len(self._flags), len(self._names)
        if now > known:
            fresh = np.asarray(self._decide(self._names.names[known:now]), dtype=np.bool_)
            if known == 0 and len(fresh):
                fresh[0] = False  # the unresolved name belongs to nothing
            self._flags = np.concatenate((self._flags, fresh))
        return self._flags

    def of(self, codes: Ints) -> Bools:
        return self.flags[codes]


class Complement(Flags):
    """Every name that is not in the other set (the unresolved name is: it may be anything)."""

    def __init__(self, other: Flags) -> None:
        super().__init__(other._names, lambda new: np.ones(len(new), dtype=np.bool_))
        self._other = other

    @property
    def flags(self) -> Bools:
        return ~self._other.flags
