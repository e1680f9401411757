"""The structure of a signature file: what is required, what is refused, what is immutable."""

from __future__ import annotations

import tomllib
from typing import Any

import jsonschema
import pytest
from pydantic import ValidationError

from diagnose.engine.signature import SignatureFile, frozen, json_schema


def parse(text: str) -> SignatureFile:
    return SignatureFile.model_validate(frozen(tomllib.loads(text)))


def places(text: str) -> set[tuple[Any, ...]]:
    with pytest.raises(ValidationError) as caught:
        parse(text)
    return {e["loc"] for e in caught.value.errors()}


def test_every_table_of_the_file(base: str) -> None:
    file = parse(base)
    assert (file.title, file.version, file.scope, file.explains) == (
        "Too many apples",
        3,
        "device",
        ("other-thing",),
    )
    assert file.length_gate is True and file.replaces is False
    assert file.needs.any_of == ("kernels",) and file.needs.helpful == ("log", "devices")
    assert file.thresholds["min_part"].value == 0.2 and file.thresholds["min_part"].why == "made up"
    assert file.facts["part"].metric == "share"
    assert file.facts["part"].params == {"of": "apple", "skip": ("a", "b")}
    assert [s.id for s in file.steps] == ["enough", "new_device", "large_part", "costly", "asked"]
    assert [(w.id, w.decisive) for w in file.steps[-1].ways] == [("seen", True), ("said", False)]
    assert [(r.id, r.see, r.if_unknown) for r in file.rule_outs] == [
        ("pears", "pear-storm", "note"),
        ("plums", None, "cap"),
    ]
    assert [(v.word, v.variant) for v in file.verdicts] == [("confirmed", ""), ("probable", "unmeasured")]
    assert file.impact.lost_ns == "cost"
    assert file.remedies[0].source is not None and file.remedies[0].source.url == "https://example.org/book"


def test_models_are_frozen(base: str) -> None:
    with pytest.raises(ValidationError):
        parse(base).title = "other"


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("schema   = 1", "schema = 2", ("schema",)),
        ("version  = 3", "version = 0", ("version",)),
        ("version  = 3", "version = '3'", ("version",)),
        ("version  = 3", "version = 3.0", ("version",)),
        ('title    = "Too many apples"', 'title = ""', ("title",)),
        ('status   = "stable"', 'status = "done"', ("status",)),
        ('scope    = "device"', 'scope = "thread"', ("scope",)),
        ('scope    = "device"', 'scope = "device"\ncolour = "red"', ("colour",)),
        ('any_of  = ["kernels"]', "any_of = []", ("needs", "any_of")),
        ('any_of  = ["kernels"]', 'any_of = "kernels"', ("needs", "any_of")),
        (
            'min_n    = { value = 100, why = "made up" }',
            "min_n = { value = 100 }",
            ("thresholds", "min_n", "why"),
        ),
        ("value = 0.2", "value = nan", ("thresholds", "min_part", "value")),
        ("value = 0.2", "value = true", ("thresholds", "min_part", "value")),
        ("min_n    = {", "and = {", ("thresholds", "and", "[key]")),
        ("min_n    = {", "Min = {", ("thresholds", "Min", "[key]")),
        ('n    = { metric = "count", of', "n = { of", ("facts", "n", "metric")),
        ('id    = "enough"', 'id = "select"', ("step", 0, "id")),
        ('id    = "enough"', 'id = "confirmed"', ("step", 0, "id")),
        ('id    = "enough"', 'id = "a-b"', ("step", 0, "id")),
        ('role  = "cause"', 'role = "reason"', ("step", 2, "role")),
        ('stage = "cause"\nwhen', 'stage = "root"\nwhen', ("step", 2, "stage")),
        ('when  = "part >= min_part"\n', "", ("step", 2)),
        ('when  = "part >= min_part"\n', 'when = "part >= 1"\nidentity = true\n', ("step", 2)),
        ('  id   = "said"', '  id = "said"\n  sure = true', ("step", 4, "way", 1, "sure")),
        ('if_unknown = "cap"', 'if_unknown = "stop"', ("rule_out", 1, "if_unknown")),
        ('see  = "pear-storm"', 'see = "Pear Storm"', ("rule_out", 0, "see")),
        ('is   = "confirmed"', 'is = "sure"', ("verdict", 0, "is")),
        ('kind    = "time"', 'kind = "money"', ("impact", "kind")),
        ("https://example.org/book", "javascript:alert(1)", ("remedy", 0, "source", "url")),
    ],
)
def test_refused(base: str, old: str, new: str, place: tuple[Any, ...]) -> None:
    assert old in base
    assert place in places(base.replace(old, new, 1))


def test_a_step_has_conditions_or_ways_but_not_both(base: str) -> None:
    assert ("step", 4) in places(base.replace('says  = "apples were', 'when = "n > 0"\nsays  = "apples were'))


def test_json_schema_accepts_the_same_file(base: str) -> None:
    schema = json_schema()
    jsonschema.validate(tomllib.loads(base), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**tomllib.loads(base), "colour": "red"}, schema)
