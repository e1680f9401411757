"""Numbers for people: rounding, units, and what must never be printed."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnose.reports import numbers as n


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 s"),
        (850, "850 ns"),
        (999.6, "1.00 µs"),
        (12_400, "12.4 µs"),
        (999_960, "1.00 ms"),
        (1_284_000, "1.28 ms"),
        (61_400_000_000, "61.4 s"),
        (412_000_000_000, "412 s"),
        (612e9, "10 min 12 s"),
        (7_200e9, "2 h 00 min"),
        (-2_500, "-2.50 µs"),
        (math.nan, "unknown"),
        (math.inf, "unknown"),
    ],
)
def test_duration(ns, text):
    assert n.duration(ns) == text


def test_an_upper_bound_is_never_rounded_down():
    assert n.duration(14_210_000_001, up=True) == "14.3 s"
    assert n.percent(0.23001, up=True) == "23.1%"
    assert n.size(17.91 * 2**30, up=True) == "18.0 GiB"


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (41_902_113_004, "41.902113"),
        (999, "0.000001"),
        (0, "0.000000"),
        (-1_500, "-0.000002"),
        # 2**63 - 1 has no exact float: integers keep every digit
        (9_223_372_036_854_775_807, "9223372036.854776"),
        (9_007_199_254_740_993_000, "9007199254.740993"),
    ],
)
def test_moment(ns, text):
    assert n.moment(ns) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1_024, "1.00 KiB"), (2 * 2**20, "2.00 MiB"), (85_520_809_984, "79.6 GiB")],
)
def test_size(count, text):
    assert n.size(count) == text


def test_decimal_size_names_gb():
    assert n.size(85_520_809_984, decimal=True) == "85.5 GB"


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0.386, "38.6%"),
        (0, "0%"),
        (1, "100%"),
        (0.99999, ">99.9%"),
        (0.0034, "0.34%"),
        (0.05, "5.0%"),
        (1.5, "150.0%"),
        (math.nan, "unknown"),
    ],
)
def test_percent(ratio, text):
    assert n.percent(ratio) == text


@pytest.mark.parametrize(
    ("value", "unit", "share", "text"),
    [
        (None, "ns", True, "unknown"),
        (math.inf, "count", True, "unknown"),
        (True, "flag", True, "yes"),
        (0.0, "flag", True, "no"),
        (18_204, "count", True, "18,204"),
        (8.9, "number", True, "8.9"),
        (525, "number", True, "525"),
        (24.63, "gb_s", True, "24.6 GB/s"),
        (12.0, "mb_per_s", True, "12.0 MB/s"),
        (38.6, "percent", True, "38.6%"),
        (6.04, "ratio", False, "6.04"),
        (0.386, "ratio", True, "38.6%"),
        (2 * 2**20, "bytes", True, "2.00 MiB"),
        ("SXM", "text", True, "SXM"),
    ],
)
def test_quantity(value, unit, share, text):
    assert n.quantity(value, unit, share=share) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.05, "ratio", "5%"),
        (0.125, "ratio", "12.5%"),
        (100, "count", "100"),
        (1e9, "ns", "1 s"),
        (1_500, "ns", "1.5 µs"),
        (2**20, "bytes", "1 MiB"),
        (3.0, "number", "3"),
        (10_000, "count", "10,000"),
    ],
)
def test_limits_are_exact(value, unit, text):
    assert n.limit(value, unit) == text


def test_a_value_just_below_its_limit_does_not_read_equal_to_it():
    assert n.against(0.02996, (0.03,), "ratio") == "2.996%"
    assert n.against(0.03, (0.03,), "ratio") == "3.0%"
    assert n.against(2.9996, (3.0,), "number") == "2.9996"


def test_factor_prints_one_only_for_exactly_one():
    assert n.factor(2.57) == "×2.57"
    assert n.factor(1.0) == "×1.0" or n.factor(1.0) == "×1.00"
    assert n.factor(0.99996) == "×0.99996"
    assert n.factor(182) == "×182"


def test_ratios_above_one_are_no_percentages():
    assert n.is_share("kernel_time_share", 1.2)
    assert n.is_share("kernel_followed_by", 0.99, (0.5,))
    assert not n.is_share("step_p99_ratio", 0.9, (0.5,))
    assert not n.is_share("matched_per_first_ratio", 0.4)
    assert not n.is_share("pool_slack_ratio", 0.4, (1.5,))


@given(st.floats(), st.sampled_from(["ns", "bytes", "ratio", "percent", "count", "gb_s", "number", "x"]))
def test_no_exponent_and_no_nan(value, unit):
    text = n.quantity(value, unit)
    assert "nan" not in text.lower() and "inf" not in text.lower()
    assert "E" not in text and "e+" not in text and "e-" not in text
