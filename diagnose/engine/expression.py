"""What a condition may say: a small SQL expression over names, checked for types before it is used.

Allowed: names, literals, comparisons (not chained), AND, OR, NOT, `coalesce`, `NULLIF`,
`IS [NOT] NULL`, `[NOT] IN`, `[NOT] BETWEEN`, `CASE WHEN … THEN … [ELSE …] END`, `+ - * /`.
Everything else is refused here, with the column and what to write instead. The result is a tree
(`tree.py`); only text generated from that tree reaches the evaluator (`program.py`).
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, cast

from diagnose.engine import tokens, tree
from diagnose.engine.margin import compared, margin
from diagnose.engine.tokens import ExpressionError, Token, tokenize
from diagnose.engine.tree import (
    KIND_WORDS,
    Arith,
    Between,
    Case,
    Coalesce,
    Compare,
    CompareOp,
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

__all__ = ["Expression", "ExpressionError", "check", "compared", "margin"]

_COMPARE = ("=", "<>", "<", "<=", ">", ">=")
_WHY_NOT = {
    "GREATEST": "it skips unknown values",
    "LEAST": "it skips unknown values",
    "SELECT": "there are no sub-queries",
    "LIKE": "patterns belong in the catalogue, not in conditions",
}


@dataclass(frozen=True, slots=True)
class Expression:
    """A checked expression. `names` are the facts, thresholds and steps it reads, in order of use."""

    text: str
    root: Node
    names: tuple[str, ...]

    @property
    def kind(self) -> Kind:
        return self.root.kind


def check(text: str, names: Mapping[str, Kind], *, want: Kind = "flag") -> Expression:
    """Check `text` against the known `names` and the type it must have; raises ExpressionError."""
    root = _Parser(tokenize(text), names).whole()
    if root.kind != want:
        raise ExpressionError(
            f"the {'condition' if want == 'flag' else 'value'} is {KIND_WORDS[root.kind]}, "
            f"but must be {KIND_WORDS[want]}",
            hint=_compare_hint(root, want),
            length=len(text),
        )
    used = dict.fromkeys(n.name for n in tree.walk(root) if isinstance(n, Name))
    return Expression(text, root, tuple(used))


class _Parser:
    """Recursive descent, one method a level of precedence: OR, AND, NOT, predicate, sum, product, atom."""

    def __init__(self, toks: list[Token], names: Mapping[str, Kind]) -> None:
        self.toks = toks
        self.at = 0
        self.names = names

    # -- helpers ---------------------------------------------------------------------------------
    @property
    def token(self) -> Token:
        return self.toks[self.at]

    def take(self, *texts: str) -> bool:
        if self.token.is_(*texts):
            self.at += 1
            return True
        return False

    def expect(self, text: str, after: str) -> None:
        if not self.take(text):
            raise self.fault(f"expected {text} {after}, found {_found(self.token)}")

    def fault(self, message: str, token: Token | None = None, hint: str = "") -> ExpressionError:
        token = token or self.token
        return ExpressionError(message, token.column, hint, max(1, len(token.text)))

    def need(self, node: Node, kind: Kind, what: str, token: Token) -> None:
        if node.kind != kind:
            message = f"{what} needs {KIND_WORDS[kind]}, and {_described(node)}"
            raise self.fault(message, token, _compare_hint(node, kind))

    # -- grammar ---------------------------------------------------------------------------------
    def whole(self) -> Node:
        if len(self.toks) == 1:
            raise self.fault("the expression is empty")
        node = self.logic_or()
        if self.token.kind != "end":
            raise self.unexpected()
        return node

    def unexpected(self) -> ExpressionError:
        token = self.token
        if token.kind == "name" and token.text.upper() == "AS":
            return self.fault("an alias (AS) is not allowed")
        if token.kind == "name" and token.text.upper() in tokens.FORBIDDEN_WORDS:
            return self.forbidden(token)
        return self.fault(f"unexpected {_found(token)}")

    def forbidden(self, token: Token) -> ExpressionError:
        word = token.text.upper()
        return self.fault(f"{word} is not allowed in a condition", token, _WHY_NOT.get(word, ""))

    def logic_or(self) -> Node:
        return self.logic("OR")

    def logic_and(self) -> Node:
        return self.logic("AND")

    def logic(self, word: Literal["AND", "OR"]) -> Node:
        operand = self.logic_and if word == "OR" else self.logic_not
        first = self.token
        parts = [operand()]
        while self.token.is_(word):
            operator = self.token
            self.at += 1
            if len(parts) == 1:
                self.need(parts[0], "flag", word, first)
            start = self.token
            parts.append(operand())
            self.need(parts[-1], "flag", word, start if start.kind != "end" else operator)
        if len(parts) == 1:
            return parts[0]
        return Logic(word, tuple(parts))

    def logic_not(self) -> Node:
        token = self.token
        if not self.take("NOT"):
            return self.predicate()
        part = self.logic_not()
        self.need(part, "flag", "NOT", token)
        return Not(part)

    def predicate(self) -> Node:
        start = self.token
        left = self.sum()
        token = self.token
        if token.kind == "symbol" and token.text in _COMPARE:
            self.at += 1
            right = self.sum()
            self.comparable(left, right, token.text, token)
            node: Node = Compare(cast(CompareOp, token.text), left, right)
        elif self.take("IS"):
            node = self.is_null(left)
        elif token.is_("IN", "BETWEEN") or (token.is_("NOT") and self.toks[self.at + 1].is_("IN", "BETWEEN")):
            negated = self.take("NOT")
            node = self.in_list(left) if self.take("IN") else self.between(left, start)
            node = Not(node) if negated else node
        else:
            return left
        if self.token.is_(*_COMPARE, "IS", "IN", "BETWEEN"):
            hint = "write a <= x AND x <= b, or x BETWEEN a AND b"
            raise self.fault("comparisons cannot be chained", hint=hint)
        return node

    def is_null(self, left: Node) -> Node:
        negated = self.take("NOT")
        if not self.take("NULL"):
            raise self.fault(
                f"only IS NULL and IS NOT NULL are allowed, found {_found(self.token)}",
                hint="write the condition itself, NOT …, or coalesce(…, FALSE)",
            )
        return Not(IsNull(left)) if negated else IsNull(left)

    def in_list(self, left: Node) -> Node:
        self.expect("(", "after IN")
        options: list[Node] = []
        while True:
            token = self.token
            option = self.sum()
            self.comparable(left, option, "=", token)
            options.append(option)
            if not self.take(","):
                break
        self.expect(")", "after the list of IN")
        return In(left, tuple(options))

    def between(self, left: Node, start: Token) -> Node:
        self.expect("BETWEEN", "here")
        self.need(left, "number", "BETWEEN", start)
        bounds: list[Node] = []
        for last in (False, True):
            token = self.token
            bound = self.sum()
            self.need(bound, "number", "BETWEEN", token)
            bounds.append(bound)
            if not last:
                self.expect("AND", "between the bounds of BETWEEN")
        return Between(left, bounds[0], bounds[1])

    def comparable(self, left: Node, right: Node, op: str, token: Token) -> None:
        if "null" in (left.kind, right.kind):
            raise self.fault("a comparison with NULL is never true", token, "write IS NULL or IS NOT NULL")
        if left.kind != right.kind:
            raise self.fault(
                f"{_described(left)}, compared with {_operand(right)}", token, _number_hint(left, right)
            )
        if left.kind != "number" and op not in ("=", "<>"):
            raise self.fault(f"{KIND_WORDS[left.kind]} has no order: only = and <> are allowed", token)

    def sum(self) -> Node:
        return self.arithmetic(("+", "-"))

    def product(self) -> Node:
        return self.arithmetic(("*", "/"))

    def arithmetic(self, ops: tuple[str, str]) -> Node:
        operand = self.product if ops[0] == "+" else self.negative
        start = self.token
        node = operand()
        while self.token.is_(*ops):
            token = self.token
            self.at += 1
            self.need(node, "number", token.text, start)
            begin = self.token
            right = operand()
            self.need(right, "number", token.text, begin)
            node = Arith(token.text, node, right)  # type: ignore[arg-type]
        return node

    def negative(self) -> Node:
        token = self.token
        if not self.take("-"):
            if self.token.is_("+"):
                raise self.fault("a leading '+' is not allowed")
            return self.atom()
        part = self.negative()
        self.need(part, "number", "-", token)
        if isinstance(part, Const) and isinstance(part.value, float):
            return Const(-part.value, "number")
        return Arith("-", Const(0.0, "number"), part)

    def atom(self) -> Node:
        token = self.token
        self.at += token.kind != "end"
        if token.kind == "number":
            value = float(token.text)
            if not math.isfinite(value):
                raise self.fault(f"{token.text} is too large", token)
            return Const(value, "number")
        if token.kind == "text":
            return Const(token.text, "text")
        if token.is_("TRUE", "FALSE"):
            return Const(token.text == "TRUE", "flag")
        if token.is_("NULL"):
            return tree.NULL
        if token.is_("CASE"):
            return self.case()
        if token.is_("("):
            node = self.logic_or()
            if self.token.is_(","):
                raise self.fault("a list is allowed only after IN")
            self.expect(")", "to close the parenthesis")
            return node
        if token.kind == "name":
            return self.call(token) if self.token.is_("(") else self.name(token)
        raise self.fault(f"expected a name or a value, found {_found(token)}", token)

    def name(self, token: Token) -> Node:
        kind = self.names.get(token.text)
        if kind is not None:
            return Name(token.text, kind)
        if token.text.upper() in tokens.FORBIDDEN_WORDS:
            raise self.forbidden(token)
        raise self.fault(f"unknown name {token.text}", token, did_you_mean(token.text, self.names))

    def call(self, token: Token) -> Node:
        function = token.text.upper()
        if function not in tokens.FUNCTIONS:
            why = _WHY_NOT.get(function, "only coalesce and NULLIF are")
            raise self.fault(f"the function {token.text} is not allowed: {why}", token)
        self.expect("(", f"after {token.text}")
        starts: list[Token] = []
        parts: list[Node] = []
        while True:
            starts.append(self.token)
            parts.append(self.logic_or())
            if not self.take(","):
                break
        self.expect(")", f"to close {token.text}(")
        if len(parts) < 2 or (function == "NULLIF" and len(parts) != 2):
            count = "two" if function == "NULLIF" else "at least two"
            raise self.fault(f"{token.text} needs {count} values", token)
        kind = self.one_kind(parts, starts, token.text)
        if function == "NULLIF":
            return NullIf(parts[0], parts[1], kind)
        return Coalesce(tuple(parts), kind)

    def case(self) -> Node:
        if not self.token.is_("WHEN"):
            raise self.fault("only CASE WHEN condition THEN value … END is allowed")
        branches: list[tuple[Node, Node]] = []
        starts: list[Token] = []
        while self.take("WHEN"):
            token = self.token
            condition = self.logic_or()
            self.need(condition, "flag", "WHEN", token)
            self.expect("THEN", "after WHEN")
            starts.append(self.token)
            branches.append((condition, self.logic_or()))
        otherwise: Node = tree.NULL
        starts.append(self.token)
        if self.take("ELSE"):
            starts[-1] = self.token
            otherwise = self.logic_or()
        self.expect("END", "to close CASE")
        kind = self.one_kind([value for _, value in branches] + [otherwise], starts, "CASE", null=True)
        return Case(tuple(branches), otherwise, kind)

    def one_kind(self, parts: list[Node], starts: list[Token], what: str, *, null: bool = False) -> Kind:
        known = [p for p in parts if p.kind != "null"]
        if not known or (not null and len(known) != len(parts)):
            raise self.fault(f"{what} needs values, not NULL", starts[0])
        for part, start in zip(parts, starts, strict=True):
            if part.kind not in (known[0].kind, "null"):
                kinds = f"{KIND_WORDS[known[0].kind]} and {KIND_WORDS[part.kind]}"
                raise self.fault(f"{what} mixes {kinds}", start)
        return known[0].kind


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`did you mean x?` for a near miss, else an empty text."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.7)
    return f"did you mean {close[0]}?" if close else ""


def _described(node: Node) -> str:
    return f"{_text(node)} is {KIND_WORDS[node.kind]}"


def _operand(node: Node) -> str:
    if isinstance(node, Const):
        what = "" if node.kind == "flag" else KIND_WORDS[node.kind].removeprefix("a ") + " "
        return what + tree.words(node)
    return f"{_text(node)}, which is {KIND_WORDS[node.kind]}"


def _text(node: Node) -> str:
    text = tree.words(node)
    return text if len(text) <= 60 else text[:57] + "…"


def _number_hint(left: Node, right: Node) -> str:
    texts = [n.value for n in (left, right) if isinstance(n, Const) and isinstance(n.value, str)]
    if not texts or "number" not in (left.kind, right.kind):
        return ""
    percent = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]+)?) *(?:%|percent)", texts[0].strip())
    if percent:
        ratio = float(percent[1]) / 100
        return f"write {ratio:.2f}" if round(ratio, 2) == ratio else f"write {ratio:g}"
    plain = re.fullmatch(r"[0-9]+(?:\.[0-9]+)?", texts[0].strip())
    return f"write {plain[0]} without quotes" if plain else ""


def _compare_hint(node: Node, wanted: Kind) -> str:
    if (node.kind, wanted) != ("number", "flag"):
        return ""
    return f"compare it, for example {_text(node)} > 0"


def _found(token: Token) -> str:
    if token.kind == "end":
        return "the end"
    return f"text '{token.text}'" if token.kind == "text" else f"'{token.text}'"
