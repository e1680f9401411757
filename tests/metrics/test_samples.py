"""dmon samples: reductions, cells without a value, which GPU, and cutting to the trace window."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from make_export import Trace
from measuring import Asked, told

from diagnose.scope import Scope

GPU0, GPU1 = Scope(device=0), Scope(device=1)


def sample(
    second: float | None, value: float | None, column: str = "sm", gpu: int = 0, **more: Any
) -> dict[str, Any]:
    row = {
        "input": 0,
        "line": 1,
        "gpu": gpu,
        "time": None,
        "second": second,
        "column": column,
        "value": value,
        "unit": "%",
    }
    return row | more


LOG = [sample(t, v) for t, v in ((0, 10), (1, None), (2, 30), (3, 50))] + [sample(2, 999, "fb")]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sample_mean", 30),
        ("sample_max", 50),
        ("sample_min", 10),
        ("sample_range", 40),
        ("sample_count", 3),
        ("sample_duration_s", 3),
        # seconds 0, 2, 3 (mean 5/3), values 10, 30, 50 (mean 30): covariance sum 100/3 + 0 + 80/3 = 60,
        # spread 25/9 + 1/9 + 16/9 = 42/9
        ("sample_slope_per_s", 60 / (42 / 9)),
    ],
)
def test_reductions_leave_out_cells_without_a_value(name: str, expected: float) -> None:
    assert told({"gpu_samples": LOG}, name, column="sm").value == pytest.approx(expected)


def test_no_log_no_column_no_time_are_unknown() -> None:
    assert told({}, "sample_mean", column="sm").why_unknown == "no dmon log"
    assert "column pwr" in told({"gpu_samples": LOG}, "sample_mean", column="pwr").why_unknown
    empty = {"gpu_samples": [sample(0, None)]}
    assert told(empty, "sample_count", column="sm").value is None  # - and N/A are no zeros
    untimed = {"gpu_samples": [sample(None, float(v)) for v in range(5)]}
    for name in ("sample_duration_s", "sample_slope_per_s"):
        assert "no time column" in told(untimed, name, column="sm").why_unknown
    assert (
        told({"gpu_samples": [sample(0, 1), sample(1, 2)]}, "sample_slope_per_s", column="sm").value is None
    )
    at_once = {"gpu_samples": [sample(5, v) for v in (1, 2, 3)]}
    assert told(at_once, "sample_slope_per_s", column="sm").value is None


def test_the_steepest_gpu_counts() -> None:
    rows = [sample(t, 2.0 * t, gpu=0) for t in range(4)] + [sample(t, 7.0 * t, gpu=1) for t in range(4)]
    assert told({"gpu_samples": rows}, "sample_slope_per_s", column="sm").value == pytest.approx(7)


def test_only_samples_inside_the_window_count() -> None:
    rows = [sample(0, 10, inside=False), sample(1, 20, inside=True), sample(2, 40, inside=True)]
    assert told({"gpu_samples": rows}, "sample_mean", column="sm").value == 30
    outside = [sample(0, 10, inside=False)]
    assert told({"gpu_samples": outside}, "sample_mean", column="sm").value is None


def test_the_gpu_of_a_device_is_its_rank_by_bus(tmp_path: Path) -> None:
    trace = Trace()
    trace.launch(0, 10)
    trace.launch(20, 30, device=1)
    trace.gpu(cuDevice=0, busLocation="0000:af:00.0")
    trace.gpu(cuDevice=1, busLocation="0000:17:00.0")
    rows = [sample(0, 11, gpu=0), sample(0, 22, gpu=1)]
    asked = Asked(tmp_path, trace, {"gpu_samples": rows})
    assert asked.value("sample_mean", GPU0, column="sm") == 22  # the later bus
    assert asked.value("sample_mean", GPU1, column="sm") == 11
    assert asked.value("sample_mean", column="sm") == 16.5
    blind = Asked(tmp_path, trace, {"gpu_samples": rows}, drop=["TARGET_INFO_GPU"])
    assert "cannot be told" in blind.unknown("sample_mean", GPU0, column="sm")


def test_one_gpu_in_both_needs_no_bus(tmp_path: Path) -> None:
    trace = Trace()
    trace.launch(0, 10)
    asked = Asked(tmp_path, trace, {"gpu_samples": [sample(0, 11, gpu=5)]})
    assert asked.value("sample_mean", GPU0, column="sm") == 11
