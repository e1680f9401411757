"""Managed memory: moves by cause, exposure, granules, and captures that could not record it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from make_export import MEMCPY, Trace
from measuring import Asked

from diagnose.scope import Scope

MIB2 = 2 << 20


def moves() -> Trace:
    """Kernel 300…400. Prefetch HtoD 100…200 twice on two streams (granules 0 and 1), prefetch again of
    granule 0 at 350…450; fault HtoD 500…510 (4 KiB into granule 5); speculative 520…530; DtoH eviction."""
    trace = Trace()
    trace.launch(300, 400)
    trace.copy(100, 200, MIB2, 11, src=7, dst=7, cause=1, address=0)
    trace.copy(150, 250, MIB2, 11, src=7, dst=7, cause=1, address=MIB2, stream=8)
    trace.copy(350, 450, MIB2, 11, src=7, dst=7, cause=1, address=17)
    trace.copy(500, 510, 4096, 11, src=7, dst=7, cause=2, address=5 * MIB2 + 4096)
    trace.copy(520, 530, 65536, 11, src=7, dst=7, cause=3, address=0)
    trace.copy(600, 700, MIB2, 12, src=7, dst=7, cause=4, address=0)
    trace.copy(800, 810, 999, 1)  # an explicit copy is no move
    return trace


def test_moves_by_cause(tmp_path: Path) -> None:
    v = Asked(tmp_path, moves()).value
    assert v("um_bytes", cause="prefetch") == 3 * MIB2
    assert v("um_bytes", cause="fault") == 4096 and v("um_bytes", cause="speculative") == 65536
    assert v("um_bytes", kind="dtoh") == MIB2 == v("um_bytes", cause="eviction")
    assert v("um_bytes") == 4 * MIB2 + 4096 + 65536
    assert v("um_bytes", cause="access_counters") == 0.0
    # prefetch in time: 100…250, 350…450 = 250 ns, the kernel covers 350…400; W = 100 … 810
    assert v("window_ns") == 710
    assert v("um_busy_share", cause="prefetch") == pytest.approx(250 / 710)
    assert v("um_exposed_share", cause="prefetch") == pytest.approx(200 / 250)
    assert v("um_rate_gb_s", cause="prefetch") == pytest.approx(3 * MIB2 / 250)
    assert v("copy_count") == 1  # explicit copies only


def test_granules(tmp_path: Path) -> None:
    asked = Asked(tmp_path, moves())
    # prefetch: granule 0 twice, granule 1 once → median 1.5. any: 3, 1, 1 (granule 5) → 1
    assert asked.value("um_region_moves", cause="prefetch") == 1.5
    assert asked.value("um_region_moves") == 1.0
    assert asked.value("um_touched_bytes", cause="prefetch") == 2 * MIB2
    assert asked.value("um_touched_bytes") == 3 * MIB2
    assert asked.value("um_touched_bytes", cause="eviction") == 0.0  # DtoH moves do not touch the device
    assert asked.unknown("um_region_moves", cause="eviction")
    assert asked.value("um_touched_bytes", Scope(pid=100), cause="prefetch") == 2 * MIB2


def test_claims_and_exhibits(tmp_path: Path) -> None:
    asked = Asked(tmp_path, moves())
    assert asked.claim("um_exposed_claim", cause="prefetch") == [(0, [(100, 250), (400, 450)])]
    rows = asked.exhibit("um_moves", limit=1, cause="eviction")
    assert [(r.start_ns, r.duration_ns, r.detail) for r in rows] == [(600, 100, "2,097,152 bytes")]


@pytest.mark.parametrize(
    ("column", "name", "params"),
    [
        ("migrationCause", "um_bytes", {"cause": "prefetch"}),
        ("copyKind", "um_bytes", {}),
        ("bytes", "um_bytes", {}),
        ("virtualAddress", "um_region_moves", {}),
        ("migrationCause", "um_touched_bytes", {"cause": "fault"}),
    ],
)
def test_exports_before_2021_lack_columns(
    tmp_path: Path, column: str, name: str, params: dict[str, Any]
) -> None:
    asked = Asked(tmp_path, moves(), without={MEMCPY: [column]})
    assert "lacks copies" in asked.unknown(name, **params)
    if column == "migrationCause":
        assert asked.value("um_bytes") == 4 * MIB2 + 4096 + 65536  # any cause needs no cause


@pytest.mark.parametrize(
    "text",
    [
        "CUDA device 0: Unified Memory trace is not supported by the current driver version or settings.",
        "Unified Memory cannot be traced on devices that don't support peer-to-peer transfers.",
    ],
)
def test_absence_proves_nothing_when_the_capture_could_not_record_it(tmp_path: Path, text: str) -> None:
    trace = Trace()
    trace.launch(0, 10)
    asked = Asked(tmp_path, trace)
    assert asked.value("um_bytes") == 0.0 and asked.value("um_traceable") is True
    trace.add("DIAGNOSTIC_EVENT", severity=3, globalPid=0, text=text)
    blind = Asked(tmp_path, trace)
    for name in ("um_bytes", "um_touched_bytes", "um_region_moves", "um_busy_share"):
        assert "could not record" in blind.unknown(name)
    assert blind.value("um_traceable") is False
    seen = moves()
    seen.add("DIAGNOSTIC_EVENT", severity=3, globalPid=0, text=text)
    assert Asked(tmp_path, seen).value("um_bytes", cause="fault") == 4096  # rows that are there count
