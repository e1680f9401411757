"""Tokens of a condition, and the limits that are checked before anything is parsed.

The limits come first because a long chain of operators hangs or crashes the SQL parser behind
`polars.sql_expr`; nothing longer than this ever gets near it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

MAX_CHARACTERS = 1_000
MAX_OPERATORS = 64
MAX_NESTING = 24

# Words that only make sense in a query, or that mean something else in SQL: never allowed as names.
OPERATOR_WORDS = frozenset({"AND", "OR", "NOT", "IS", "IN", "BETWEEN", "CASE", "WHEN"})
WORDS = OPERATOR_WORDS | {"NULL", "TRUE", "FALSE", "THEN", "ELSE", "END"}
FUNCTIONS = frozenset({"COALESCE", "NULLIF"})
_QUERY_WORDS = """
    ALL ALTER ANY AS ASC AVG BY CAST COUNT CREATE CROSS CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP DATE
    DELETE DESC DISTINCT DROP ESCAPE EXCEPT EXISTS EXTRACT FILTER FROM FULL GREATEST GROUP HAVING ILIKE INNER
    INSERT INTERSECT INTERVAL INTO JOIN LEAST LEFT LIKE LIMIT MAX MIN MOD NATURAL OFFSET ON ORDER OUTER OVER
    REGEXP RIGHT RLIKE SELECT SET SIMILAR SOME SUM TABLE TIME TIMESTAMP TRUNCATE TRY_CAST UNION UNKNOWN
    UPDATE USING VALUES WHERE WINDOW WITH XOR"""
FORBIDDEN_WORDS = frozenset(_QUERY_WORDS.split())
VERDICT_WORDS = frozenset({"confirmed", "probable", "ruled_out", "absent", "cannot_tell"})

TokenKind = Literal["number", "text", "name", "word", "symbol", "end"]

_TOKEN = re.compile(
    r"(?P<space>[ \t]+)"
    r"|(?P<comment>--|/\*|\*/|#)"
    r"|(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<text>'(?:[^'\x00-\x1f\x7f]|'')*')"
    r"|(?P<symbol><=|>=|<>|!=|=|<|>|\+|-|\*|/|\(|\)|,)"
)
_REFUSED = {
    '"': "double quotes are not allowed: write names bare and text in 'single quotes'",
    "`": "backquotes are not allowed: write names bare",
    "'": "a text that starts here is not closed on this line",
    ";": "';' is not allowed: a condition is one expression",
    "%": "'%' is not allowed: there is no remainder, and a percentage is written as a ratio (0.6)",
    "|": "'|' is not allowed: write OR",
    "&": "'&' is not allowed: write AND",
    "!": "'!' is not allowed: write NOT",
    ".": "'.' is not allowed: names are plain, without a table or a member",
    "\n": "a condition is one line",
    "\r": "a condition is one line",
}


class ExpressionError(ValueError):
    """A condition that is refused: what is wrong, the 1-based column, and what to write instead."""

    def __init__(self, message: str, column: int = 1, hint: str = "", length: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.column = column
        self.hint = hint
        self.length = length


@dataclass(frozen=True, slots=True)
class Token:
    """`text` is upper case for words; `column` is 1-based."""

    kind: TokenKind
    text: str
    column: int

    def is_(self, *texts: str) -> bool:
        return self.kind in ("word", "symbol") and self.text in texts


def is_reserved(name: str) -> bool:
    """True for a name that a signature may not give to a fact, a threshold or a step."""
    upper = name.upper()
    return upper in WORDS | FUNCTIONS | FORBIDDEN_WORDS or name.lower() in VERDICT_WORDS


def tokenize(text: str) -> list[Token]:
    """Tokens of `text`, closed by an `end` token; raises ExpressionError, also for the limits."""
    if len(text) > MAX_CHARACTERS:
        raise ExpressionError(f"{len(text):,} characters; at most {MAX_CHARACTERS:,} are allowed")
    tokens: list[Token] = []
    at = operators = depth = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        kind = match.lastgroup if match else None
        if match is None or kind == "comment":
            raise _refused(text, at)
        if kind != "space":
            token = _token(match.group(), kind or "", at + 1)
            operators += _counts(token)
            depth += _nests(token)
            if depth > MAX_NESTING:
                raise ExpressionError(f"nested deeper than {MAX_NESTING} levels", at + 1)
            tokens.append(token)
            if kind == "number" and match.end() < len(text) and re.match(r"[A-Za-z_.]", text[match.end()]):
                raise ExpressionError(
                    f"'{text[at : match.end() + 1]}' is neither a number nor a name", at + 1
                )
        at = match.end()
    if operators > MAX_OPERATORS:
        raise ExpressionError(f"{operators} operators; at most {MAX_OPERATORS} are allowed")
    tokens.append(Token("end", "", len(text) + 1))
    return tokens


def _token(text: str, kind: str, column: int) -> Token:
    if kind == "name":
        upper = text.upper()
        if upper in WORDS:
            return Token("word", upper, column)
        return Token("name", text, column)
    if kind == "number":
        return Token("number", text, column)
    if kind == "text":
        return Token("text", text[1:-1].replace("''", "'"), column)
    return Token("symbol", "<>" if text == "!=" else text, column)


def _counts(token: Token) -> int:
    if token.kind == "symbol":
        return token.text not in "()"
    if token.kind == "word":
        return token.text in OPERATOR_WORDS
    return token.kind == "name" and token.text.upper() in FUNCTIONS


def _nests(token: Token) -> int:
    if token.is_("(", "CASE"):
        return 1
    return -1 if token.is_(")", "END") else 0


def _refused(text: str, at: int) -> ExpressionError:
    char = text[at]
    if text.startswith(("--", "/*", "*/", "#"), at):
        return ExpressionError("comments are not allowed in a condition", at + 1, "put the reason in `why`")
    if char in _REFUSED:
        return ExpressionError(_REFUSED[char], at + 1)
    shown = f"'{char}'" if char.isprintable() else "this character"
    return ExpressionError(f"{shown} (U+{ord(char):04X}) is not allowed", at + 1)
