"""How far a condition is from its limits: measured ÷ asked, comparison by comparison."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from diagnose.engine.tree import (
    Arith,
    Between,
    Coalesce,
    Compare,
    CompareOp,
    Const,
    In,
    Logic,
    Name,
    Node,
    Not,
    NullIf,
    words,
)

Scalar = float | bool | str | None
_OPPOSITE: dict[CompareOp, CompareOp] = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "=": "<>", "<>": "="}
_MIRROR: dict[CompareOp, CompareOp] = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "<>": "<>"}
_FLIPPED = {"AND": "OR", "OR": "AND"}


@dataclass(frozen=True, slots=True)
class Compared:
    """One comparison as it was decided. `name` is set when the measured side is a plain name.

    `op` already includes a NOT around the comparison. A bare yes/no name has `op` "=".
    """

    measured: str
    value: Scalar
    op: CompareOp
    asked: str
    limit: Scalar
    holds: bool | None
    margin: float | None
    name: str = ""


def margin(root: Node, values: Mapping[str, Scalar]) -> float | None:
    """Measured ÷ asked of the tightest comparison: the smallest under AND, the largest under OR.

    `x >= t` gives x/t and `x <= t` gives t/x, so 1 is the limit and above 1 means it is passed.
    None where no comparison is numeric, a value is unknown, or a limit is zero or negative.
    """
    return _margin(root, values, negated=False)


def _margin(node: Node, values: Mapping[str, Scalar], *, negated: bool) -> float | None:
    if isinstance(node, Not):
        return _margin(node.part, values, negated=not negated)
    if isinstance(node, Coalesce) and node.kind == "flag":
        return _margin(node.parts[0], values, negated=negated)
    if isinstance(node, Compare):
        return _compare(node, values, negated).margin
    if isinstance(node, Logic | Between):
        parts = node.parts if isinstance(node, Logic) else _bounds(node)
        op = node.op if isinstance(node, Logic) else "AND"
        known = [m for p in parts if (m := _margin(p, values, negated=negated)) is not None]
        if not known:
            return None
        return min(known) if (_FLIPPED[op] if negated else op) == "AND" else max(known)
    return None


def compared(root: Node, values: Mapping[str, Scalar]) -> list[Compared]:
    """Every comparison and bare yes/no name of the condition, left to right, as it was decided."""
    out: list[Compared] = []
    _collect(root, values, False, out)
    return out


def _collect(node: Node, values: Mapping[str, Scalar], negated: bool, out: list[Compared]) -> None:
    if isinstance(node, Not):
        _collect(node.part, values, not negated, out)
    elif isinstance(node, Logic | Coalesce) and node.kind == "flag":
        for part in node.parts:
            _collect(part, values, negated, out)
    elif isinstance(node, Between):
        for part in _bounds(node):
            _collect(part, values, negated, out)
    elif isinstance(node, Compare):
        out.append(_compare(node, values, negated))
    elif isinstance(node, In):
        out.append(_in(node, values, negated))
    elif isinstance(node, Name) and node.kind == "flag":
        value = values.get(node.name)
        holds = None if value is None else bool(value) != negated
        out.append(
            Compared(node.name, value, "=", "no" if negated else "yes", not negated, holds, None, node.name)
        )


def _bounds(node: Between) -> tuple[Node, Node]:
    return Compare(">=", node.part, node.low), Compare("<=", node.part, node.high)


def _compare(node: Compare, values: Mapping[str, Scalar], negated: bool) -> Compared:
    left, right = node.left, node.right
    op = _OPPOSITE[node.op] if negated else node.op
    if isinstance(left, Const) and not isinstance(right, Const):
        left, right, op = right, left, _MIRROR[op]
    value, limit = scalar(left, values), scalar(right, values)
    name = left.name if isinstance(left, Name) else ""
    return Compared(
        words(left), value, op, words(right), limit, _holds(value, op, limit), _ratio(value, op, limit), name
    )


def _in(node: In, values: Mapping[str, Scalar], negated: bool) -> Compared:
    value = scalar(node.part, values)
    limits = [scalar(o, values) for o in node.options]
    holds = None if value is None else value in limits
    if holds is False and None in limits:
        holds = None
    asked = ", ".join(words(o) for o in node.options)
    name = node.part.name if isinstance(node.part, Name) else ""
    decided = None if holds is None else holds != negated
    return Compared(words(node.part), value, "<>" if negated else "=", asked, None, decided, None, name)


def _holds(value: Scalar, op: CompareOp, limit: Scalar) -> bool | None:
    if value is None or limit is None:
        return None
    if op in ("=", "<>"):
        return (value == limit) == (op == "=")
    if isinstance(value, str) or isinstance(limit, str):
        return None
    return {"<": value < limit, "<=": value <= limit, ">": value > limit, ">=": value >= limit}[op]


def _ratio(value: Scalar, op: CompareOp, limit: Scalar) -> float | None:
    if op in ("=", "<>") or isinstance(value, str | bool | None) or isinstance(limit, str | bool | None):
        return None
    top, bottom = (value, limit) if op in (">", ">=") else (limit, value)
    if bottom <= 0 or top < 0:
        return None
    return _finite(top / bottom)


def scalar(node: Node, values: Mapping[str, Scalar]) -> Scalar:
    """The value of a comparison's side; None when unknown, not finite, or a CASE."""
    match node:
        case Const():
            return node.value
        case Name():
            value = values.get(node.name)
            return _finite(value) if isinstance(value, float) else value
        case Coalesce():
            return next((v for p in node.parts if (v := scalar(p, values)) is not None), None)
        case NullIf():
            left, right = scalar(node.left, values), scalar(node.right, values)
            return None if left == right else left
        case Arith():
            return _arithmetic(node, values)
        case _:
            return None


def _arithmetic(node: Arith, values: Mapping[str, Scalar]) -> float | None:
    left, right = scalar(node.left, values), scalar(node.right, values)
    if not isinstance(left, int | float) or not isinstance(right, int | float):
        return None
    if node.op == "/":
        return None if right == 0 else _finite(left / right)
    return _finite({"+": left + right, "-": left - right, "*": left * right}[node.op])


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
