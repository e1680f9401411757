"""Copy metrics on hand-made traces; the arithmetic stands beside each value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from make_export import MEMCPY, Trace
from measuring import Asked

from diagnose.scope import Scope

GPU0, GPU1 = Scope(device=0), Scope(device=1)


@pytest.fixture
def offload(tmp_path: Path) -> Asked:
    """Kernels 200…300, 400…500 on GPU 0 and 0…1000 on GPU 1. HtoD on GPU 0: 100…150 (500 B, pageable),
    280…340 (600 B, pinned), 320…360 (400 B, pinned), 600…700 (10 B). DtoH 420…430. W: -1 … 1000 (a call)."""
    trace = Trace()
    trace.launch(200, 300)
    trace.launch(400, 500)
    trace.launch(0, 1000, device=1, pid=200)
    trace.copy(100, 150, 500, src=0)
    trace.copy(280, 340, 600)
    trace.copy(320, 360, 400, stream=9, corr=44)
    trace.copy(600, 700, 10)
    trace.copy(420, 430, 70, 2, src=2, dst=0)
    trace.copy(500, 510, 90, 8, src=2, dst=2)
    return Asked(tmp_path, trace)


def test_counts_bytes_times_and_rates(offload: Asked) -> None:
    v = offload.value
    assert v("copy_count") == 4 and v("copy_count", kind="dtoh") == 1 and v("copy_count", kind="all") == 6
    assert v("copy_count", min_bytes=400) == 3 and v("copy_count", min_bytes=401) == 2
    assert v("copy_bytes") == 1510 and v("copy_bytes", min_bytes=400) == 1500
    assert v("copy_time_ns") == 50 + 60 + 40 + 100
    # in time: 100…150, 280…360, 600…700 = 230 ns
    assert v("copy_rate_gb_s") == pytest.approx(1510 / 230)
    assert v("copy_busy_share") == pytest.approx(230 / 1001)
    assert v("copy_count", GPU1) == 0.0 and v("copy_bytes", Scope(pid=200)) == 0.0
    assert offload.unknown("copy_rate_gb_s", GPU1) == "there is no such copy"


def test_exposure_and_overlap_with_kernels_of_the_device(offload: Asked) -> None:
    v = offload.value
    # exposed on GPU 0: 50 + (300…360) 60 + 100; overlap 20 of min(230, 200)
    assert v("copy_exposed_ns", GPU0) == 210
    assert v("copy_overlap_ratio", GPU0) == pytest.approx(20 / 200)
    assert v("copy_exposed_ns", GPU0, min_bytes=400) == 110
    assert v("copy_overlap_ratio", GPU0, min_bytes=400) == pytest.approx(20 / 130)
    assert offload.claim("copy_exposed_claim", GPU0, min_bytes=400) == [(0, [(100, 150), (300, 360)])]
    assert offload.claim("copy_exposed_claim", min_bytes=400) == [(0, [(100, 150), (300, 360)]), (1, [])]


def test_kernels_of_another_process_on_the_device_count_as_overlap(tmp_path: Path) -> None:
    trace = Trace()
    trace.launch(100, 200, pid=200)
    trace.launch(900, 901)
    trace.copy(150, 250)
    asked = Asked(tmp_path, trace)
    assert asked.value("copy_exposed_ns", GPU0) == 50
    assert asked.value("copy_exposed_ns", Scope(0, 100)) == 50  # the device was not idle
    assert asked.value("copy_exposed_ns", Scope(pid=100)) == 100


def test_copies_before_the_first_kernel_are_a_model_load(offload: Asked) -> None:
    # GPU 0: first kernel at 200. 50 of the 230 ns with a copy lie before.
    assert offload.value("copy_before_kernels_share", GPU0) == pytest.approx(50 / 230)
    assert offload.value("copy_before_kernels_share", GPU0, kind="dtoh") == 0.0
    assert "nothing to divide by" in offload.unknown("copy_before_kernels_share", GPU1)


def test_gaps_between_copies_with_a_kernel_in_them(offload: Asked) -> None:
    # gaps of the union on GPU 0: 150…280 (kernel 200…300), 360…600 (kernel 400…500): both
    assert offload.value("copy_gaps_with_kernels", GPU0) == 1.0
    assert (
        offload.unknown("copy_gaps_with_kernels", GPU0, kind="dtoh") == "there are fewer than two such copies"
    )


def test_a_kernel_that_only_touches_a_gap_does_not_run_in_it(tmp_path: Path) -> None:
    trace = Trace()
    trace.launch(50, 100)
    trace.launch(200, 250)
    for start in (
        90,
        190,
        290,
    ):  # gaps 100…190 (kernel ends at its edge), 200…290 (kernel starts at its edge)
        trace.copy(start, start + 10)
    assert Asked(tmp_path, trace).value("copy_gaps_with_kernels") == pytest.approx(1 / 2)


def test_host_memory_kinds(offload: Asked, tmp_path: Path) -> None:
    # HtoD: pageable 50 of 250 ns, pinned 200; DtoH: all pageable (the destination tells)
    assert offload.value("copy_pageable_share") == pytest.approx(50 / 250)
    assert offload.value("copy_pinned_share") == pytest.approx(200 / 250)
    assert offload.value("copy_pageable_share", kind="dtoh") == 1.0
    assert offload.value("copy_pageable_share", kind="dtod") == 0.0
    for src in (None, 7):  # NULL, and "unknown" in the enumeration
        trace = Trace()
        trace.launch(0, 5)
        trace.copy(10, 20, src=0)
        trace.copy(30, 40, src=src)
        assert "memory kind" in Asked(tmp_path, trace).unknown("copy_pageable_share")


@pytest.mark.parametrize(
    ("column", "name", "params"),
    [
        ("copyKind", "copy_count", {}),
        ("bytes", "copy_bytes", {}),
        ("bytes", "copy_count", {"min_bytes": 1}),
        ("srcKind", "copy_pageable_share", {}),
        ("dstKind", "copy_pinned_share", {"kind": "dtoh"}),
    ],
)
def test_a_missing_column_makes_what_needs_it_unknown(
    tmp_path: Path, column: str, name: str, params: dict[str, Any]
) -> None:
    trace = Trace()
    trace.launch(0, 5)
    trace.copy(10, 20)
    asked = Asked(tmp_path, trace, without={MEMCPY: [column]})
    assert "lacks copies" in asked.unknown(name, **params)
    if column != "copyKind":
        assert asked.value("copy_count") == 1


def test_the_longest_copies_as_proof(offload: Asked) -> None:
    rows = offload.exhibit("top_copies", limit=3)
    assert [(r.start_ns, r.duration_ns, r.device, r.pid) for r in rows] == [
        (600, 100, 0, 100),
        (280, 60, 0, 100),
        (100, 50, 0, 100),
    ]
    assert rows[2].detail == "500 bytes, pageable, 10.00 GB/s" and rows[2].correlation is None
    assert offload.exhibit("top_copies", limit=9, min_bytes=400)[2].correlation == 44
