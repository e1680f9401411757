"""Runs the pass over a tiny export and asks for one fact at a time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from make_export import Trace

from diagnose.case import collect
from diagnose.catalogue import kernels
from diagnose.findings import Fact
from diagnose.metrics import CLAIMS, EXHIBITS, METRICS, Metric
from diagnose.metrics.measurements import Measurements
from diagnose.scope import RUN, Scope
from diagnose.states.trace_pass import TracePass


class Asked:
    """A trace on disk. Every question runs its own pass, so no answer leans on another one."""

    def __init__(
        self, folder: Path, trace: Trace, tables: Mapping[str, Any] | None = None, **how: Any
    ) -> None:
        self.path = trace.write(folder / f"t{len(list(folder.iterdir()))}.sqlite", **how)
        self.tables = tables or {}

    def _measured(self, entry: Metric, params: Mapping[str, Any]) -> Measurements:
        case = collect([self.path], hash_inputs=False)
        assert case.export is not None
        trace = TracePass(case.export)
        Measurements.want_basics(trace)
        if entry.wants is not None:
            defaults = {n: p.default for n, p in entry.params.items() if not p.required}
            entry.wants(trace, {**defaults, **params})
        trace.run()
        return Measurements(trace, case.facts, {**case.tables, **self.tables})

    def fact(self, name: str, scope: Scope = RUN, **params: Any) -> Fact:
        m = self._measured(METRICS[name], params)
        fact = METRICS[name].function(m, scope, **params)
        assert m.trace is not None
        m.trace.export.close()
        assert (fact.value is None) == bool(fact.why_unknown), fact
        return fact  # type: ignore[no-any-return]

    def value(self, name: str, scope: Scope = RUN, **params: Any) -> Any:
        """The value; fails when it is unknown."""
        fact = self.fact(name, scope, **params)
        assert fact.value is not None, fact.why_unknown
        return fact.value

    def unknown(self, name: str, scope: Scope = RUN, **params: Any) -> str:
        """Why the fact is unknown; fails when it is known."""
        fact = self.fact(name, scope, **params)
        assert fact.value is None, fact
        return fact.why_unknown

    def exhibit(self, name: str, scope: Scope = RUN, limit: int = 5, **params: Any) -> Any:
        return EXHIBITS[name].function(self._measured(EXHIBITS[name], params), scope, limit, **params)

    def claim(self, name: str, scope: Scope = RUN, **params: Any) -> list[tuple[int, list[tuple[int, int]]]]:
        found = CLAIMS[name].function(self._measured(CLAIMS[name], params), scope, **params)
        return [(device, list(zip(i.starts.tolist(), i.ends.tolist(), strict=True))) for device, i in found]


def text_only(tables: Mapping[str, Any]) -> Measurements:
    """A case without a trace."""
    from diagnose.artifacts.nsys_facts import TraceFacts

    return Measurements(None, TraceFacts(), dict(tables))


def told(tables: Mapping[str, Any], name: str, scope: Scope = RUN, **params: Any) -> Fact:
    """A fact of a case without a trace."""
    return METRICS[name].function(text_only(tables), scope, **params)  # type: ignore[no-any-return]


def name_in(family: str, n: int = 0) -> str:
    """A kernel name that the catalogue itself gives as an example of the family."""
    return kernels.families()[family].must_match[n]
