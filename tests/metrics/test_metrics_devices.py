"""Identity of the GPUs: the ones the trace used, else all that any artifact shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from make_export import Trace
from measuring import Asked, told

from diagnose.scope import Scope

GPU0, GPU1 = Scope(device=0), Scope(device=1)


def text(name: str | None = "NVIDIA A100-SXM4-40GB", **more: Any) -> dict[str, Any]:
    row = {
        "input": 0,
        "line": 1,
        "gpu": 0,
        "name": name,
        "bus_id": None,
        "cc": None,
        "memory_bytes": None,
        "driver": None,
    }
    return row | more


def mixed(tmp_path: Path, **how: Any) -> Asked:
    """An H100 that runs the kernel, and a T4 that is only present. TARGET_INFO_GPU.id is not the ordinal."""
    trace = Trace()
    trace.launch(0, 10)
    trace.gpu("Tesla T4", id=0, cuDevice=1, computeMajor=7, computeMinor=5, totalMemory=15_000_000_000)
    trace.gpu("NVIDIA H100 80GB HBM3", id=1, cuDevice=0, busLocation="0000:af:00.0")
    trace.add("TARGET_INFO_SYSTEM_ENV", name="NvDriverVersion", value="52510517")
    return Asked(tmp_path, trace, **how)


def test_present_is_not_used(tmp_path: Path) -> None:
    asked = mixed(tmp_path)
    assert asked.value("compute_capability_max") == 9.0 == asked.value("compute_capability_min")
    assert asked.value("compute_capability_max", GPU1) == 7.5
    assert asked.value("device_name") == "NVIDIA H100 80GB HBM3"
    assert asked.value("device_form") == "SXM"
    assert asked.value("memory_total_bytes") == 85_000_000_000
    assert asked.value("memory_total_bytes", GPU1) == 15_000_000_000
    assert asked.value("device_count") == 2.0
    assert asked.value("driver_branch") == 525.0


def test_gpus_that_differ_are_mixed_and_an_unknown_one_makes_it_unknown(tmp_path: Path) -> None:
    trace = Trace()
    trace.launch(0, 10)
    trace.launch(20, 30, device=1)
    trace.gpu("NVIDIA A100-SXM4-40GB", cuDevice=0, computeMajor=8)
    trace.gpu("NVIDIA A100-PCIE-40GB", cuDevice=1, computeMajor=8)
    asked = Asked(tmp_path, trace)
    assert asked.value("device_form") == "mixed" == asked.value("device_name")
    assert (asked.value("device_form", GPU0), asked.value("device_form", GPU1)) == ("SXM", "PCIe")
    trace.tables["TARGET_INFO_GPU"][1]["name"] = "NVIDIA Future Board 9000"
    asked = Asked(tmp_path, trace)
    assert asked.unknown("device_form") == "the form factor is not known"
    assert asked.unknown("device_nvlink_kind")


def test_the_gpu_that_ran_is_not_guessed(tmp_path: Path) -> None:
    trace = Trace()
    trace.launch(0, 10, device=3)
    trace.gpu(cuDevice=0)
    asked = Asked(tmp_path, trace)
    assert asked.unknown("compute_capability_max") == "no artifact tells which GPU ran"
    assert asked.unknown("memory_total_bytes") and asked.unknown("device_name")
    assert asked.value("compute_capability_max", GPU0) == 9.0


def test_a_name_tells_the_capability_where_the_export_does_not(tmp_path: Path) -> None:
    trace = Trace()
    trace.launch(0, 10)
    trace.add(
        "TARGET_INFO_GPU", vmId=1, deviceId=0, name="A100-PCIE-40GB", busLocation="0000:01:00.0", isDiscrete=1
    )
    assert Asked(tmp_path, trace).value("compute_capability_max") == 8.0


def test_without_a_trace_all_gpus_of_the_text_count() -> None:
    rows = [text(cc="8.0"), text("NVIDIA H100 PCIe", cc="9.0", gpu=1, memory_bytes=80, driver="550.54.15")]
    tables = {"devices": rows}
    assert told(tables, "compute_capability_max").value == 9.0
    assert told(tables, "compute_capability_min").value == 8.0
    assert told(tables, "device_form").value == "mixed"
    assert told(tables, "device_count").value == 2.0
    assert told(tables, "memory_total_bytes").value == 80.0
    assert told(tables, "driver_branch").value == 550.0
    # An ordinal is not an nvidia-smi index: only equal names settle it.
    assert told(tables, "compute_capability_max", GPU0).value is None
    same = {"devices": [text(cc="8.0"), text(cc="8.0", gpu=1)]}
    assert told(same, "compute_capability_max", GPU0).value == 8.0
    assert told({"devices": [text("Unheard-of GPU")]}, "compute_capability_max").value is None


def test_nothing_and_contradictions_are_unknown() -> None:
    for name in (
        "compute_capability_max",
        "device_form",
        "device_nvlink_kind",
        "device_count",
        "memory_total_bytes",
        "driver_branch",
    ):
        assert told({}, name).value is None
    two = {"devices": [text(driver="550.54.15"), text(driver="535.1")]}
    assert told(two, "driver_branch").value is None
    same = {"devices": [text(driver="550.54.15"), text(driver="550.90")]}
    assert told(same, "driver_branch").value == 550.0


def test_device_count_is_the_largest_any_artifact_gives() -> None:
    tables = {
        "gpu_pairs": [{"gpu_a": 0, "gpu_b": 1}, {"gpu_a": 2, "gpu_b": 3}],
        "nvlinks": [{"gpu": 0}, {"gpu": None}],
        "devices": [text(gpu=0), text(gpu=0)],
    }
    assert told(tables, "device_count").value == 4.0
