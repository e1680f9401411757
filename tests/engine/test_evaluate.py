"""Every branch of the evaluation order, the caps, and what a finding says about itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from diagnose.engine.decide import severity
from diagnose.engine.evaluate import Context, evaluate, evaluate_many
from diagnose.findings import Capture, Fact, Finding, ScopeRef

ALL = frozenset({"kernels", "log", "devices"})
GPU = ScopeRef("device", 0, "NVIDIA T4")
# Every step holds, no rule-out does, nothing is unknown: 2 ms of a 10 ms window.
FULL: dict[str, Any] = {
    "part": 0.42,
    "n": 18_000.0,
    "cost": 2_000_000.0,
    "text": 3.0,
    "cc": 9.0,
    "kind": "golden",
    "busy": True,
}
Judge = Callable[..., Finding]


@pytest.fixture
def judge(make: Any) -> Judge:
    """Judges the base signature: facts override FULL (None: unknown), `changes` edit its text."""

    def judged(*changes: tuple[str, str], context: dict[str, Any] | None = None, **facts: Any) -> Finding:
        values = {**FULL, **facts}
        measured = {k: v if isinstance(v, Fact) else Fact(k, v) for k, v in values.items()}
        merged = {"tables_present": ALL, "window_ns": 10_000_000.0, **(context or {})}
        return evaluate(make(*changes), measured, GPU, Context(**merged))

    return judged


# -- the order -----------------------------------------------------------------------------------
def test_confirmed(judge: Judge) -> None:
    finding = judge()
    assert (finding.verdict, finding.severity, finding.variant) == ("confirmed", "high", "")
    assert finding.reason == "4 of 4 gate, cause and effect steps hold"
    assert [s.holds for s in finding.steps] == [True] * 5
    assert [r.holds for r in finding.rule_outs] == [False, False]
    assert finding.missing == () and finding.captures == ()


def test_without_any_needed_table_it_cannot_tell(judge: Judge) -> None:
    # Even a rule-out that holds does not count before there is something to look at.
    finding = judge(context={"tables_present": frozenset({"log"})}, kind="plum")
    assert (finding.verdict, finding.missing) == ("cannot_tell", ("kernels",))
    assert finding.reason == "nothing to look at: the case holds no kernels"
    assert len(finding.steps) == 5 and finding.lost_ns is None and finding.remedies == ()


def test_a_rule_out_wins_over_a_false_gate(judge: Judge) -> None:
    finding = judge(part=0.05, n=1.0)
    assert finding.verdict == "ruled_out"
    assert finding.reason == "these are pears (see pear-storm)"
    assert finding.flips == (
        "ruled out only while pears holds: busy is yes, asked yes; part is 5.0%, asked less than 10.0%",
    )


def test_a_false_gate_is_absent_even_when_another_is_unknown(judge: Judge) -> None:
    finding = judge((('role  = "cause"'), 'role  = "gate"'), n=20.0, part=None)
    assert finding.verdict == "absent"
    assert finding.reason == "enough does not hold: n is 20, asked at least 100"
    assert finding.flips == ("enough: n is 20, asked at least 100",)
    assert finding.missing == ()


def test_an_unknown_gate_cannot_tell(judge: Judge) -> None:
    finding = judge(n=Fact("n", None, why_unknown="no kernel table", missing=("kernels.name",)))
    assert (finding.verdict, finding.missing) == ("cannot_tell", ("kernels.name",))
    assert finding.reason == "cannot be decided: n is unknown (no kernel table)"
    assert finding.flips == ("n is unknown (no kernel table)",)


def test_a_false_identity_gate_is_absent(judge: Judge) -> None:
    assert judge(cc=7.5).verdict == "absent"


def test_an_unknown_identity_gate_counts_as_true_and_caps(judge: Judge) -> None:
    finding = judge(cc=None, context={"tables_present": ALL - {"devices"}})
    assert (finding.verdict, finding.variant) == ("probable", "")
    assert (
        finding.reason
        == "3 of 4 gate, cause and effect steps hold; lowered because new_device could not be checked"
    )
    assert finding.missing == ("devices",)
    assert finding.steps[1].holds is None and finding.steps[1].missing == ("devices",)


def test_the_first_verdict_that_is_true_wins_even_after_an_unknown_one(judge: Judge) -> None:
    finding = judge(cost=None)
    assert (finding.verdict, finding.variant) == ("probable", "unmeasured")
    assert [r.do for r in finding.remedies] == ["eat them", "measure first"]
    assert "costly was not checked: cost is unknown (not measured)" in finding.flips


def test_an_unknown_verdict_cannot_tell(judge: Judge) -> None:
    finding = judge(part=Fact("part", None, missing=("kernels",)))
    assert (finding.verdict, finding.missing) == ("cannot_tell", ("kernels",))
    assert finding.reason == "cannot be decided: part is unknown (not measured)"


def test_no_verdict_holds_is_absent(judge: Judge) -> None:
    finding = judge(part=0.15)
    assert finding.verdict == "absent"
    assert finding.reason == "large_part does not hold: part is 15.0%, asked at least 20.0%"


def test_a_signature_may_name_any_verdict(judge: Judge) -> None:
    change = (
        '[[verdict]]\nis   = "confirmed"',
        '[[verdict]]\nis = "cannot_tell"\nwhen = "text > 2"\n\n[[verdict]]\nis   = "confirmed"',
    )
    assert judge(change).verdict == "cannot_tell"
    assert judge(change, text=0.0).verdict == "confirmed"


def test_facts_that_are_not_given_are_unknown(make: Any) -> None:
    finding = evaluate(make(), {}, GPU, Context(ALL))
    assert finding.verdict == "cannot_tell"
    assert {s.holds for s in finding.steps} == {None}


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_values_that_are_not_finite_are_unknown(judge: Judge, bad: float) -> None:
    finding = judge(n=bad)
    assert finding.verdict == "cannot_tell"
    assert finding.steps[0].facts[0].value is None


def test_a_fact_of_the_wrong_type_is_a_fault_of_the_program(judge: Judge) -> None:
    with pytest.raises(TypeError, match="busy is declared as flag"):
        judge(busy=1.0)


# -- ways ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("decisive", "other", "holds", "way"),
    [
        (5.0, 1.0, True, "seen"),
        (5.0, None, True, "seen"),
        (0.0, 1.0, True, "said"),
        (None, 1.0, True, "said"),
        (0.0, 0.0, False, "seen"),
        (0.0, None, False, "seen"),
        (None, 0.0, None, ""),
        (None, None, None, ""),
    ],
)
def test_any_way_makes_it_true_only_a_decisive_one_false(
    judge: Judge, decisive: float | None, other: float | None, holds: bool | None, way: str
) -> None:
    step = judge(n=decisive, text=other).steps[-1]
    assert (step.holds, step.way) == (holds, way)


def test_without_a_decisive_way_a_step_is_never_false(judge: Judge) -> None:
    change = ("  decisive = true\n", "")
    assert judge(change, n=0.0, text=0.0).steps[-1].holds is None
    assert judge(change, n=5.0, text=0.0).steps[-1].holds is True


# -- caps ----------------------------------------------------------------------------------------
SHORT = {"short_window": True}


@pytest.mark.parametrize(
    ("context", "facts", "verdict"),
    [
        ({}, {}, "confirmed"),
        (SHORT, {}, "probable"),
        ({}, {"cc": None}, "probable"),
        ({}, {"kind": None}, "probable"),
        (SHORT, {"cc": None, "kind": None}, "probable"),
        ({"overhead_ratio": 0.149}, {}, "confirmed"),
        ({"overhead_ratio": 0.15}, {}, "probable"),
        ({"capped_reasons": ("the clock jumped",)}, {}, "probable"),
        ({"overhead_ratio": 0.3, "capped_reasons": ("the clock jumped",)}, {}, "cannot_tell"),
        (SHORT, {"cost": None}, "probable"),
        ({"overhead_ratio": 0.15}, {"cost": None}, "cannot_tell"),
        ({**SHORT, "overhead_ratio": 0.15}, {}, "probable"),
        ({"overhead_ratio": 0.9}, {"n": 1.0}, "absent"),
    ],
)
def test_caps(judge: Judge, context: dict[str, Any], facts: dict[str, Any], verdict: str) -> None:
    assert judge(context=context, **facts).verdict == verdict


def test_length_gate_false_ignores_a_short_window(judge: Judge) -> None:
    assert (
        judge(('status   = "stable"', 'status = "stable"\nlength_gate = false'), context=SHORT).verdict
        == "confirmed"
    )


def test_caps_are_said(judge: Judge) -> None:
    finding = judge(context={**SHORT, "overhead_ratio": 0.2}, kind=None)
    assert finding.reason == (
        "4 of 4 gate, cause and effect steps hold; lowered because profiler overhead takes 20% "
        "of the window and "
        "the window is short and the look-alike plums could not be checked"
    )
    assert "the look-alike plums was not checked: kind is unknown (not measured)" in finding.flips


def test_a_rule_out_that_only_notes_is_listed_as_unchecked(judge: Judge) -> None:
    finding = judge(("busy AND part < 0.1", "busy AND part < 0.9"), busy=None)
    assert finding.verdict == "confirmed"
    assert finding.rule_outs[0].holds is None and finding.rule_outs[0].if_unknown == "note"
    assert "the look-alike pears was not checked: busy is unknown (not measured)" in finding.flips


# -- texts, numbers, captures --------------------------------------------------------------------
def test_texts_are_filled_in(judge: Judge) -> None:
    finding = judge()
    assert finding.summary == "18,000 apples take 42%."
    assert [s.says for s in finding.steps] == [
        "18,000 apples",
        "capability 9",
        "apples take 42.0%",
        "they cost 2 ms",
        "apples were asked for",
    ]
    assert finding.bound == "at most 2 ms"
    assert finding.notes == ("golden ones, 18,000 of them",)
    assert (finding.remedies[0].verify, finding.remedies[0].source) == ("fewer than 100", "a book")
    assert judge(kind="green").notes == ()
    assert judge(kind="golden", cc=None).notes == ()  # probable, and the note asks for confirmed
    assert judge(n=None).steps[0].says == "unknown apples"


def test_steps_carry_facts_thresholds_and_margins(judge: Judge) -> None:
    step = judge(part=0.3).steps[2]
    assert (step.id, step.role, step.stage, step.when) == ("large_part", "cause", "cause", "part >= min_part")
    assert [(f.name, f.value, f.unit, f.metric) for f in step.facts] == [("part", 0.3, "ratio", "share")]
    assert [(t.name, t.value) for t in step.thresholds] == [("min_part", 0.2)]
    assert step.margin == pytest.approx(1.5)
    assert judge(part=0.1).steps[2].margin == pytest.approx(0.5)
    assert judge(part=None).steps[2].margin is None


def test_a_margin_is_not_given_when_something_else_decided(judge: Judge) -> None:
    change = ('when  = "part >= min_part"', 'when = "busy AND part >= min_part"')
    assert judge(change, busy=False).steps[2].margin is None
    assert judge(change, busy=True).steps[2].margin == pytest.approx(2.1)


def test_flips_of_a_finding_begin_with_the_tightest(judge: Judge) -> None:
    assert judge(cc=8.0, part=0.3).flips == (
        "new_device holds by a factor of 1: cc is 8, asked at least 8",
        "large_part holds by a factor of 1.5: part is 30.0%, asked at least 20.0%",
    )


def test_overridden_thresholds_decide(make: Any) -> None:
    facts = {k: Fact(k, v) for k, v in FULL.items()}
    finding = evaluate(make(overrides={"min_n": 20_000}), facts, GPU, Context(ALL))
    assert finding.verdict == "absent"
    assert finding.steps[0].thresholds[0].overridden is True


def test_nearness_counts_required_steps_by_their_margin(judge: Judge) -> None:
    assert judge().nearness == 1.0
    assert judge(part=0.15).nearness == pytest.approx((3 + 0.75) / 4)
    assert judge(part=None).nearness == pytest.approx(3 / 4)
    assert judge(n=50.0, part=0.0, busy=False).nearness == pytest.approx((2 + 0.5) / 4)
    assert judge(part=0.19999999).nearness < 1.0


def test_loss_is_bounded_by_the_window_and_only_given_for_findings(judge: Judge) -> None:
    assert judge().lost_ns == 2_000_000.0
    assert judge(cost=5e7).lost_ns == 1e7
    assert judge(n=1.0).lost_ns is None
    assert judge(context={"window_ns": None}).lost_ns == 2_000_000.0


def test_loss_can_be_an_expression(judge: Judge) -> None:
    change = ('lost_ns = "cost"', 'lost_ns = "cost * part - 10"\nlost_bytes = "n * 2"')
    finding = judge(change)
    assert finding.lost_ns == pytest.approx(2_000_000.0 * 0.42 - 10)
    assert finding.lost_bytes == 36_000.0
    assert judge(change, part=0.2, cost=1e6, text=None).lost_ns == pytest.approx(199_990.0)


@pytest.mark.parametrize(
    ("kind", "verdict", "lost", "expected"),
    [
        ("time", "confirmed", 30.0, "critical"),
        ("time", "confirmed", 29.9, "high"),
        ("time", "probable", 10.0, "high"),
        ("time", "confirmed", 9.9, "medium"),
        ("time", "confirmed", 3.0, "medium"),
        ("time", "confirmed", 2.9, "low"),
        ("time", "confirmed", None, "medium"),
        ("time", "probable", None, "low"),
        ("time", "absent", 50.0, "info"),
        ("time", "cannot_tell", 50.0, "info"),
        ("run_lost", "confirmed", None, "critical"),
        ("run_lost", "probable", None, "high"),
        ("run_lost", "probable", 40.0, "critical"),
        ("run_lost", "ruled_out", None, "info"),
        ("wrong_results", "confirmed", None, "high"),
        ("memory", "confirmed", 1.0, "medium"),
        ("memory", "confirmed", 35.0, "critical"),
        ("memory", "probable", None, "low"),
    ],
)
def test_severity(kind: str, verdict: Any, lost: float | None, expected: str) -> None:
    assert severity(kind, verdict, lost, 100.0) == expected


def test_captures_come_from_the_caller(make: Any) -> None:
    asked: list[tuple[str, ...]] = []

    def capture_for(missing: tuple[str, ...]) -> tuple[Capture, ...]:
        asked.append(missing)
        return tuple(Capture(m, f"collect {m}") for m in missing)

    facts = {k: Fact(k, v) for k, v in FULL.items()}
    done = evaluate(make(), facts, GPU, Context(frozenset()), capture_for=capture_for)
    assert done.captures == (Capture("kernels", "collect kernels"),)
    assert evaluate(make(), facts, GPU, Context(ALL), capture_for=capture_for).captures == ()
    assert asked == [("kernels",)]


def test_steps_may_build_on_earlier_steps(judge: Judge) -> None:
    change = ('when  = "cost >= 1000000"', 'when = "large_part AND cost >= 1000000"')
    assert judge(change).verdict == "confirmed"
    finding = judge(change, ('"enough AND large_part"', '"costly AND NOT enough"'), part=None)
    assert (finding.verdict, finding.reason) == (
        "cannot_tell",
        "cannot be decided: part is unknown (not measured)",
    )


def test_many_scopes_are_fast_and_in_order(make: Any) -> None:
    signature = make()
    jobs = []
    for i in range(24):
        facts = {k: Fact(k, v) for k, v in {**FULL, "n": 10.0 * i}.items()}
        jobs.append((facts, ScopeRef("device", i), Context(ALL, window_ns=1e7)))
    evaluate_many(signature, jobs[:1])
    begun = time.perf_counter()
    found = evaluate_many(signature, jobs)
    # 40 signatures on 8 scopes must take less than 1 s: 3.1 ms each; some air for a busy machine.
    assert (time.perf_counter() - begun) / len(jobs) < 0.02
    assert [f.scope.device for f in found] == list(range(24))
    assert [f.verdict for f in found] == ["absent"] * 10 + ["confirmed"] * 14
