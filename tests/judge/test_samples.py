"""Every shipped sample gets the verdicts that were written from the specification, and its numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cases import expected, same, sample_folders, verdicts

from diagnose.case import collect
from diagnose.engine.compiled import Call
from diagnose.judge import judge
from diagnose.judge.measure import with_defaults
from diagnose.metrics import METRICS
from diagnose.metrics.measurements import Measurements
from diagnose.scope import Scope
from diagnose.states.trace_pass import TracePass

FOLDERS = sample_folders()
NAMES = [f"{f.parent.name}/{f.name}" for f in FOLDERS]


def test_there_are_samples_of_every_kind() -> None:
    kinds = {f.parent.name for f in FOLDERS}
    assert {"fp8-unsupported-gpu", "async-pool-growth", "fp8-cast-storm", "um-prefetch-stall"} <= kinds
    assert {"nvlink-absent", "offload-pcie-bound", "healthy"} <= kinds


@pytest.mark.parametrize("folder", FOLDERS, ids=NAMES)
def test_verdicts_are_those_of_the_specification(folder: Path) -> None:
    found = verdicts(judge([folder]))
    wrong = {
        signature: (found.get(signature), wanted)
        for signature, wanted in expected(folder)["expect"].items()
        if not same(str(found.get(signature)), wanted)
    }
    assert not wrong, f"(found, wanted) by signature: {wrong}"


@pytest.mark.parametrize("folder", FOLDERS, ids=NAMES)
def test_facts_equal_the_numbers_computed_by_plain_sql(folder: Path) -> None:
    told = expected(folder)
    entries: list[tuple[dict[str, Any], float]] = [(e, 0.0) for e in told.get("measured", [])]
    entries += [(e, float(e["abs_tol"])) for e in told.get("about", [])]
    if not entries:
        pytest.skip("text only: no numbers of a trace")
    case = collect([folder], hash_inputs=False)
    try:
        assert case.export is not None
        trace = TracePass(case.export)
        Measurements.want_basics(trace)
        for entry, _ in entries:
            metric = METRICS[entry["metric"]]
            if metric.wants is not None:
                metric.wants(trace, with_defaults(metric, Call(entry["metric"], entry.get("params", {}))))
        trace.run()
        m = Measurements(trace, case.facts, case.tables)
        for entry, tolerance in entries:
            scope = Scope(entry.get("device"), entry.get("process", entry.get("pid")))
            fact = METRICS[entry["metric"]].function(m, scope, **entry.get("params", {}))
            wanted = entry["value"]
            where = f"{entry['metric']} {entry.get('params')} {scope}: {fact.why_unknown}"
            if isinstance(wanted, float):
                assert fact.value == pytest.approx(wanted, rel=1e-6, abs=max(tolerance, 1e-9)), where
            else:
                assert fact.value == wanted, where
    finally:
        case.close()
