"""The report for programs, checked against its published schema."""

from __future__ import annotations

import copy
import json
import math
from dataclasses import replace

import pytest
from jsonschema import Draft202012Validator
from reports_hostile import ALL, EVIL, hostile
from reports_make import CAST, cast_storm, confirmed, undecided

from diagnose.findings import VERDICTS, Fact, Step
from diagnose.reports import RenderOptions
from diagnose.reports.json import render, report_schema


def load(report):
    return json.loads(
        render(report, RenderOptions()), parse_constant=lambda c: pytest.fail(f"{c} is no JSON")
    )


@pytest.fixture(scope="module")
def validator():
    schema = report_schema()
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@pytest.mark.parametrize("case", ALL)
def test_every_report_is_valid(case, validator):
    assert [e.message[:200] for e in validator.iter_errors(load(ALL[case]()))] == []


def broken():
    """(name, a change that version 1 of the schema must refuse)"""

    def at(path, value):
        def change(doc):
            for key in path[:-1]:
                doc = doc[key]
            if value is KeyError:
                del doc[path[-1]]
            else:
                doc[path[-1]] = value

        return change

    finding = ("findings", 0)
    step = (*finding, "steps", 0)
    return {
        "other schema": at(("schema",), "diagnose.report/2"),
        "no verdict": at((*finding, "verdict"), KeyError),
        "new verdict": at((*finding, "verdict"), "likely"),
        "verdict null": at((*finding, "verdict"), None),
        "holds text": at((*step, "holds"), "yes"),
        "value list": at((*step, "values", "gemm_n", "value"), [1]),
        "value bare": at((*step, "values", "gemm_n"), 18_377),
        "threshold bare": at((*step, "thresholds", "min_gemms"), 100),
        "time text": at((*finding, "exhibits", 0, "rows", 0, "start_ns"), "41.9"),
        "summary lacks a verdict": at(("summary", "cannot_tell"), KeyError),
        "inputs null": at(("inputs",), None),
        "no hash": at(("inputs", 0, "sha256"), KeyError),
        "device text": at(("trace", "devices", 0, "device"), "0"),
        "lost text": at((*finding, "lost_ns"), "14 s"),
        "share text": at(("breakdown", 0, "share"), "38%"),
        "level": at(("coverage", 0, "level"), "fatal"),
    }


@pytest.mark.parametrize("name", broken())
def test_the_schema_refuses(name, validator):
    document = load(confirmed())
    broken()[name](document)
    assert list(validator.iter_errors(document))


def test_the_schema_allows_additions_everywhere(validator):
    def add(value):
        if isinstance(value, dict):
            return {k: add(v) for k, v in value.items()} | {"later": {"value": 1}}
        return [add(v) for v in value] if isinstance(value, list) else value

    document = load(confirmed())
    # `values` and `thresholds` are maps by name: what is added there is a value or a threshold
    extended = add(copy.deepcopy(document))
    for f in extended["findings"]:
        for step in f["steps"] + f["rule_outs"]:
            step.get("values", {}).pop("later", None)
            step.get("thresholds", {}).pop("later", None)
    assert [e.message for e in validator.iter_errors(extended)] == []


def test_every_key_that_is_written_is_in_the_schema():
    schema = report_schema()

    def walk(value, node, path):
        while "$ref" in node or "anyOf" in node:
            node = node["anyOf"][0] if "anyOf" in node else schema["$defs"][node["$ref"].rpartition("/")[2]]
        if isinstance(value, dict):
            free = node.get("additionalProperties")
            for key, inner in value.items():
                assert free or key in node["properties"], f"{path}.{key}"
                walk(inner, free or node["properties"][key], f"{path}.{key}")
            assert free or set(node["required"]) <= set(value), path
        if isinstance(value, list):
            for inner in value:
                walk(inner, node["items"], path + "[]")

    for case in ALL.values():
        walk(load(case()), schema, "$")


def test_what_a_step_says_and_measured_and_asked():
    step = next(s for s in load(confirmed())["findings"][0]["steps"] if s["id"] == "casts_cost")
    assert step["holds"] is True and step["role"] == "effect" and step["stage"] == "symptom"
    assert step["when"] == "cast_share >= min_cast_share" and step["margin"] == 7.72
    value = step["values"]["cast_share"]
    assert (value["value"], value["numerator"], value["denominator"]) == (0.386, 22.7e9, 58.9e9)
    assert value["unit"] == "ratio" and value["parts_unit"] == "ns"
    assert value["source"] == "run_0412.sqlite, kernels, whole window, GPU 0"
    assert step["thresholds"]["min_cast_share"] == {
        "value": 0.05,
        "why": "below this the casts are not worth a change",
        "overridden": False,
    }


def test_unknown_is_null_with_its_reason_never_zero():
    step = next(s for s in load(confirmed())["findings"][0]["steps"] if s["id"] == "tail")
    assert step["holds"] is None
    assert step["values"]["p99"]["value"] is None
    assert step["values"]["p99"]["why_unknown"] == "the trace holds no NVTX ranges"
    assert step["values"]["p99"]["missing"] == ["ranges"]


def test_every_signature_and_scope_has_its_verdict_in_rank_order():
    report = confirmed()
    found = [
        (f["rank"], f["signature"], f["scope"]["device"], f["verdict"]) for f in load(report)["findings"]
    ]
    assert found == [(i, f.signature, f.scope.device, f.verdict) for i, f in enumerate(report.findings, 1)]
    assert {v for *_, v in found} == set(VERDICTS)


def test_the_summary_counts_signatures_not_scopes():
    assert load(confirmed())["summary"] == {
        "confirmed": 1,
        "probable": 2,
        "ruled_out": 1,
        "absent": 3,
        "cannot_tell": 3,
    }


def test_cannot_tell_names_table_and_capture():
    first = load(undecided())["findings"][0]
    assert {"table": "gpu_pairs", "capture": None, "note": None} in first["missing"]
    assert {
        "table": "the topology of the GPUs",
        "capture": "nvidia-smi topo -m > topo.txt",
        "note": "on the node, beside the trace",
    } in first["missing"]


def test_names_are_whole_and_exact():
    assert load(confirmed())["findings"][0]["exhibits"][0]["rows"][0]["name"] == CAST
    rows = load(hostile())["findings"][0]["exhibits"][0]["rows"]
    assert [r["name"] for r in rows] == EVIL


@pytest.mark.parametrize("case", ALL)
def test_the_text_is_ascii_without_control_characters_and_repeatable(case):
    text = render(ALL[case](), RenderOptions())
    assert text.isascii() and text.endswith("}\n")
    assert all(ch == "\n" or ch.isprintable() for ch in text)
    assert text == render(ALL[case](), RenderOptions(width=40, colour=True, verbose=True))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_none_become_null(bad, validator):
    step = Step(
        "s", "cause", "cause", None, "x", "a > 1", (Fact("a", bad, "ratio", numerator=bad),), margin=bad
    )
    report = replace(confirmed(), findings=(replace(cast_storm(), steps=(step,), lost_ns=bad),))
    document = load(report)
    value = document["findings"][0]["steps"][0]["values"]["a"]
    assert value["value"] is None and value["numerator"] is None
    assert value["why_unknown"] == "not a finite number"
    assert document["findings"][0]["lost_ns"] is None
    assert list(validator.iter_errors(document)) == []


def test_a_lone_surrogate_is_spelt_out():
    report = replace(confirmed(), nearest_miss="a\ud800b")
    text = render(report, RenderOptions())
    assert json.loads(text)["nearest_miss"] == "a\\ud800b"
    json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8")


def test_large_integers_keep_every_digit():
    row = replace(cast_storm().exhibits[0].rows[0], start_ns=2**62 + 1)
    storm = replace(cast_storm(), exhibits=(replace(cast_storm().exhibits[0], rows=(row,)),))
    found = load(replace(confirmed(), findings=(storm,)))["findings"][0]["exhibits"][0]["rows"][0]
    assert found["start_ns"] == 4_611_686_018_427_387_905
