"""Named, parameterised measurements. A signature's facts are these with parameters; nothing else.

A metric is a function `(m, scope, **params) -> Fact` with a declared unit, the grains it can be
computed at, the tables it reads, and `wants`: which streaming states it needs from the trace pass.
Exhibits (rows shown as proof) and claims (intervals charged to a finding) are registered alike.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from diagnose.findings import Fact
from diagnose.scope import GRAINS, Grain

if TYPE_CHECKING:
    from diagnose.states.trace_pass import TracePass

Wants = Callable[["TracePass", Mapping[str, Any]], None]
REQUIRED = object()


@dataclass(frozen=True, slots=True)
class Param:
    """`default` is REQUIRED when a signature must give it. `choices` empty: any value of `type`."""

    type: Literal["text", "number"]
    default: Any = REQUIRED
    choices: tuple[str, ...] = ()

    @property
    def required(self) -> bool:
        return self.default is REQUIRED


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    unit: str
    kind: Literal["number", "flag", "text"]
    grains: tuple[Grain, ...]
    reads: tuple[str, ...]
    params: Mapping[str, Param]
    function: Callable[..., Any] = field(repr=False)
    wants: Wants | None = field(default=None, repr=False)
    doc: str = ""


METRICS: dict[str, Metric] = {}
EXHIBITS: dict[str, Metric] = {}
CLAIMS: dict[str, Metric] = {}


def metric(
    unit: str,
    reads: tuple[str, ...],
    grains: tuple[Grain, ...] = GRAINS,
    wants: Wants | None = None,
    choices: Mapping[str, tuple[str, ...]] | None = None,
) -> Callable[[Callable[..., Fact]], Callable[..., Fact]]:
    """Registers a metric under its function name. `choices` limits text parameters."""

    def register(function: Callable[..., Fact]) -> Callable[..., Fact]:
        kind: Literal["number", "flag", "text"] = (
            "flag" if unit == "flag" else "text" if unit == "text" else "number"
        )

        @functools.wraps(function)
        def measured(*args: Any, **params: Any) -> Fact:
            return replace(function(*args, **params), metric=function.__name__, unit=unit)

        _add(METRICS, function, measured, unit, kind, reads, grains, wants, choices)
        return measured

    return register


def exhibit(
    reads: tuple[str, ...], wants: Wants | None = None, choices: Mapping[str, tuple[str, ...]] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers rows that prove a finding: `(m, scope, limit, **params) -> list[ExhibitRow]`."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _add(EXHIBITS, function, function, "", "text", reads, GRAINS, wants, choices)
        return function

    return register


def claim(
    reads: tuple[str, ...], wants: Wants | None = None, choices: Mapping[str, tuple[str, ...]] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers intervals charged to a finding: `(m, scope, **params) -> list[(device, Intervals)]`."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _add(CLAIMS, function, function, "ns", "number", reads, GRAINS, wants, choices)
        return function

    return register


def _add(
    table: dict[str, Metric],
    function: Callable[..., Any],
    call: Callable[..., Any],
    unit: str,
    kind: Literal["number", "flag", "text"],
    reads: tuple[str, ...],
    grains: tuple[Grain, ...],
    wants: Wants | None,
    choices: Mapping[str, tuple[str, ...]] | None,
) -> None:
    params: dict[str, Param] = {}
    for name, given in inspect.signature(function).parameters.items():
        if given.kind is not inspect.Parameter.KEYWORD_ONLY:
            continue
        number = str(given.annotation) in ("float", "int")
        default = REQUIRED if given.default is inspect.Parameter.empty else given.default
        params[name] = Param("number" if number else "text", default, (choices or {}).get(name, ()))
    doc = inspect.getdoc(function) or ""
    name = function.__name__
    table[name] = Metric(name, unit, kind, grains, reads, params, call, wants, doc)


def known(
    value: float | bool | str,
    source: str = "",
    *,
    numerator: float | None = None,
    denominator: float | None = None,
    parts_unit: str = "",
    low: float | None = None,
    high: float | None = None,
) -> Fact:
    """A measured value; non-finite numbers become unknown."""
    if isinstance(value, float) and value - value != 0.0:
        return unknown("the value is not finite")
    return Fact("", value, "", "", source, numerator, denominator, parts_unit, low, high)


def unknown(why: str, *missing: str) -> Fact:
    """A value that could not be measured: why, and the tables or columns that would decide."""
    return Fact("", None, why_unknown=why, missing=tuple(missing))


def ratio(numerator: float, denominator: float, source: str, parts_unit: str, *, slack: float = 0.0) -> Fact:
    """numerator / denominator, unknown when the denominator is 0; `slack`: at most this much too high."""
    if denominator <= 0:
        return unknown("nothing to divide by in " + (source or "the trace"))
    low = max(numerator - slack, 0.0) / denominator if slack else None
    high = numerator / denominator if slack else None
    return known(
        numerator / denominator,
        source,
        numerator=numerator,
        denominator=denominator,
        parts_unit=parts_unit,
        low=low,
        high=high,
    )
