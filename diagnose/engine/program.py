"""Runs checked expressions through `polars.sql_expr`, many at once, on a one-row typed frame.

The SQL text is generated from the checked tree, so nothing a signature file says reaches the SQL
parser as written. Arithmetic gets a column of its own, whose non-finite results become null:
polars calls `NaN > 3`, `inf > 3` and `x / 0 > 3` true. Expressions nested deeper than a few levels
are split over columns too: the SQL parser takes exponential time on nested `NOT (…)`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from diagnose.engine.tree import (
    Arith,
    Between,
    Case,
    Coalesce,
    Compare,
    Const,
    In,
    IsNull,
    Kind,
    Logic,
    Name,
    Node,
    Not,
    NullIf,
)

if TYPE_CHECKING:
    import polars as pl

Scalar = float | bool | str | None
_MAX_DEPTH = 5


@dataclass(slots=True)
class Program:
    """Columns computed from named values; build with `add`, then `run` any number of times.

    `names` gives the type of every input. Results keep the name they were added under, and later
    expressions may use earlier results as inputs.
    """

    names: Mapping[str, Kind]
    outputs: list[str] = field(default_factory=list)
    _level_of: dict[str, int] = field(default_factory=dict)
    _levels: list[list[pl.Expr]] = field(default_factory=list)
    _inputs: dict[str, Kind] = field(default_factory=dict)

    def add(self, name: str, root: Node, rename: Mapping[str, str] | None = None) -> None:
        """Add the result column `name`; `rename` maps names in the tree to other columns."""
        self._column(name, root, rename or {})
        self.outputs.append(name)

    def run(self, rows: Sequence[Mapping[str, Scalar]]) -> list[dict[str, Scalar]]:
        """One dict of results a row. Values that are missing or not finite count as unknown.

        Raises TypeError when a value is not of the type its name was declared with.
        """
        return [self._run_one(row) for row in rows]

    def _run_one(self, row: Mapping[str, Scalar]) -> dict[str, Scalar]:
        # One row a frame: on more rows polars 2.1 fails on a literal left of a column that is all null.
        import polars as pl

        if not self.outputs:
            return {}
        dtypes: dict[Kind, pl.DataType] = {"number": pl.Float64(), "flag": pl.Boolean(), "text": pl.String()}
        # The first column makes a row even for a program of constants only.
        schema = {"#": dtypes["flag"]} | {name: dtypes[kind] for name, kind in self._inputs.items()}
        data = [None, *(typed(name, kind, row.get(name)) for name, kind in self._inputs.items())]
        frame = pl.DataFrame([data], schema=schema, orient="row")
        for level in self._levels:
            frame = frame.with_columns(level)
        results = dict(zip(frame.columns, frame.row(0), strict=True))
        return {name: results[name] for name in self.outputs}

    # -- building --------------------------------------------------------------------------------
    def _column(self, name: str, node: Node, rename: Mapping[str, str]) -> None:
        import polars as pl

        used: set[str] = set()
        sql = self._sql(node, rename, used, 0, top=True)
        level = max((self._level_of.get(u, -1) + 1 for u in used), default=0)
        expr = pl.sql_expr(sql)
        if isinstance(node, Arith):
            expr = pl.when(expr.is_finite()).then(expr)
        while len(self._levels) <= level:
            self._levels.append([])
        self._levels[level].append(expr.alias(name))
        self._level_of[name] = level

    def _lift(self, node: Node, rename: Mapping[str, str], used: set[str]) -> str:
        name = f"#{len(self._level_of)}"
        self._column(name, node, rename)
        used.add(name)
        return f'"{name}"'

    def _sql(
        self, node: Node, rename: Mapping[str, str], used: set[str], depth: int, *, top: bool = False
    ) -> str:
        if isinstance(node, Name):
            name = rename.get(node.name, node.name)
            used.add(name)
            if name not in self._level_of:
                self._inputs[name] = self.names[name]
            return f'"{name}"'
        if isinstance(node, Const):
            return _literal(node.value)
        if not top and (isinstance(node, Arith) or depth >= _MAX_DEPTH):
            return self._lift(node, rename, used)

        def sub(child: Node) -> str:
            text = self._sql(child, rename, used, depth + 1)
            # A leading quote: a name, or a column that the child was moved to.
            bare = text.startswith('"') and text.count('"') == 2 and text.endswith('"')
            return text if bare or isinstance(child, Const | Coalesce | NullIf) else f"({text})"

        def leaf(child: Node) -> str:
            # For operands that appear more than once in the generated text.
            return sub(child) if isinstance(child, Name | Const) else self._lift(child, rename, used)

        match node:
            case Compare():
                return f"{sub(node.left)} {node.op} {sub(node.right)}"
            case Logic():
                return f" {node.op} ".join(sub(p) for p in node.parts)
            case Not():
                return f"NOT {sub(node.part)}"
            case IsNull():
                return f"{sub(node.part)} IS NULL"
            case Between():
                part = leaf(node.part)
                return f"{part} >= {sub(node.low)} AND {part} <= {sub(node.high)}"
            case In():
                part = leaf(node.part)
                return " OR ".join(f"{part} = {sub(o)}" for o in node.options)
            case Arith():
                right = f"NULLIF({leaf(node.right)}, 0e0)" if node.op == "/" else sub(node.right)
                return f"{sub(node.left)} {node.op} {right}"
            case Coalesce():
                return f"COALESCE({', '.join(sub(p) for p in node.parts)})"
            case NullIf():
                return f"NULLIF({leaf(node.left)}, {leaf(node.right)})"
            case Case():
                whens = " ".join(f"WHEN {sub(c)} THEN {sub(v)}" for c, v in node.branches)
                return f"CASE {whens} ELSE {sub(node.otherwise)} END"


def typed(name: str, kind: Kind, value: object) -> Scalar:
    """The value as the declared type; None when unknown or not finite; TypeError when of another type."""
    if value is None:
        return None
    if kind == "number" and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if math.isfinite(value) else None
    if kind == "flag" and isinstance(value, bool):
        return value
    if kind == "text" and isinstance(value, str):
        return value
    raise TypeError(f"{name} is declared as {kind}, but was given {value!r}")


def _literal(value: float | bool | str | None) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    # The exponent makes it a float: a bare `1.0` would be a decimal.
    text = repr(value)
    return text if "e" in text else text + "e0"
