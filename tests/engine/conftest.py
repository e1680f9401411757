"""Made-up metrics and a small signature for the engine's tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from diagnose.engine.compiled import Signature
from diagnose.engine.load import load


@dataclass(frozen=True)
class FakeParam:
    type: str = "text"
    required: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class FakeMetric:
    name: str
    unit: str
    kind: str = "number"
    grains: tuple[str, ...] = ("run", "device")
    reads: tuple[str, ...] = ("kernels",)
    params: dict[str, FakeParam] = field(default_factory=dict)


FAKES = (
    FakeMetric("share", "ratio", params={"of": FakeParam(required=True), "skip": FakeParam()}),
    FakeMetric(
        "count", "count", params={"of": FakeParam(choices=("apple", "pear")), "over": FakeParam("number")}
    ),
    FakeMetric("time", "ns"),
    FakeMetric("hits", "count", reads=("log",)),
    FakeMetric("capability", "number", reads=("devices",)),
    FakeMetric("form", "text", kind="text", reads=("devices",)),
    FakeMetric("active", "flag", kind="flag"),
    FakeMetric("per_process", "count", grains=("process",)),
)

BASE = """\
schema   = 1
version  = 3
title    = "Too many apples"
status   = "stable"
scope    = "device"
explains = ["other-thing"]
summary  = "{n:,} apples take {part:.0%}."

[needs]
any_of  = ["kernels"]
helpful = ["log", "devices"]

[thresholds]
min_part = { value = 0.2, why = "made up" }
min_n    = { value = 100, why = "made up" }

[facts]
part = { metric = "share", of = "apple", skip = ["a", "b"] }
n    = { metric = "count", of = "apple" }
cost = { metric = "time" }
text = { metric = "hits" }
cc   = { metric = "capability" }
kind = { metric = "form" }
busy = { metric = "active" }

[[step]]
id    = "enough"
role  = "gate"
stage = "symptom"
when  = "n >= min_n"
says  = "{n:,} apples"

[[step]]
id       = "new_device"
role     = "gate"
stage    = "mechanism"
identity = true
when     = "cc >= 8"
says     = "capability {cc}"

[[step]]
id    = "large_part"
role  = "cause"
stage = "cause"
when  = "part >= min_part"
says  = "apples take {part:.1%}"

[[step]]
id    = "costly"
role  = "effect"
stage = "symptom"
when  = "cost >= 1000000"
says  = "they cost {cost}"

[[step]]
id    = "asked"
role  = "context"
stage = "cause"
says  = "apples were asked for"
  [[step.way]]
  id       = "seen"
  decisive = true
  when     = "n > 0"
  [[step.way]]
  id   = "said"
  when = "text > 0"

[[rule_out]]
id   = "pears"
when = "busy AND part < 0.1"
says = "these are pears"
see  = "pear-storm"

[[rule_out]]
id         = "plums"
when       = "kind = 'plum'"
says       = "these are plums"
if_unknown = "cap"

[[verdict]]
is   = "confirmed"
when = "enough AND new_device AND large_part AND costly"

[[verdict]]
is      = "probable"
when    = "enough AND large_part"
variant = "unmeasured"

[[note]]
when = "confirmed AND kind = 'golden'"
says = "golden ones, {n} of them"

[impact]
kind    = "time"
lost_ns = "cost"
bound   = "at most {cost}"

[[remedy]]
do     = "eat them"
verify = "fewer than {min_n:,}"
source = { title = "a book", url = "https://example.org/book" }

[[remedy]]
do      = "measure first"
variant = "unmeasured"
"""

Make = Callable[..., Signature]


@pytest.fixture
def metrics() -> dict[str, FakeMetric]:
    return {m.name: m for m in FAKES}


@pytest.fixture
def base() -> str:
    return BASE


@pytest.fixture
def make(tmp_path: Path, metrics: dict[str, FakeMetric]) -> Make:
    """Loads the base signature with pieces of its text replaced: `make(("old", "new"), ...)`."""

    def made(
        *changes: tuple[str, str], text: str = BASE, overrides: dict[str, float] | None = None
    ) -> Signature:
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        path = tmp_path / "apple-storm.toml"
        path.write_text(text, encoding="utf-8")
        changed = {"apple-storm": overrides} if overrides else {}
        return load([path], metrics, overrides=changed)["apple-storm"]

    return made
