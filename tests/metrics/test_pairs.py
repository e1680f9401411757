"""What follows a kernel on its stream, as facts, exhibits and claims."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from make_export import KERNEL, Trace
from measuring import Asked, name_in

from diagnose.scope import Scope

GEMM, CAST, SPLIT = (name_in(f) for f in ("fp8_gemm", "cast_to_f32", "splitk_reduce"))
ASK: dict[str, Any] = {"first": "fp8_gemm", "then": "cast_to_f32", "skip": "splitk_reduce"}
GPU0 = Scope(device=0)


@pytest.fixture
def storm(tmp_path: Path) -> Asked:
    """GPU 0, stream 7: G 100…140, split, C 160…180 | G 200…240, x, C | G 300…340, C 350…390 | G at the end.
    Stream 8: C 310…320, which follows nothing. GPU 1: G, C."""
    trace = Trace()
    trace.launch(100, 140, GEMM)
    trace.launch(150, 155, SPLIT)
    trace.launch(160, 180, CAST, corr=3)
    trace.launch(200, 240, GEMM)
    trace.launch(245, 250, "other")
    trace.launch(260, 270, CAST)
    trace.launch(300, 340, GEMM)
    trace.launch(310, 320, CAST, stream=8)
    trace.launch(350, 390, CAST)
    trace.launch(400, 440, GEMM)
    trace.launch(100, 110, GEMM, device=1, pid=200)
    trace.launch(120, 130, CAST, device=1, pid=200)
    return Asked(tmp_path, trace)


def test_share_and_times_of_matched_followers(storm: Asked) -> None:
    # GPU 0: 4 GEMMs of 40 ns; two are followed by a cast (20 and 40 ns); all kernels: 160 + 5 + 80 + 5 = 250.
    assert storm.value("kernel_followed_by", GPU0, **ASK) == pytest.approx(2 / 4)
    assert storm.value("matched_time_ns", GPU0, **ASK) == 60
    assert storm.value("matched_time_share", GPU0, **ASK) == pytest.approx(60 / 250)
    assert storm.value("matched_per_first_ratio", GPU0, **ASK) == pytest.approx(60 / 160)
    # Run: 5 GEMMs, 3 matched, 70 ns of 270.
    assert storm.value("kernel_followed_by", **ASK) == pytest.approx(3 / 5)
    assert storm.value("matched_time_share", **ASK) == pytest.approx(70 / 270)
    assert storm.value("kernel_followed_by", Scope(pid=200), **ASK) == 1.0


def test_without_looking_through_the_split_k_reduction_one_pair_less_is_seen(storm: Asked) -> None:
    assert storm.value("kernel_followed_by", GPU0, first="fp8_gemm", then="cast_to_f32") == pytest.approx(
        1 / 4
    )


def test_a_family_without_kernels_has_no_share(storm: Asked) -> None:
    assert "nothing to divide by" in storm.unknown("kernel_followed_by", first="nccl", then="cast_to_f32")
    assert storm.value("matched_time_ns", first="nccl", then="cast_to_f32") == 0


def test_sites_and_claims(storm: Asked) -> None:
    rows = storm.exhibit("pair_sites", GPU0, **ASK)
    assert [(r.start_ns, r.duration_ns, r.stream, r.pid) for r in rows] == [
        (350, 40, 7, 100),
        (160, 20, 7, 100),
    ]
    assert rows[1].name == CAST and rows[1].detail == "after " + GEMM and rows[1].correlation == 3
    assert storm.claim("matched_claim", **ASK) == [(0, [(160, 180), (350, 390)]), (1, [(120, 130)])]


@pytest.mark.parametrize("column", ["streamId", "contextId", "deviceId", "demangledName"])
def test_order_on_a_stream_needs_the_stream(tmp_path: Path, column: str) -> None:
    trace = Trace()
    trace.launch(100, 110, GEMM)
    columns = [column, "shortName"] if column == "demangledName" else [column]
    assert "lacks kernels" in Asked(tmp_path, trace, without={KERNEL: columns}).unknown(
        "kernel_followed_by", **ASK
    )
