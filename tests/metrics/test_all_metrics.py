"""Every registered metric, exhibit and claim: asked of odd traces, it answers or says why not."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from make_export import GRAPH_LAUNCH, KERNEL, MEMCPY, MEMORY, RUNTIME, Trace, gtid
from measuring import Asked, name_in, text_only, told

from diagnose.artifacts.nsys_sqlite import NsysExport
from diagnose.case import collect
from diagnose.errors import InputError
from diagnose.findings import Fact
from diagnose.metrics import CLAIMS, EXHIBITS, METRICS, Metric
from diagnose.metrics.measurements import Measurements
from diagnose.scope import Scope
from diagnose.states.trace_pass import TracePass

GIVEN: dict[str, Any] = {
    "family": "fp8_gemm",
    "first": "fp8_gemm",
    "then": "cast_to_f32",
    "skip": "splitk_reduce",
    "dtype": "f32",
    "group": "sync",
    "pattern": "fp8_refused",
    "column": "sm",
    "lo_bytes": 0,
    "hi_bytes": 10**9,
}
SCOPES = {
    "run": Scope(),
    "device": Scope(device=0),
    "process": Scope(pid=100),
    "process_device": Scope(device=0, pid=100),
}
EVERYTHING: list[Metric] = [*METRICS.values(), *EXHIBITS.values(), *CLAIMS.values()]


def params_of(metric: Metric) -> dict[str, Any]:
    return {n: GIVEN.get(n, p.default) for n, p in metric.params.items()}


def busy_trace() -> Trace:
    """Something in every table."""
    trace = Trace()
    trace.gpu()
    trace.api(0, 90, "cudaFree_v3020")
    for i in range(30):
        at = 1000 * i + 100
        trace.add(
            "NVTX_EVENTS",
            start=at,
            end=at + 800,
            eventType=59,
            globalTid=gtid(100, 1),
            text=f"s{i}",
            textId=None,
        )
        trace.launch(at + 10, at + 100, name_in("fp8_gemm"), at=at + 1)
        trace.launch(at + 110, at + 150 + i, name_in("cast_to_f32"), at=at + 2)
        trace.copy(at + 200, at + 300, 4096, 11, src=7, dst=7, cause=1, address=i << 21)
        trace.copy(at + 300, at + 350, 4096, 1 + i % 2, src=0, dst=0)
        trace.memset(at + 360, at + 370)
        trace.memory(at, 64, pool=(1000 + i, 900), threshold=0)
        trace.api(at + 400, at + 600, "cudaStreamSynchronize_v3020")
        trace.api(at + 600, at + 700, "cudaMallocAsync_v11020")
    trace.api(40_000, 40_001, GRAPH_LAUNCH)
    trace.graph(40_010, 40_020)
    return trace


def ask_everything(path: Path) -> Iterator[tuple[str, Fact]]:
    case = collect([path], hash_inputs=False)
    assert case.export is not None
    trace = TracePass(case.export)
    Measurements.want_basics(trace)
    for metric in EVERYTHING:
        if metric.wants is not None:
            metric.wants(trace, params_of(metric))
    trace.run()
    m = Measurements(trace, case.facts, case.tables)
    for metric in EVERYTHING:
        for grain in metric.grains:
            extra = (5,) if metric.name in EXHIBITS and metric is EXHIBITS[metric.name] else ()
            found = metric.function(m, SCOPES[grain], *extra, **params_of(metric))
            if isinstance(found, Fact):
                yield metric.name, found
    case.close()


def test_everything_answers_a_whole_trace(tmp_path: Path) -> None:
    facts = list(ask_everything(busy_trace().write(tmp_path / "t.sqlite")))
    unknown = {name for name, f in facts if f.value is None}
    # Text, topology and samples come from other artifacts; the rest is known.
    assert all(
        METRICS[name].reads[0] not in ("kernels", "copies", "api_calls", "allocations") for name in unknown
    ), unknown
    for name, fact in facts:
        kind = METRICS[name].kind
        if fact.value is not None:
            expected: type | tuple[type, ...] = {"number": float, "flag": bool, "text": str}[kind]
            assert isinstance(fact.value, expected), name
        assert fact.metric == name and fact.unit == METRICS[name].unit
        if METRICS[name].unit == "ratio" and name.endswith("_share") and fact.value is not None:
            assert isinstance(fact.value, float) and 0.0 <= fact.value <= 1.0, (name, fact)


def test_everything_says_why_it_is_unknown_without_a_trace() -> None:
    for metric in METRICS.values():
        for grain in metric.grains:
            fact = told({}, metric.name, SCOPES[grain], **params_of(metric))
            assert fact.value is None and fact.why_unknown, metric.name
    m = text_only({})
    for metric in EXHIBITS.values():
        assert metric.function(m, Scope(), 5, **params_of(metric)) == [], metric.name
    for metric in CLAIMS.values():
        assert metric.function(m, Scope(), **params_of(metric)) == [], metric.name


@pytest.mark.parametrize("name", sorted(CLAIMS))
def test_nothing_is_charged_where_the_facts_are_unknown(tmp_path: Path, name: str) -> None:
    """Graphs hide most of the work: what can still be seen is no measure of what was lost."""
    trace = busy_trace()
    trace.graph(40_020, 400_000)
    metric = CLAIMS[name]
    claims = Asked(tmp_path, trace).claim(name, **params_of(metric))
    if name == "api_idle_claim":  # whole graphs count as activity: idle time is known
        assert claims
    else:
        assert claims == []
    assert Asked(tmp_path, busy_trace()).claim(name, **params_of(metric)) != []


COLUMNS = [
    (table, column)
    for table in (KERNEL, MEMCPY, RUNTIME, MEMORY, "NVTX_EVENTS", "TARGET_INFO_GPU")
    for column in busy_trace().tables[table][0]
]


@pytest.mark.parametrize(("table", "column"), COLUMNS, ids=lambda v: str(v))
def test_any_missing_column_is_survived(tmp_path: Path, table: str, column: str) -> None:
    for _, fact in ask_everything(busy_trace().write(tmp_path / "t.sqlite", without={table: [column]})):
        assert (fact.value is None) == bool(fact.why_unknown)


@pytest.mark.parametrize("table", [*busy_trace().tables, "StringIds", "META_DATA_EXPORT"])
def test_any_missing_or_empty_table_is_survived_alike(tmp_path: Path, table: str) -> None:
    absent = dict.fromkeys(ask_everything(busy_trace().write(tmp_path / "absent.sqlite", drop=[table])))
    path = busy_trace().write(tmp_path / "empty.sqlite")
    with sqlite3.connect(path) as connection:
        connection.execute(f"DELETE FROM {table}")
    connection.close()
    empty = dict.fromkeys(ask_everything(path))
    assert [(n, f.value) for n, f in absent] == [(n, f.value) for n, f in empty]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**20), st.sampled_from([16, 200, 1024]), st.sampled_from([b"\xa5", b"\x00", b"\xff"]))
def test_any_damage_is_survived(
    tmp_path_factory: pytest.TempPathFactory, where: int, page: int, junk: bytes
) -> None:
    path = busy_trace().write(tmp_path_factory.mktemp("d") / "t.sqlite", page_size=1024)
    content = bytearray(path.read_bytes())
    at = 100 + where % (len(content) - 100)
    content[at : at + page] = junk * len(content[at : at + page])
    path.write_bytes(bytes(content))
    try:
        NsysExport(path).close()
    except InputError:
        return
    for _, fact in ask_everything(path):
        assert (fact.value is None) == bool(fact.why_unknown)
