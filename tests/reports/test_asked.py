"""What a condition asks of each value, in words."""

from __future__ import annotations

import pytest

from diagnose.findings import Fact, Threshold
from diagnose.reports.asked import measured


def number(name, value=1.0, unit="number", **more):
    return Fact(name, value, unit, **more)


FLAG = Fact("c", True, "flag")
LIM = (Threshold("lim", 1.5),)


@pytest.mark.parametrize(
    ("when", "facts", "asked"),
    [
        ("a >= lim", (number("a"),), ["≥ 1.5"]),
        ("lim <= a", (number("a"),), ["≥ 1.5"]),
        ("a > 1 AND a < 9", (number("a"),), ["> 1 and < 9"]),
        ("a < 1 OR a > 9", (number("a"),), ["< 1 or > 9"]),
        ("a >= 5 AND (b < lim OR c)", (number("a"), number("b"), FLAG), ["≥ 5", "< 1.5", "yes"]),
        ("(a > 1) AND (b > 2)", (number("a"), number("b")), ["> 1", "> 2"]),
        ("NOT c AND a > 1", (number("a"), FLAG), ["> 1", "no"]),
        ("a > b", (number("a"), number("b")), ["> b", ""]),
        ("coalesce(a, 0) > 3 AND some_step", (number("a"),), ["> 3"]),
        ("a IS NOT NULL AND b IS NULL", (number("a"), number("b")), ["known", "not known"]),
        ("form = 'SXM'", (Fact("form", "SXM", "text"),), ["= 'SXM'"]),
        ("a <> 2", (number("a"),), ["≠ 2"]),
        # What is not flat is quoted with its limits filled in, never taken apart
        ("a / NULLIF(b, 0) >= lim", (number("a"), number("b")), ["a / NULLIF(b, 0) ≥ 1.5", ""]),
        ("NOT (a > 1 OR b > 2)", (number("a"), number("b")), ["NOT (a > 1 OR b > 2)", ""]),
        ("a BETWEEN 1 AND 2", (number("a"),), ["a BETWEEN 1 AND 2"]),
        ("sent >= lim * touched", (number("sent"), number("touched")), ["sent ≥ 1.5 * touched", ""]),
        ("step_one AND step_two", (), []),
    ],
)
def test_asked(when, facts, asked):
    assert [m.asked for m in measured(when, facts, LIM)] == asked


def test_limits_are_in_the_unit_of_the_value():
    share = number("s", 0.386, "ratio", metric="kernel_time_share", numerator=22.7e9, denominator=58.9e9,
                   parts_unit="ns", source="trace")  # fmt: skip
    (found,) = measured("s >= lim", (share,), (Threshold("lim", 0.05),))
    assert (found.value, found.parts, found.asked, found.source) == (
        "38.6%", "22.7 s of 58.9 s", "≥ 5%", "trace",
    )  # fmt: skip
    (found,) = measured("t > 1e9", (number("t", 2.4e9, "ns", low=2.35e9, high=2.45e9),), ())
    assert (found.value, found.parts, found.asked) == ("2.40 s", "2.35 s to 2.45 s", "> 1 s")
    (found,) = measured("r >= 3", (number("r", 6.04, "ratio", metric="step_p99_ratio"),), ())
    assert (found.value, found.asked) == ("6.04", "≥ 3")


def test_an_unknown_value_is_unknown_with_its_reason():
    (found,) = measured("a > 1", (number("a", None, why_unknown="no such table"),), ())
    assert not found.known and found.value == "unknown: no such table" and found.asked == "> 1"


def test_a_limit_set_by_configuration_says_so():
    (found,) = measured("a > lim", (number("a"),), (Threshold("lim", 3, overridden=True),))
    assert found.asked == "> 3 (limit set by configuration)"


def test_whether_the_condition_reads_a_value_is_told():
    assert [m.read for m in measured("a / b > 2", (number("a"), number("b"), number("d")), ())] == [
        True, True, False,
    ]  # fmt: skip


def test_text_values_are_made_visible_and_bounded():
    (found,) = measured("t = 'x'", (Fact("t", "\x1b[31m" + "x" * 5_000, "text"),), ())
    assert "\x1b" not in found.value and len(found.value) < 400
