"""The checked form of a condition. Every node knows its type; a node that exists is allowed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["number", "flag", "text", "null"]
CompareOp = Literal["=", "<>", "<", "<=", ">", ">="]
KIND_WORDS: dict[Kind, str] = {"number": "a number", "flag": "yes/no", "text": "text", "null": "NULL"}


@dataclass(frozen=True, slots=True)
class Name:
    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Const:
    value: float | bool | str | None
    kind: Kind


@dataclass(frozen=True, slots=True)
class Compare:
    op: CompareOp
    left: Node
    right: Node
    kind: Kind = "flag"


@dataclass(frozen=True, slots=True)
class Logic:
    op: Literal["AND", "OR"]
    parts: tuple[Node, ...]
    kind: Kind = "flag"


@dataclass(frozen=True, slots=True)
class Not:
    part: Node
    kind: Kind = "flag"


@dataclass(frozen=True, slots=True)
class IsNull:
    part: Node
    kind: Kind = "flag"


@dataclass(frozen=True, slots=True)
class Between:
    part: Node
    low: Node
    high: Node
    kind: Kind = "flag"


@dataclass(frozen=True, slots=True)
class In:
    part: Node
    options: tuple[Node, ...]
    kind: Kind = "flag"


@dataclass(frozen=True, slots=True)
class Arith:
    op: Literal["+", "-", "*", "/"]
    left: Node
    right: Node
    kind: Kind = "number"


@dataclass(frozen=True, slots=True)
class Coalesce:
    parts: tuple[Node, ...]
    kind: Kind


@dataclass(frozen=True, slots=True)
class NullIf:
    left: Node
    right: Node
    kind: Kind


@dataclass(frozen=True, slots=True)
class Case:
    branches: tuple[tuple[Node, Node], ...]
    otherwise: Node
    kind: Kind


Node = Name | Const | Compare | Logic | Not | IsNull | Between | In | Arith | Coalesce | NullIf | Case
NULL = Const(None, "null")
TRUE = Const(True, "flag")
FALSE = Const(False, "flag")


def children(node: Node) -> tuple[Node, ...]:
    match node:
        case Name() | Const():
            return ()
        case Compare() | Arith() | NullIf():
            return (node.left, node.right)
        case Logic() | Coalesce():
            return node.parts
        case Not() | IsNull():
            return (node.part,)
        case Between():
            return (node.part, node.low, node.high)
        case In():
            return (node.part, *node.options)
        case Case():
            return (*(n for pair in node.branches for n in pair), node.otherwise)


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, left to right."""
    yield node
    for child in children(node):
        yield from walk(child)


def words(node: Node) -> str:
    """The node written back as text, for messages."""
    match node:
        case Name():
            return node.name
        case Const():
            return _constant(node.value)
        case Compare() | Arith():
            return f"{_wrapped(node.left)} {node.op} {_wrapped(node.right)}"
        case Logic():
            return f" {node.op} ".join(_wrapped(p) for p in node.parts)
        case Not():
            return f"NOT {_wrapped(node.part)}"
        case IsNull():
            return f"{_wrapped(node.part)} IS NULL"
        case Between():
            return f"{_wrapped(node.part)} BETWEEN {_wrapped(node.low)} AND {_wrapped(node.high)}"
        case In():
            return f"{_wrapped(node.part)} IN ({', '.join(words(o) for o in node.options)})"
        case Coalesce():
            return f"coalesce({', '.join(words(p) for p in node.parts)})"
        case NullIf():
            return f"NULLIF({words(node.left)}, {words(node.right)})"
        case Case():
            return "CASE … END"


def _constant(value: float | bool | str | None) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"{value:g}"


def _wrapped(node: Node) -> str:
    simple = isinstance(node, Name | Const | Coalesce | NullIf | Case)
    return words(node) if simple else f"({words(node)})"
