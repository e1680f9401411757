from __future__ import annotations

import json
import sys
from types import ModuleType

import pytest

from diagnose.cli import main
from diagnose.findings import Capture, Fact

FACTS = [
    ("a-chain, GPU 0 NVIDIA L4", Fact("share", 0.25, "ratio", "kernel_time_share", "trace", 5.0, 20.0, "ns")),
    ("a-chain, GPU 0 NVIDIA L4", Fact("n", 12.0, "count", "kernel_count", "trace")),
    ("b-chain, the run", Fact("seen", True, "flag", "um_traceable", "log line 3")),
    ("b-chain, the run", Fact("lost", None, "ns", "x", why_unknown="no copies", missing=("copies.bytes",))),
    ("b-chain, the run", Fact("odd", float("inf"), "ns", "x")),
]


class Inspected:
    path = "case.txt"
    kind = "dmon"
    rows = 1200
    span = "61.400 s"
    devices = ("NVIDIA L4",)
    problems = ("line 3: cut",)
    can_judge = ("a-chain",)
    missing = (
        ("b-chain", Capture("kernels", "nsys profile your_program && nsys export", "ten seconds")),
        ("c-chain", Capture("kernels", "nsys profile your_program && nsys export", "ten seconds")),
    )


@pytest.fixture
def judge(fakes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = sys.modules["diagnose.judge"]
    monkeypatch.setattr(module, "facts", lambda *_: FACTS, raising=False)
    monkeypatch.setattr(module, "inspect", lambda _: [Inspected()], raising=False)
    assert fakes
    return module


@pytest.mark.usefixtures("judge")
def test_facts_as_text(case, capsys):
    assert main(["facts", str(case("healthy"))]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "a-chain, GPU 0 NVIDIA L4" in lines
    assert "share 0.25 ratio kernel_time_share 5 / 20 ns; trace" in lines
    assert "n 12 count kernel_count trace" in lines
    assert "seen true flag um_traceable log line 3" in lines
    assert "lost unknown ns x no copies (missing: copies.bytes)" in lines


@pytest.mark.usefixtures("judge")
def test_facts_as_json(case, capsys):
    assert main(["facts", str(case("healthy")), "-f", "json"]) == 0

    def strict(word: str) -> None:
        raise AssertionError(word)

    data = json.loads(capsys.readouterr().out, parse_constant=strict)
    facts = {f["name"]: f for f in data["facts"]}
    assert (facts["share"]["signature"], facts["share"]["scope"]) == ("a-chain", "GPU 0 NVIDIA L4")
    assert (facts["share"]["value"], facts["share"]["numerator"], facts["share"]["denominator"]) == (
        0.25,
        5,
        20,
    )
    assert facts["seen"]["value"] is True
    assert facts["lost"]["value"] is None
    assert facts["lost"]["missing"] == ["copies.bytes"]
    assert facts["odd"]["value"] is None


def test_no_fact_at_all_is_3(case, judge, monkeypatch):
    monkeypatch.setattr(judge, "facts", lambda *_: [("a-chain, the run", Fact("x"))])
    assert main(["facts", str(case("healthy"))]) == 3


@pytest.mark.usefixtures("judge")
def test_inspect_as_text(case, capsys):
    assert main(["inspect", str(case("healthy"))]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "case.txt: dmon, 1,200 rows",
        "  covers 61.400 s",
        "  GPUs: NVIDIA L4",
        "  problem: line 3: cut",
        "",
        "can be judged: a-chain",
        "lacks kernels for b-chain, c-chain; collect it with:",
        "    nsys profile your_program && nsys export",
        "    ten seconds",
    ]


def test_what_the_case_lacks_is_said_once(case, judge, monkeypatch, capsys):
    monkeypatch.setattr(judge, "inspect", lambda _: [Inspected(), Inspected()])
    assert main(["inspect", str(case("healthy"))]) == 0
    assert capsys.readouterr().out.count("lacks kernels for b-chain, c-chain; ") == 1


@pytest.mark.usefixtures("judge")
def test_inspect_as_json(case, capsys):
    assert main(["inspect", str(case("healthy")), "-f", "json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["inputs"]
    assert (entry["kind"], entry["rows"], entry["can_judge"]) == ("dmon", 1200, ["a-chain"])
    assert [m["signature"] for m in entry["missing"]] == ["b-chain", "c-chain"]


def test_nothing_to_judge_is_3(case, judge, monkeypatch):
    class Nothing(Inspected):
        can_judge = ()

    monkeypatch.setattr(judge, "inspect", lambda _: [Nothing()])
    assert main(["inspect", str(case("healthy"))]) == 3


@pytest.mark.usefixtures("judge")
@pytest.mark.parametrize("name", ["facts", "inspect"])
def test_a_missing_path_is_3(name):
    assert main([name, "missing"]) == 3
