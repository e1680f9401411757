"""`diagnose facts PATH…`: every fact that the signatures ask for, measured, with where it comes from."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from diagnose.cli import codes, inputs, options, output, page, streams

if TYPE_CHECKING:
    from diagnose.findings import Fact

NAME = "facts"


def command(
    paths: options.Paths,
    format_: options.TextOrJson = "text",
    signatures: options.Signatures = None,
    thresholds: options.Thresholds = None,
    config: options.Config = None,
    width: options.Width = None,
) -> Callable[[], int]:
    """List every fact that was measured, its value, unit and source."""

    def job() -> int:
        flags: dict[str, object] = {"signatures": signatures, "width": width}
        settings = options.resolve(flags, config=config, inputs=paths, thresholds=thresholds)
        inputs.check(paths)
        with inputs.spooled(paths) as (real, _):
            from diagnose import judge

            facts = list(judge.facts(real, options.judge_options(settings)))
        if format_ == "json":
            output.to_stdout(to_json(facts), utf8=True)
        else:
            look = streams.look(sys.stdout, settings)
            output.to_stdout("\n".join(to_text(facts, look.width)))
        return codes.OK if any(f.value is not None for _, f in facts) else codes.NOT_JUDGED

    return job


def to_json(facts: Sequence[tuple[str, Fact]]) -> str:
    listed = [
        {
            "signature": about.partition(", ")[0],
            "scope": about.partition(", ")[2],
            "name": f.name,
            "value": _finite(f.value),
            "unit": f.unit,
            "metric": f.metric,
            "source": f.source,
            "numerator": _finite(f.numerator),
            "denominator": _finite(f.denominator),
            "parts_unit": f.parts_unit,
            "low": _finite(f.low),
            "high": _finite(f.high),
            "why_unknown": f.why_unknown,
            "missing": list(f.missing),
        }
        for about, f in facts
    ]
    return json.dumps({"schema": "diagnose.facts/1", "facts": listed}, indent=2, ensure_ascii=False)


def to_text(facts: Sequence[tuple[str, Fact]], width: int | None) -> Iterator[str]:
    groups: dict[str, list[Fact]] = {}
    for about, fact in facts:
        groups.setdefault(about, []).append(fact)
    for n, (about, members) in enumerate(groups.items()):
        if n:
            yield ""
        yield about or "measured for no signature"
        rows = [(f.name, shown(f), f.unit, f.metric, _source(f)) for f in members]
        yield from page.table(("fact", "value", "unit", "metric", "source"), rows, width)


def shown(fact: Fact) -> str:
    """The value as it was measured, not rounded for reading: an author compares it with a threshold."""
    value = fact.value
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else f"{value:.6g}"
    return str(value)


def _source(fact: Fact) -> str:
    if fact.value is None:
        missing = f" (missing: {', '.join(fact.missing)})" if fact.missing else ""
        return fact.why_unknown + missing
    if fact.numerator is None or fact.denominator is None:
        return fact.source
    parts = f"{fact.numerator:.15g} / {fact.denominator:.15g} {fact.parts_unit}".rstrip()
    return f"{parts}; {fact.source}" if fact.source else parts


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
