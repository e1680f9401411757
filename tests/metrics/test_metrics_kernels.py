"""Kernel metrics on hand-made traces; the arithmetic stands beside each value."""

from __future__ import annotations

from pathlib import Path

import pytest
from make_export import Trace
from measuring import Asked, name_in

from diagnose.metrics.registry import known, ratio, unknown
from diagnose.scope import Scope

GEMM, CAST, SIMT, NCCL = (name_in(f) for f in ("fp8_gemm", "cast_to_f32", "fp32_simt_gemm", "nccl"))
GPU0, GPU1 = Scope(device=0), Scope(device=1)


@pytest.fixture
def two_gpus(tmp_path: Path) -> Asked:
    """GPU 0, process 100: GEMM 100…200, cast 180…240 (another stream), GEMM 300…330, other 400…410.
    GPU 1, process 200: GEMM 100…150. First call at 99, last moment 500 (a sync)."""
    trace = Trace()
    trace.launch(100, 200, GEMM)
    trace.launch(180, 240, CAST, stream=8)
    trace.launch(300, 330, GEMM)
    trace.launch(400, 410, "my_kernel")
    trace.launch(100, 150, GEMM, device=1, pid=200)
    trace.api(450, 500, "cudaDeviceSynchronize_v3020")
    return Asked(tmp_path, trace)


def test_counts_times_and_shares(two_gpus: Asked) -> None:
    v = two_gpus.value
    assert v("kernel_count") == 5 and v("kernel_count", GPU0) == 4 and v("kernel_count", Scope(1, 200)) == 1
    assert v("kernel_count", family="fp8_gemm") == 3 and v("kernel_count", GPU0, family="fp8_gemm") == 2
    assert v("kernel_time_ns", GPU0) == 100 + 60 + 30 + 10
    assert v("kernel_time_ns", family="fp8_gemm") == 100 + 30 + 50
    assert v("kernel_time_share", GPU0, family="fp8_gemm") == pytest.approx(130 / 200)
    assert v("kernel_time_share", Scope(pid=200), family="fp8_gemm") == 1.0
    assert v("kernel_max_ns", family="fp8_gemm") == 100 and v("kernel_max_ns", GPU1) == 50
    assert v("kernel_max_ns", family="nccl") == 0 == v("kernel_count", family="nccl")
    assert v("kernel_count", family="fp8_gemm,cast_to_f32") == 4
    assert v("kernel_count", GPU0, family="class:unknown") == 1


def test_units_sources_and_parts_are_given(two_gpus: Asked) -> None:
    fact = two_gpus.fact("kernel_time_share", GPU0, family="fp8_gemm")
    assert (fact.unit, fact.metric, fact.parts_unit) == ("ratio", "kernel_time_share", "ns")
    assert (fact.numerator, fact.denominator, fact.source) == (130, 200, "kernels, GPU 0")
    assert two_gpus.fact("kernel_count").unit == "count"
    assert two_gpus.fact("kernel_count", Scope(0, 100)).source == "kernels, GPU 0, process 100"


def test_busy_share_is_a_union_over_the_window(two_gpus: Asked) -> None:
    # W = 99 … 500. GPU 0: 100…240, 300…330, 400…410 = 180. GPU 1: 50. Run: the union, 180.
    assert two_gpus.value("window_ns") == 401
    assert two_gpus.value("kernel_busy_share", GPU0) == pytest.approx(180 / 401)
    assert two_gpus.value("kernel_busy_share", GPU1) == pytest.approx(50 / 401)
    assert two_gpus.value("kernel_busy_share") == pytest.approx(180 / 401)


def test_the_last_kernel_and_the_tail_after_a_family(two_gpus: Asked) -> None:
    v = two_gpus.value
    assert v("family_is_last", GPU0, family="fp8_gemm") is False  # my_kernel starts at 400
    assert v("family_is_last", GPU1, family="fp8_gemm") is True
    assert v("family_is_last", family="nccl") is False
    assert v("tail_after_family_ns", GPU0, family="fp8_gemm") == 500 - 330
    assert v("tail_after_family_ns", GPU0, family="cast_to_f32") == 500 - 240
    assert two_gpus.unknown("tail_after_family_ns", family="nccl") == "the family has no kernel"


def test_exposed_time_is_where_only_the_family_runs(tmp_path: Path) -> None:
    """NCCL 100…200 while other kernels run 120…150 (GPU 0); 100…140 alone on GPU 1."""
    trace = Trace()
    trace.launch(100, 200, NCCL, stream=9)
    trace.launch(120, 150, SIMT)
    trace.launch(100, 140, NCCL, device=1, stream=9)
    asked = Asked(tmp_path, trace)
    assert asked.value("family_exposed_ns", GPU0, family="nccl") == 20 + 50
    assert asked.value("family_exposed_ns", GPU1, family="nccl") == 40
    assert asked.value("family_exposed_ns", family="nccl") == 70  # the largest, not the sum
    assert asked.claim("family_exposed_claim", family="nccl") == [
        (0, [(100, 120), (150, 200)]),
        (1, [(100, 140)]),
    ]


def test_output_types_count_only_names_that_tell_them(tmp_path: Path) -> None:
    trace = Trace()
    trace.launch(
        100, 110, "sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize128x128x128"
    )  # E4M3 in, BF16 out
    trace.launch(200, 230, "ampere_sgemm_128x64_tn")
    trace.launch(300, 400, "my_kernel")
    asked = Asked(tmp_path, trace)
    assert asked.value("output_dtype_share", family="", dtype="f32") == pytest.approx(30 / 40)
    assert asked.value("output_dtype_share", family="", dtype="bf16") == pytest.approx(10 / 40)
    assert "tells its output type" in asked.unknown("output_dtype_share", family="class:unknown", dtype="f32")


def test_top_kernels_are_the_longest_of_the_scope(two_gpus: Asked) -> None:
    rows = two_gpus.exhibit("top_kernels", family="fp8_gemm")
    assert [(r.start_ns, r.duration_ns, r.device, r.pid) for r in rows] == [
        (100, 100, 0, 100),
        (100, 50, 1, 200),
        (300, 30, 0, 100),
    ]
    assert rows[0].name == GEMM and rows[0].stream == 7 and rows[0].correlation == 1
    assert len(two_gpus.exhibit("top_kernels", limit=1, family="fp8_gemm")) == 1
    assert [r.device for r in two_gpus.exhibit("top_kernels", GPU1, family="fp8_gemm")] == [1]


def test_values_that_are_no_numbers_are_unknown() -> None:
    assert known(float("nan")).value is None and known(float("inf")).value is None
    assert known(True).value is True and known("x").value == "x"
    assert ratio(1.0, 0.0, "here", "ns").value is None
    assert ratio(1.0, -1.0, "here", "ns").value is None
    fact = ratio(3.0, 4.0, "here", "ns", slack=2.0)
    assert (fact.value, fact.low, fact.high) == (0.75, 0.25, 0.75)
    assert unknown("why", "a", "b").missing == ("a", "b")
