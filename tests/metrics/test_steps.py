"""Steps from NVTX ranges: placed on the GPU by their first launch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from make_export import LAUNCH, RUNTIME, Trace, gtid
from measuring import Asked, name_in

from diagnose.scope import Scope

GEMM, CAST = name_in("fp8_gemm"), name_in("cast_to_f32")
GPU0 = Scope(device=0)
PAIR: dict[str, Any] = {"first": "fp8_gemm", "then": "cast_to_f32"}


def training(casts: list[int], *, range_type: int = 59, id_text: bool = False, **kernel: Any) -> Trace:
    """One range a step, 1 µs apart. Each launches a GEMM of 100 ns and a cast of `casts[i]` ns, which run
    400 ns after the range began: step i is 100 + 10 + casts[i] ns long on the GPU."""
    trace = Trace()
    for i, cast in enumerate(casts):
        at = 1000 * i
        text, text_id = (None, f"step {i}") if id_text else (f"step {i}", None)
        trace.add(
            "NVTX_EVENTS",
            start=at,
            end=at + 300,
            eventType=range_type,
            globalTid=gtid(100, 1),
            text=text,
            textId=text_id,
        )
        trace.launch(at + 400, at + 500, GEMM, at=at + 10, corr=10 * i + 1, **kernel)
        trace.launch(at + 510, at + 510 + cast, CAST, at=at + 20, corr=10 * i + 2, **kernel)
    return trace


CASTS = [50] * 20 + [90] * 5


@pytest.mark.parametrize("range_type", [59, 60])
@pytest.mark.parametrize("id_text", [False, True])
def test_steps_are_found_and_timed_on_the_gpu(tmp_path: Path, range_type: int, id_text: bool) -> None:
    asked = Asked(tmp_path, training(CASTS, range_type=range_type, id_text=id_text))
    # The last step has no next one to end before: 24 steps. Digits in names do not tell ranges apart.
    assert asked.value("step_count", GPU0, first="fp8_gemm") == 24
    times = [110 + c for c in CASTS[:24]]
    expected = np.percentile(times, 99) / np.percentile(times, 50)
    assert asked.value("step_p99_ratio", GPU0, first="fp8_gemm") == pytest.approx(expected)
    # Step times vary only by their casts: correlation 1.
    assert asked.value("step_time_correlation", GPU0, **PAIR) == pytest.approx(1.0)


def test_times_that_do_not_vary_have_no_correlation(tmp_path: Path) -> None:
    assert "do not vary" in Asked(tmp_path, training([50] * 25)).unknown(
        "step_time_correlation", GPU0, **PAIR
    )


def test_too_few_or_no_ranges_are_unknown(tmp_path: Path) -> None:
    assert "at least 20" in Asked(tmp_path, training(CASTS[:19])).unknown(
        "step_count", GPU0, first="fp8_gemm"
    )
    assert "no NVTX ranges" in Asked(tmp_path, training(CASTS), drop=["NVTX_EVENTS"]).unknown(
        "step_count", GPU0, first="fp8_gemm"
    )
    for column in ("end", "eventType", "globalTid"):
        asked = Asked(tmp_path, training(CASTS), without={"NVTX_EVENTS": [column]})
        assert asked.unknown("step_count", GPU0, first="fp8_gemm")
    assert "no kernel of the family" in Asked(tmp_path, training(CASTS)).unknown(
        "step_count", GPU0, first="nccl"
    )
    assert "too few steps have a kernel" in Asked(tmp_path, _ranges_without_launches()).unknown(
        "step_count", GPU0, first="fp8_gemm"
    )


def _ranges_without_launches() -> Trace:
    trace = training(CASTS)
    for row in trace.tables["NVTX_EVENTS"]:
        row["globalTid"] = gtid(100, 2)  # a thread that launches nothing
    return trace


def test_ranges_that_are_no_steps(tmp_path: Path) -> None:
    trace = training(CASTS)
    nvtx = trace.tables["NVTX_EVENTS"]
    base = {"eventType": 59, "globalTid": gtid(100, 1), "textId": None}
    nvtx += [base | {"start": 40 * i, "end": 40 * i + 400, "text": "overlapping"} for i in range(60)]
    nvtx += [base | {"start": 1000 * i, "end": None, "text": "open"} for i in range(60)]
    nvtx += [base | {"start": 1000 * i, "end": 1000 * i + 999, "text": None} for i in range(60)]
    nvtx += [
        base | {"start": 1000 * i, "end": 1000 * i + 999, "eventType": 34, "text": "marks"} for i in range(60)
    ]
    assert Asked(tmp_path, trace).value("step_count", GPU0, first="fp8_gemm") == 24


def test_launches_of_another_thread_or_process_do_not_place_a_step(tmp_path: Path) -> None:
    trace = training(CASTS)
    for i in range(len(CASTS)):
        # Ids repeat in the other process, whose kernels start earlier.
        trace.api(1000 * i + 1, 1000 * i + 2, LAUNCH, pid=200, corr=10 * i + 1)
        trace.kernel(1000 * i + 5, 1000 * i + 6, GEMM, pid=200, corr=10 * i + 1, stream=9)
        trace.api(1000 * i + 3, 1000 * i + 4, LAUNCH, tid=2, corr=10 * i + 3)
        trace.kernel(1000 * i + 20, 1000 * i + 21, GEMM, corr=10 * i + 3, stream=8)
    asked = Asked(tmp_path, trace)
    # A step begins at 400 and ends with the last kernel before the next one: at 1,020 + 1.
    assert asked.value("step_count", Scope(0), first="fp8_gemm") == 24
    fact = asked.fact("step_p99_ratio", Scope(0), first="fp8_gemm")
    assert fact.denominator == pytest.approx(1021 - 400)


def test_without_correlation_ids_steps_cannot_be_placed(tmp_path: Path) -> None:
    asked = Asked(tmp_path, training(CASTS), without={RUNTIME: ["correlationId"]})
    assert "lacks api_calls.correlation" in asked.unknown("step_count", GPU0, first="fp8_gemm")
