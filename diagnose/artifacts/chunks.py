"""Column chunks: how the event streams of a trace travel from a reader to the states."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(slots=True)
class Chunk:
    """Some consecutive rows of one stream, one int64 array a column (names of `tables.STREAMS`).

    `valid[name]` marks the cells that hold a value; a column without an entry has no NULL.
    A column that the export lacks is not in `columns` at all.
    """

    rows: int
    columns: dict[str, Ints] = field(default_factory=dict)
    valid: dict[str, Bools] = field(default_factory=dict)

    def mask(self, name: str) -> Bools:
        """True where `name` holds a value; all False when the column is absent."""
        if name not in self.columns:
            return np.zeros(self.rows, dtype=np.bool_)
        found = self.valid.get(name)
        return np.ones(self.rows, dtype=np.bool_) if found is None else found

    def take(self, rows: Bools | Ints) -> Chunk:
        """The chosen rows (mask or indices) as a new chunk."""
        columns = {name: values[rows] for name, values in self.columns.items()}
        count = len(next(iter(columns.values()))) if columns else 0
        return Chunk(count, columns, {name: values[rows] for name, values in self.valid.items()})
