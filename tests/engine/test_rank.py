"""Ranking: the largest loss first, symptoms under their cause, no interval charged twice."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.engine.rank import nearest_miss, overlap, rank
from diagnose.findings import Finding, ScopeRef, Step

WINDOW = 1_000.0


def finding(name: str, verdict: Any = "confirmed", lost: float | None = None, **more: Any) -> Finding:
    base: dict[str, Any] = {
        "signature": name,
        "version": 1,
        "title": name,
        "status": "stable",
        "summary": "",
        "scope": ScopeRef("run"),
        "verdict": verdict,
        "severity": "low",
        "lost_ns": lost,
        "window_ns": WINDOW,
    }
    return Finding(**{**base, **more})


def claim(*spans: tuple[int, int], device: int | None = 0) -> list[Any]:
    starts = np.array([s for s, _ in spans], dtype=np.int64)
    return [(device, starts, np.array([e for _, e in spans], dtype=np.int64))]


def names(found: list[Finding]) -> list[str]:
    return [f.signature for f in found]


# -- order ---------------------------------------------------------------------------------------
def test_by_loss_then_verdict_and_the_rest_after() -> None:
    found = rank(
        [
            finding("absent-one", "absent", nearness=0.2),
            finding("no-loss-probable", "probable"),
            finding("small", "confirmed", 10.0),
            finding("ruled", "ruled_out"),
            finding("absent-near", "absent", nearness=0.9),
            finding("same-probable", "probable", 50.0),
            finding("same-confirmed", "confirmed", 50.0),
            finding("open", "cannot_tell"),
            finding("no-loss-confirmed", "confirmed"),
        ]
    )
    assert names(found) == [
        "same-confirmed",
        "same-probable",
        "small",
        "no-loss-confirmed",
        "no-loss-probable",
        "open",
        "ruled",
        "absent-near",
        "absent-one",
    ]


def test_a_lost_run_tops_every_measured_loss() -> None:
    found = rank([finding("slow", lost=900.0), finding("dead", impact_kind="run_lost")])
    assert names(found) == ["dead", "slow"]


def test_equal_findings_are_ordered_by_name_and_scope() -> None:
    one, two = ScopeRef("device", 1), ScopeRef("device", 2)
    found = rank([finding("b", scope=two), finding("b", scope=one), finding("a", scope=two)])
    assert [(f.signature, f.scope.device) for f in found] == [("a", 2), ("b", 1), ("b", 2)]


# -- folding -------------------------------------------------------------------------------------
def test_symptoms_fold_under_their_cause() -> None:
    found = rank([finding("symptom", lost=500.0), finding("cause", lost=400.0, explains=("symptom",))])
    assert [(f.signature, f.folded_under) for f in found] == [("cause", ""), ("symptom", "cause")]


def test_only_findings_fold_and_only_findings_explain() -> None:
    found = rank(
        [
            finding("cause", "absent", explains=("symptom",)),
            finding("symptom", lost=5.0),
            finding("other", "probable", 9.0, explains=("quiet",)),
            finding("quiet", "absent"),
        ]
    )
    assert {f.folded_under for f in found} == {""}


def test_scopes_must_overlap() -> None:
    def at(device: int | None, pid: int | None = None) -> ScopeRef:
        return ScopeRef("device", device, pid=pid)

    cause = finding("cause", lost=9.0, explains=("symptom",), scope=at(0))
    found = rank(
        [cause, finding("symptom", scope=at(1)), finding("symptom", scope=at(0)), finding("symptom")]
    )
    assert sorted((f.scope.label, f.folded_under) for f in found if f.signature == "symptom") == [
        ("GPU 0", "cause"),
        ("GPU 1", ""),
        ("the run", "cause"),
    ]
    assert overlap(at(0, 7), at(0)) and overlap(at(0, 7), at(None, 7)) and overlap(at(None), at(3, 4))
    assert not overlap(at(0, 7), at(0, 8)) and not overlap(at(0, 7), at(1, 7))


def test_chains_fold_under_the_root_and_circles_do_not_hang() -> None:
    chain = rank(
        [
            finding("c", lost=1.0),
            finding("b", lost=2.0, explains=("c",)),
            finding("a", lost=3.0, explains=("b",)),
        ]
    )
    assert [(f.signature, f.folded_under) for f in chain] == [("a", ""), ("b", "a"), ("c", "a")]
    circle = rank(
        [
            finding("x", lost=1.0, explains=("y",)),
            finding("y", lost=2.0, explains=("x",)),
            finding("z", lost=9.0, explains=("z",)),
        ]
    )
    assert [(f.signature, f.folded_under) for f in circle] == [("z", ""), ("y", ""), ("x", "y")]


# -- charging ------------------------------------------------------------------------------------
def test_an_interval_is_charged_once() -> None:
    first, second = finding("first", lost=400.0), finding("second", lost=300.0)
    found = rank([second, first], {0: claim((300, 600)), 1: claim((0, 400))})
    assert [(f.signature, f.lost_ns, f.severity) for f in found] == [
        ("first", 400.0, "low"),  # untouched, with the severity it came with
        ("second", 200.0, "high"),
    ]


def test_order_follows_what_is_left() -> None:
    found = rank(
        [finding("big", lost=500.0), finding("shadow", lost=450.0), finding("own", lost=100.0)],
        {0: claim((0, 500)), 1: claim((0, 450)), 2: claim((600, 700))},
    )
    assert [(f.signature, f.lost_ns) for f in found] == [("big", 500.0), ("own", 100.0), ("shadow", 0.0)]


def test_devices_do_not_mix() -> None:
    found = rank(
        [finding("a", lost=100.0), finding("b", lost=90.0)],
        {0: claim((0, 100)), 1: claim((0, 90), device=1)},
    )
    assert [f.lost_ns for f in found] == [100.0, 90.0]


def test_the_cause_is_charged_before_its_symptom() -> None:
    found = rank(
        [finding("symptom", lost=300.0), finding("cause", lost=200.0, explains=("symptom",))],
        {0: claim((0, 300)), 1: claim((0, 200))},
    )
    assert [(f.signature, f.lost_ns) for f in found] == [("cause", 200.0), ("symptom", 100.0)]


def test_a_loss_that_is_not_its_intervals_stays_an_upper_bound() -> None:
    # A sum over two streams (150 over 100 ns of time) shrinks by the shared time only.
    found = rank(
        [finding("a", lost=200.0), finding("sum", lost=150.0)], {0: claim((0, 40)), 1: claim((0, 100))}
    )
    assert found[1].lost_ns == 110.0
    # A part of its intervals may lie wholly in the rest.
    found = rank(
        [finding("a", lost=200.0), finding("part", lost=30.0)], {0: claim((0, 40)), 1: claim((0, 100))}
    )
    assert found[1].lost_ns == 30.0
    found = rank(
        [finding("a", lost=200.0), finding("part", lost=30.0)], {0: claim((0, 90)), 1: claim((0, 100))}
    )
    assert found[1].lost_ns == 10.0


def test_claims_of_those_that_are_no_findings_charge_nothing() -> None:
    found = rank(
        [finding("no", "absent"), finding("yes", lost=50.0)], {0: claim((0, 100)), 1: claim((0, 50))}
    )
    assert found[0].lost_ns == 50.0
    empty = rank([finding("a", lost=5.0), finding("b", lost=4.0)], {0: [], 1: claim()})
    assert [f.lost_ns for f in empty] == [5.0, 4.0]


SPANS = st.lists(
    st.tuples(st.integers(0, 120), st.integers(0, 40)).map(lambda t: (t[0], t[0] + t[1])), max_size=8
)


@settings(max_examples=150, deadline=None)
@given(st.lists(SPANS, min_size=1, max_size=5))
def test_charged_time_never_exceeds_covered_time(all_spans: list[list[tuple[int, int]]]) -> None:
    # Reference: sets of unit intervals, the loss being exactly what the claims cover.
    covered = [{t for s, e in spans for t in range(s, e)} for spans in all_spans]
    found = rank(
        [finding(f"s{i}", lost=float(len(c))) for i, c in enumerate(covered)],
        {i: claim(*spans) for i, spans in enumerate(all_spans)},
    )
    losses = [f.lost_ns or 0.0 for f in found]
    taken: set[int] = set()
    for f, loss in zip(found, losses, strict=True):
        own = covered[int(f.signature[1:])]
        assert loss == len(own - taken)
        taken |= own
    assert sum(losses) == len(taken)
    assert losses == sorted(losses, reverse=True)


# -- nearest miss --------------------------------------------------------------------------------
def test_nearest_miss() -> None:
    steps = (
        Step("one", "gate", "symptom", True, "", ""),
        Step("two", "cause", "cause", False, "", ""),
        Step("extra", "support", "cause", True, "", ""),
    )
    near = finding(
        "near",
        "absent",
        nearness=0.9,
        steps=steps,
        flips=("two: x is 9%, asked at least 15%",),
        scope=ScopeRef("device", 0, "T4"),
    )
    quiet = [finding("far", "absent", nearness=0.1), near, finding("ruled", "ruled_out", nearness=1.0)]
    line = "near (GPU 0 T4): 1 of 2 gate, cause and effect steps hold; two: x is 9%, asked at least 15%"
    assert nearest_miss(quiet) == line
    assert nearest_miss([*quiet, finding("yes", "probable")]) == ""
    assert nearest_miss([finding("zero", "absent")]) == "" and nearest_miss([]) == ""
