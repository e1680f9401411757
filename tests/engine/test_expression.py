"""Conditions: what is refused and how fast, and that what is allowed means what SQL says."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.engine.expression import ExpressionError, check, compared, margin
from diagnose.engine.program import Program
from diagnose.engine.tree import Kind

NAMES: dict[str, Kind] = {"a": "number", "b": "number", "f": "flag", "g": "flag", "t": "text"}


def run(text: str, want: Kind = "flag", **values: Any) -> Any:
    program = Program(NAMES)
    program.add("result", check(text, NAMES, want=want).root)
    return program.run([values])[0]["result"]


# -- refused -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("aa > 1", "unknown name aa"),
        ("a", "must be yes/no"),
        ("a + 1", "must be yes/no"),
        ("NOT a", "NOT needs yes/no, and a is a number"),
        ("NOT (a + b)", "NOT needs yes/no"),
        ("f AND a", "AND needs yes/no, and a is a number"),
        ("a OR f", "OR needs yes/no"),
        ("5 <= a <= 200", "chained"),
        ("a = b = 1", "chained"),
        ("a IS NULL IS NULL", "chained"),
        ("a >= 'x'", "a is a number, compared with text 'x'"),
        ("t = 1", "t is text, compared with number 1"),
        ("t = f", "t is text, compared with f, which is yes/no"),
        ("f = 1", "f is yes/no, compared with number 1"),
        ("t > 'x'", "no order"),
        ("f < g", "no order"),
        ("a = NULL", "never true"),
        ("f IS NOT TRUE", "only IS NULL and IS NOT NULL"),
        ("f IS FALSE", "only IS NULL and IS NOT NULL"),
        ("greatest(a, b) > 1", "greatest is not allowed: it skips unknown values"),
        ("least(a, b) > 1", "it skips unknown values"),
        ("sum(a) > 1", "the function sum is not allowed"),
        ("count(a) > 1", "the function count is not allowed"),
        ("read_csv('/etc/passwd')", "the function read_csv is not allowed"),
        ("a > (SELECT 1)", "SELECT is not allowed"),
        ("a IN (SELECT 1)", "SELECT is not allowed"),
        ("EXISTS (SELECT 1)", "EXISTS is not allowed"),
        ("a > 1 AS c", "alias"),
        ("a > 1 c", "unexpected 'c'"),
        ("a > 1 -- why", "comments"),
        ("a > /* why */ 1", "comments"),
        ("a > 1 # why", "comments"),
        ("a > 1; DROP TABLE x", "';' is not allowed"),
        ("x.y > 1", "'.' is not allowed"),
        ('"a" > 1', "double quotes"),
        ("`a` > 1", "backquotes"),
        ("a > 'x", "not closed"),
        ("a > 1\n", "one line"),
        ("t LIKE 'x%'", "LIKE is not allowed"),
        ("t || 'x' = 'y'", "'|' is not allowed"),
        ("a % 2 = 0", "'%' is not allowed"),
        ("a > 1e999", "too large"),
        ("a > 12x", "neither a number nor a name"),
        ("a > 1.2.3", "neither a number nor a name"),
        ("é > 1", "U+00E9"),
        ("a > ١", "U+0661"),
        ("a \u00a0> 1", "U+00A0"),
        ("a > \u2212 1", "U+2212"),
        ("a > 1 \u202e", "U+202E"),
        ("a \x00> 1", "U+0000"),
        ("a IN ()", "expected a name or a value"),
        ("a IN 1", "expected ( after IN"),
        ("a IN (1, 'x')", "compared with text"),
        ("t BETWEEN 'a' AND 'b'", "BETWEEN needs a number"),
        ("a BETWEEN 1", "expected AND"),
        ("(a, b) = 1", "list"),
        ("(a > 1", "to close the parenthesis"),
        ("a > 1)", "unexpected ')'"),
        ("CASE a WHEN 1 THEN f END", "only CASE WHEN"),
        ("CASE WHEN f THEN 1 WHEN g THEN 'x' END = 1", "mixes"),
        ("CASE WHEN a THEN f END", "WHEN needs yes/no"),
        ("CASE WHEN f THEN NULL END", "not NULL"),
        ("coalesce(a) > 1", "at least two"),
        ("coalesce(a, t) > 1", "mixes"),
        ("coalesce(a, NULL) > 1", "not NULL"),
        ("NULLIF(a, b, 1) > 1", "needs two"),
        ("NULLIF(a, t) > 1", "mixes"),
        ("t + 1 > 0", "+ needs a number"),
        ("-f", "- needs a number"),
        ("+a > 1", "leading '+'"),
        ("CAST(a AS INT) > 1", "CAST is not allowed"),
        ("a::INT > 1", "U+003A"),
        ("__import__('os')", "__import__ is not allowed"),
    ],
)
def test_refused(text: str, says: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        check(text, NAMES)
    assert says in caught.value.message
    assert 1 <= caught.value.column <= len(text) + 1


@pytest.mark.parametrize(
    "text",
    [
        " AND ".join(["f"] * 2_000),
        " AND ".join(["f"] * 20_000),
        "+".join(["a"] * 66) + " > 1",
        "a IN (" + ",".join("1" * 80) + ")",
        "(" * 400 + "f" + ")" * 400,
        "(" * 100_000,
        "NOT " * 200 + "f",
        "-" * 300 + "a > 1",
        "- " * 200 + "a > 1",
        "coalesce(" * 90 + "f",
        "CASE WHEN f THEN " * 50 + "f" + " END" * 50,
        "'" + "''" * 5_000,
        "x" * 1_001,
        "f" + " " * 1_000,
        "9" * 1_500 + " > a",
    ],
)
def test_hostile_texts_are_refused_at_once(text: str) -> None:
    begun = time.perf_counter()
    with pytest.raises(ExpressionError):
        check(text, NAMES)
    assert time.perf_counter() - begun < 0.2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(" * 24 + "f" + ")" * 24, True),
        ("NOT " * 60 + "f", True),
        ("NOT (" * 20 + "f AND g" + ")" * 20, True),
        ("NOT(f AND NOT(g AND " * 10 + "f" + "))" * 10, True),
        (" AND ".join(["f"] * 65), True),
        ("-" + " -" * 59 + "a > 0", True),
        ("NULLIF(" * 20 + "a" + ", 5)" * 20 + " = 1", True),
        ("a IN (" + ", ".join(str(i) for i in range(60)) + ")", True),
        ("CASE WHEN f THEN " * 20 + "f" + " END" * 20, True),
        (" AND ".join(["NOT (f AND (g OR f))"] * 12), False),
    ],
)
def test_the_largest_allowed_are_still_fast(text: str, expected: bool) -> None:
    begun = time.perf_counter()
    assert run(text, a=1.0, f=True, g=True) is expected
    assert time.perf_counter() - begun < 0.5


def test_limits_are_exact() -> None:
    assert check("f" + " " * 999, NAMES).text
    check("f" + " AND f" * 64, NAMES)
    with pytest.raises(ExpressionError, match="65 operators; at most 64"):
        check("f" + " AND f" * 65, NAMES)
    with pytest.raises(ExpressionError, match="1,001 characters; at most 1,000"):
        check("f" + " " * 1_000, NAMES)


def test_hints() -> None:
    def hint(text: str) -> str:
        with pytest.raises(ExpressionError) as caught:
            check(text, {**NAMES, "gemm_share": "number"})
        return caught.value.hint

    assert hint("gem_share > 1") == "did you mean gemm_share?"
    assert hint("a >= '60 percent'") == "write 0.60"
    assert hint("a >= '7.5%'") == "write 0.075"
    assert hint("a >= '12'") == "write 12 without quotes"
    assert hint("NOT a") == "compare it, for example a > 0"
    assert "a <= x AND x <= b" in hint("1 < a < 2")


def test_column_points_at_the_fault() -> None:
    with pytest.raises(ExpressionError) as caught:
        check("f AND bb > 1", NAMES)
    assert (caught.value.column, caught.value.length) == (7, 2)


def test_names_in_order_of_use() -> None:
    assert check("b > 1 AND (a > 2 OR b < 3) AND f", NAMES).names == ("b", "a", "f")


def test_wanted_type() -> None:
    assert check("a + b", NAMES, want="number").kind == "number"
    with pytest.raises(ExpressionError, match="must be a number"):
        check("a > 1", NAMES, want="number")


# -- meaning -------------------------------------------------------------------------------------
T, F, N = True, False, None


@pytest.mark.parametrize(
    ("left", "right", "both", "either"),
    [
        (T, T, T, T),
        (T, F, F, T),
        (T, N, N, T),
        (F, T, F, T),
        (F, F, F, F),
        (F, N, F, N),
        (N, T, N, T),
        (N, F, F, N),
        (N, N, N, N),
    ],
)
def test_truth_tables(left: bool | None, right: bool | None, both: bool | None, either: bool | None) -> None:
    assert run("f AND g", f=left, g=right) is both
    assert run("f OR g", f=left, g=right) is either
    assert run("NOT f", f=left) is (None if left is None else not left)
    assert run("f IS NULL", f=left) is (left is None)
    assert run("f IS NOT NULL", f=left) is (left is not None)


NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("a > 3", {"a": NAN}, None),
        ("a > 3", {"a": INF}, None),
        ("a < 3", {"a": -INF}, None),
        ("a / b > 3", {"a": 1.0, "b": 0.0}, None),
        ("a / b > 3", {"a": 1.0, "b": -0.0}, None),
        ("a / 0 > 3", {"a": 1.0}, None),
        ("0 / a > 3", {"a": 0.0}, None),
        ("a / b > 3", {"a": 1e308, "b": 1e-10}, None),
        ("a * a > 3", {"a": 1e200}, None),
        ("a * a - a * a > 3", {"a": 1e200}, None),
        ("1 / (a * a) < 3", {"a": 1e200}, None),
        ("a / (b - b) IS NULL", {"a": 1.0, "b": 7.0}, True),
        ("b > 0 AND a / b >= 3", {"a": 1.0, "b": 0.0}, False),
        ("coalesce(a / b, 9) > 3", {"a": 1.0, "b": 0.0}, True),
        ("a + b > 3", {"a": 5.0, "b": None}, None),
        ("2 + 3 * a = 11 AND (2 + 3) * a = 15", {"a": 3.0}, True),
        ("10 - 3 - 2 = a AND 16 / 4 / 2 = 2", {"a": 5.0}, True),
        ("-a * -2 = 6 AND a - -1 = 4", {"a": 3.0}, True),
        ("0.1 + a = 0.30000000000000004", {"a": 0.2}, True),
        ("a = 0.1", {"a": 0.1}, True),
        ("a <> 1", {"a": 2.0}, True),
        ("a != 1", {"a": 1.0}, False),
        ("a BETWEEN 1 AND b", {"a": 0.0, "b": None}, False),
        ("a BETWEEN 1 AND b", {"a": 2.0, "b": None}, None),
        ("a NOT BETWEEN 1 AND 3", {"a": 4.0}, True),
        ("a + 1 BETWEEN 1 AND 3", {"a": 2.0}, True),
        ("a IN (1, 2)", {"a": 2.0}, True),
        ("a IN (1, b)", {"a": 2.0, "b": None}, None),
        ("a NOT IN (1, 2)", {"a": None}, None),
        ("t IN ('x', 'y')", {"t": "y"}, True),
        ("t NOT IN ('x', 'y')", {"t": "z"}, True),
        ("t = 'it''s'", {"t": "it's"}, True),
        ("t = '\\'", {"t": "\\"}, True),
        ("t = 'é ☃ -- /* ; \"'", {"t": 'é ☃ -- /* ; "'}, True),
        ("t <> ''", {"t": "x"}, True),
        ("f = g", {"f": False, "g": False}, True),
        ("f <> TRUE", {"f": False}, True),
        ("(a > 1) = f", {"a": 2.0, "f": True}, True),
        ("coalesce(f, FALSE)", {"f": None}, False),
        ("coalesce(a, b, 7) = 7", {"a": None, "b": None}, True),
        ("coalesce(t, 'none') = 'none'", {"t": None}, True),
        ("NULLIF(a, 0) > 1", {"a": 0.0}, None),
        ("NULLIF(a, b) > 1", {"a": 2.0, "b": None}, True),
        ("CASE WHEN a > 1 THEN f ELSE g END", {"a": None, "f": True, "g": False}, False),
        ("CASE WHEN a > 1 THEN f END", {"a": 0.0, "f": True}, None),
        ("CASE WHEN f THEN 1.5 ELSE NULL END > 1", {"f": True}, True),
        ("CASE WHEN f THEN 'x' ELSE 'y' END = t", {"f": False, "t": "y"}, True),
        ("f OR g AND FALSE", {"f": True, "g": True}, True),
        ("(f OR g) AND FALSE", {"f": True, "g": True}, False),
        ("NOT f AND g", {"f": False, "g": True}, True),
        ("NOT (f AND g)", {"f": False, "g": True}, True),
        ("NOT a > 1", {"a": 0.0}, True),
        ("not f or g", {"f": True, "g": False}, False),
        ("TRUE", {}, True),
        ("1 < 2", {}, True),
    ],
)
def test_meaning(text: str, values: dict[str, Any], expected: bool | None) -> None:
    assert run(text, **values) is expected


def test_number_results() -> None:
    assert run("a - b", want="number", a=5.0, b=2.0) == 3.0
    assert run("a / b", want="number", a=5.0, b=0.0) is None


def test_integers_are_numbers_and_wrong_types_are_faults() -> None:
    assert run("a = 5", a=5) is True
    with pytest.raises(TypeError, match="a is declared as number"):
        run("a = 5", a=True)
    with pytest.raises(TypeError, match="f is declared as flag"):
        run("f", f=1.0)


def test_many_rows_at_once() -> None:
    program = Program(NAMES)
    program.add("more", check("a > b", NAMES).root)
    program.add("sum", check("a + b", NAMES, want="number").root)
    rows = [{"a": 1.0, "b": 0.0}, {"a": 1.0}, {"a": 1.0, "b": 2.0}]
    assert program.run(rows) == [
        {"more": True, "sum": 1.0},
        {"more": None, "sum": None},
        {"more": False, "sum": 3.0},
    ]
    assert Program(NAMES).run(rows) == [{}, {}, {}]


# -- against an independent implementation -------------------------------------------------------
# Expressions are nested tuples here, written as text for the program and computed below in Python.
CONSTANTS = st.sampled_from([0.0, 1.0, 2.0, 3.5, 0.1, 1e-9, 1e300])
NUMBER = st.deferred(
    lambda: (
        st.tuples(st.just("name"), st.sampled_from(["a", "b"]))
        | st.tuples(st.just("const"), CONSTANTS)
        | st.tuples(st.sampled_from(["+", "-", "*", "/"]), NUMBER, NUMBER)
        | st.tuples(st.sampled_from(["coalesce", "NULLIF"]), NUMBER, NUMBER)
        | st.tuples(st.just("case"), FLAG, NUMBER, NUMBER)
        | st.tuples(st.just("minus"), NUMBER)
    )
)
FLAG = st.deferred(
    lambda: (
        st.tuples(st.just("name"), st.sampled_from(["f", "g"]))
        | st.tuples(st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), NUMBER, NUMBER)
        | st.tuples(st.sampled_from(["AND", "OR"]), FLAG, FLAG)
        | st.tuples(st.just("NOT"), FLAG)
        | st.tuples(st.just("isnull"), NUMBER | FLAG)
        | st.tuples(st.just("between"), NUMBER, NUMBER, NUMBER)
        | st.tuples(st.just("in"), NUMBER, NUMBER, NUMBER)
        | st.tuples(st.just("coalesce"), FLAG, FLAG)
        | st.tuples(st.just("case"), FLAG, FLAG, FLAG)
    )
)
VALUES = st.fixed_dictionaries(
    {
        "a": st.sampled_from([None, 0.0, -0.0, 1.0, 2.0, -3.0, 1e300, NAN, INF, -INF]),
        "b": st.sampled_from([None, 0.0, 1.0, 2.0, 1e-300, NAN]),
        "f": st.sampled_from([True, False, None]),
        "g": st.sampled_from([True, False, None]),
    }
)


def written(e: Any) -> str:
    match e:
        case ("name", name):
            return str(name)
        case ("const", value):
            return repr(value)
        case ("coalesce" | "NULLIF", x, y):
            return f"{e[0]}({written(x)}, {written(y)})"
        case ("case", c, x, y):
            return f"CASE WHEN {written(c)} THEN {written(x)} ELSE {written(y)} END"
        case ("minus", x):
            return f"-({written(x)})"
        case ("NOT", x):
            return f"NOT ({written(x)})"
        case ("isnull", x):
            return f"({written(x)}) IS NULL"
        case ("between", x, y, z):
            return f"({written(x)}) BETWEEN ({written(y)}) AND ({written(z)})"
        case ("in", x, y, z):
            return f"({written(x)}) IN ({written(y)}, {written(z)})"
        case (op, x, y):
            return f"({written(x)}) {op} ({written(y)})"
    raise AssertionError(e)


def finite(x: float) -> float | None:
    return x if math.isfinite(x) else None


def conj(x: bool | None, y: bool | None) -> bool | None:
    return False if x is False or y is False else None if x is None or y is None else True


def neg(x: bool | None) -> bool | None:
    return None if x is None else not x


def compare(op: str, x: float | None, y: float | None) -> bool | None:
    if x is None or y is None:
        return None
    return {"=": x == y, "<>": x != y, "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[op]


def computed(e: Any, v: dict[str, Any]) -> Any:
    match e:
        case ("name", name):
            return finite(v[name]) if isinstance(v[name], float) else v[name]
        case ("const", value):
            return value
        case ("coalesce", x, y):
            first = computed(x, v)
            return computed(y, v) if first is None else first
        case ("NULLIF", x, y):
            first = computed(x, v)
            return None if compare("=", first, computed(y, v)) else first
        case ("case", c, x, y):
            return computed(x, v) if computed(c, v) is True else computed(y, v)
        case ("minus", x):
            inner = computed(x, v)
            return None if inner is None else -inner
        case ("NOT", x):
            return neg(computed(x, v))
        case ("isnull", x):
            return computed(x, v) is None
        case ("between", x, y, z):
            mid = computed(x, v)
            return conj(compare(">=", mid, computed(y, v)), compare("<=", mid, computed(z, v)))
        case ("in", x, y, z):
            one = computed(x, v)
            return neg(conj(compare("<>", one, computed(y, v)), compare("<>", one, computed(z, v))))
        case ("AND", x, y):
            return conj(computed(x, v), computed(y, v))
        case ("OR", x, y):
            return neg(conj(neg(computed(x, v)), neg(computed(y, v))))
        case ("+" | "-" | "*" | "/", x, y):
            p, q = computed(x, v), computed(y, v)
            if p is None or q is None or (e[0] == "/" and q == 0):
                return None
            return finite(
                {"+": lambda: p + q, "-": lambda: p - q, "*": lambda: p * q, "/": lambda: p / q}[e[0]]()
            )
        case (op, x, y):
            return compare(op, computed(x, v), computed(y, v))
    raise AssertionError(e)


@settings(max_examples=200, deadline=None)
@given(FLAG, st.lists(VALUES, min_size=1, max_size=6))
def test_same_as_an_independent_implementation(expression: Any, rows: list[dict[str, Any]]) -> None:
    text = written(expression)
    try:
        root = check(text, NAMES).root
    except ExpressionError as error:
        assert "at most" in error.message or "nested" in error.message  # only the limits may refuse it
        return
    program = Program(NAMES)
    program.add("result", root)
    assert [r["result"] for r in program.run(rows)] == [computed(expression, v) for v in rows], text


@settings(max_examples=200, deadline=None)
@given(
    st.text(max_size=80)
    | st.lists(
        st.sampled_from(
            [
                "a",
                "f",
                "t",
                "(",
                ")",
                "AND",
                "NOT",
                "1",
                "'x'",
                "=",
                ">",
                "IN",
                "IS",
                "NULL",
                "CASE",
                "WHEN",
                "THEN",
                "END",
                "coalesce",
                ",",
                "BETWEEN",
                "-",
                "SELECT",
            ]
        ),
        max_size=14,
    ).map(" ".join)
)
def test_any_text_is_refused_or_gives_three_values(text: str) -> None:
    try:
        check(text, NAMES)
    except ExpressionError:
        return
    assert run(text, a=1.0, f=True, t="x") in (True, False, None)


# -- margins -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a >= 2", 3.0),
        ("2 <= a", 3.0),
        ("a <= 3", 0.5),
        ("3 > a", 0.5),
        ("a >= b", 1.5),
        ("a - b >= 4", 0.5),
        ("a >= 2 AND a >= 4", 1.5),
        ("a >= 2 OR a >= 4", 3.0),
        ("NOT (a >= 2 AND a >= 4)", pytest.approx(2 / 3)),
        ("NOT a < 2", 3.0),
        ("a BETWEEN 4 AND 12", 1.5),
        ("a NOT BETWEEN 4 AND 12", pytest.approx(2 / 3)),
        ("f AND a >= 2", 3.0),
        ("coalesce(a >= 2, FALSE)", 3.0),
        ("coalesce(u, a) >= 2", 3.0),
        ("NULLIF(a, 1) >= 2", 3.0),
        ("a / b >= 1", 1.5),
        ("f", None),
        ("a = 6", None),
        ("t = 'x'", None),
        ("a > 0", None),
        ("a >= -1", None),
        ("z >= 2", 0.0),
        ("z <= 2", None),
        ("u >= 2", None),
        ("a / z >= 2", None),
        ("a IN (6, 7)", None),
        ("a IS NULL", None),
        ("CASE WHEN f THEN a ELSE b END >= 2", None),
    ],
)
def test_margin(text: str, expected: float | None) -> None:
    names: dict[str, Kind] = {**NAMES, "z": "number", "u": "number"}
    values = {"a": 6.0, "b": 4.0, "f": True, "t": "x", "z": 0.0, "u": None}
    assert margin(check(text, names).root, values) == expected


def test_compared_lists_what_was_decided() -> None:
    values = {"a": 6.0, "b": None, "f": False, "t": "x"}
    told = compared(check("a >= 7 AND NOT b > 1 AND f AND NOT g AND t IN ('x', 'y')", NAMES).root, values)
    assert [(c.measured, c.op, c.asked, c.holds) for c in told] == [
        ("a", ">=", "7", False),
        ("b", "<=", "1", None),
        ("f", "=", "yes", False),
        ("g", "=", "no", None),
        ("t", "=", "'x', 'y'", True),
    ]


@settings(max_examples=80, deadline=None)
@given(st.tuples(st.sampled_from(["<", "<=", ">", ">="]), NUMBER, NUMBER), VALUES)
def test_margin_agrees_with_the_value_of_a_single_comparison(expression: Any, values: dict[str, Any]) -> None:
    try:
        root = check(written(expression), NAMES).root
    except ExpressionError:
        return
    got, holds = margin(root, values), computed(expression, values)
    assert got is None or math.isclose(got, 1.0) or (got > 1) == holds
