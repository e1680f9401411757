"""The lint: cases must hold, and must show every part of the logic both ways."""

from __future__ import annotations

from typing import Any

from diagnose.engine.check import check, run_cases

GOOD_FACTS = 'part = 0.4, n = 500, cost = 5e6, text = 1, cc = 9.0, kind = "golden", busy = false'
GOOD = f"""
[[case]]
name   = "all holds"
expect = "confirmed"
facts  = {{ {GOOD_FACTS} }}

[[case]]
name    = "unmeasured"
expect  = "probable"
variant = "unmeasured"
facts   = {{ {GOOD_FACTS.replace("cost = 5e6, ", "")} }}

[[case]]
name   = "nothing"
expect = "absent"
facts  = {{ part = 0.0, n = 0, cost = 0, text = 0, cc = 7.5, kind = "green", busy = false }}

[[case]]
name   = "pears"
expect = "ruled_out"
facts  = {{ part = 0.05, n = 500, busy = true }}

[[case]]
name   = "plums"
expect = "ruled_out"
facts  = {{ kind = "plum" }}
"""


def problems(make: Any, base: str, cases: str, *changes: tuple[str, str]) -> list[str]:
    return [str(f).split("apple-storm.toml:", 1)[1] for f in check([make(*changes, text=base + cases)])]


def test_good_cases_have_no_problem(make: Any, base: str) -> None:
    assert problems(make, base, GOOD) == []


def test_no_cases(make: Any, base: str) -> None:
    assert problems(make, base, "") == ["1: no [[case]]: the logic is not proven"]


def test_a_wrong_expectation_has_its_line_and_reason(make: Any, base: str) -> None:
    wrong = GOOD.replace('expect = "absent"', 'expect = "probable"')
    text = base + wrong
    line = text[: text.index('name   = "nothing"')].count("\n")  # the [[case]] line above it
    assert problems(make, base, wrong) == [
        f'{line}: case "nothing": expected probable, got absent: '
        "enough does not hold: n is 0, asked at least 100"
    ]


def test_a_wrong_variant(make: Any, base: str) -> None:
    wrong = GOOD.replace('expect = "confirmed"', 'expect = "confirmed"\nvariant = "unmeasured"')
    told = problems(make, base, wrong)
    assert any("expected confirmed (unmeasured), got confirmed:" in t for t in told)
    assert any('verdict "confirmed": no case reaches confirmed' in t for t in told)


def test_everything_must_be_seen_both_ways(make: Any, base: str) -> None:
    only_first = GOOD.split("[[case]]")[1]
    told = problems(make, base, "\n[[case]]" + only_first)
    for piece in (
        'step "enough": is never seen not holding in a case',
        'step "new_device": is never seen not holding in a case',
        'step "asked", way "seen": is never seen not holding in a case',
        'step "asked", way "said": is never seen not holding in a case',
        'rule_out "pears": is never seen holding in a case',
        'rule_out "plums": is never seen holding in a case',
        "no case reaches probable with the variant 'unmeasured'",
    ):
        assert any(piece in t for t in told), piece
    lines = [int(t.split(":", 1)[0]) for t in told]
    assert lines == sorted(lines) and base.splitlines()[lines[0] - 1] == "[[step]]"


def test_a_step_that_cannot_be_false_need_not_be(make: Any, base: str) -> None:
    assert problems(make, base, GOOD, ("  decisive = true\n", "")) == []


def test_unknown_does_not_count_as_not_holding(make: Any, base: str) -> None:
    told = problems(make, base, GOOD.replace("cc = 7.5, ", ""))
    assert [t.split(": ", 1)[1] for t in told] == ['step "new_device": is never seen not holding in a case']


def test_unused_names(make: Any, base: str) -> None:
    told = problems(
        make,
        base,
        GOOD,
        ("min_n    = {", 'spare = { value = 1, why = "{n} is no field here" }\nmin_n    = {'),
        ("cost = { metric", 'extra = { metric = "time" }\ncost = { metric'),
    )
    assert [t.split(": ", 1)[1] for t in told] == [
        'threshold "spare": is not used by any condition or text',
        'fact "extra": is not used by any condition or text',
    ]


def test_case_context(make: Any, base: str) -> None:
    more = GOOD + (
        f'\n[[case]]\nname = "short"\nexpect = "probable"\nshort_window = true\nfacts = {{ {GOOD_FACTS} }}\n'
        '\n[[case]]\nname = "no table"\nexpect = "cannot_tell"\n'
        f'tables = ["log"]\nfacts = {{ {GOOD_FACTS} }}\n'
    )
    assert problems(make, base, more) == []
    results = run_cases(make(text=base + more))
    assert [(r.name, r.ok, r.finding.verdict) for r in results][-2:] == [
        ("short", True, "probable"),
        ("no table", True, "cannot_tell"),
    ]
