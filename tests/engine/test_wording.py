"""Values and templates as people read them."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.engine.wording import fields, fill, show


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "ns", "unknown"),
        (True, "flag", "yes"),
        (False, "flag", "no"),
        ("SXM", "text", "SXM"),
        ("", "text", "(empty)"),
        (0.423, "ratio", "42.3%"),
        (1.0, "ratio", "100.0%"),
        (0.0, "ratio", "0.0%"),
        (0.0004, "ratio", "0.04%"),
        (6.04, "ratio", "6.04"),
        (999.0, "ns", "999 ns"),
        (1_500.0, "ns", "1.5 µs"),
        (23_700_000_000.0, "ns", "23.7 s"),
        (125_000_000.0, "ns", "125 ms"),
        (4_000_000_000_000.0, "ns", "4,000 s"),
        (512.0, "bytes", "512 bytes"),
        (2_097_152.0, "bytes", "2 MiB"),
        (18_000.0, "count", "18,000"),
        (95.0, "percent", "95%"),
        (12.34, "gb_s", "12.34 GB/s"),
        (8.9, "number", "8.9"),
        (1234.56, "number", "1,234.6"),
    ],
)
def test_show(value: Any, unit: str, text: str) -> None:
    assert show(value, unit) == text


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{n:,} of {n}", "18,000 of 18,000"),
        ("{share:.1%} and {share:.0%}", "42.3% and 42%"),
        ("{x:.1f} {x:,.2f} {x:,}", "1234.6 1,234.57 1,234.567"),
        ("{gone:,} {gone:.1%} {gone}", "unknown unknown unknown"),
        ("{{{n}}} {{}}", "{18,000} {}"),
        ("plain", "plain"),
    ],
)
def test_fill(template: str, text: str) -> None:
    fields(template)
    values = {"n": 18_000.0, "share": 0.423, "x": 1234.567, "gone": None}
    assert fill(template, values, {"n": "count", "share": "ratio"}) == text


@pytest.mark.parametrize(
    "template", ["{", "}", "{}", "{0}", "{n.real}", "{n[0]}", "{n!r}", "{n:{x}}", "{n:>9}", "{n:d}"]
)
def test_refused_templates(template: str) -> None:
    with pytest.raises(ValueError, match=r"brace|plain name|format"):
        fields(template)
