"""The small tables of an export: versions, clock, GPUs, processes, diagnostics, program output."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from make_export import Trace, gpid

from diagnose.artifacts import nsys_facts
from diagnose.artifacts.nsys_facts import TraceFacts, dotted_driver, moment_of, normal_bus_id
from diagnose.artifacts.nsys_sqlite import NsysExport
from diagnose.tables import TABLES


def opened(folder: Path, trace: Trace, **how: Any) -> NsysExport:
    trace.tables.setdefault("ANALYSIS_DETAILS", [{"startTime": 0}])
    return NsysExport(trace.write(folder / f"t{len(list(folder.iterdir()))}.sqlite", **how))


def env(**values: Any) -> Trace:
    trace = Trace()
    for name, value in values.items():
        trace.add("TARGET_INFO_SYSTEM_ENV", name=name, value=value)
    return trace


# --- GPUs -----------------------------------------------------------------------------------------


def devices(folder: Path, trace: Trace, **how: Any) -> list[dict[str, Any]]:
    found = nsys_facts.devices(opened(folder, trace, **how))
    for row in found:
        assert list(row) == list(TABLES["trace_devices"])
    return found


def test_the_cuda_ordinal_is_not_the_row_id(tmp_path: Path) -> None:
    """Seen in public exports: id 1 is cuDevice 0 and id 0 is cuDevice 1."""
    trace = Trace()
    trace.gpu("NVIDIA L40S", id=0, cuDevice=1, busLocation="0000:AF:00.0", computeMajor=8, computeMinor=9)
    trace.gpu(
        "NVIDIA A100-PCIE-40GB", id=1, cuDevice=0, busLocation="0000:17:00.0", computeMajor=8, smCount=108
    )
    found = {row["device"]: row for row in devices(tmp_path, trace)}
    assert (found[0]["name"], found[0]["cc"], found[0]["sm_count"]) == ("NVIDIA A100-PCIE-40GB", "8.0", 108)
    assert (found[1]["name"], found[1]["cc"], found[1]["bus_id"]) == ("NVIDIA L40S", "8.9", "0000:af:00.0")
    assert (found[0]["smi_index"], found[1]["smi_index"]) == (0, 1)  # by bus


def test_adapters_without_compute_capability_are_left_out(tmp_path: Path) -> None:
    trace = Trace()
    trace.gpu("Intel(R) UHD Graphics", id=1, computeMajor=0, computeMinor=0, totalMemory=0)
    trace.gpu("Microsoft Basic Render Driver", id=2, computeMajor=None, computeMinor=None, totalMemory=0)
    trace.gpu("NVIDIA GeForce RTX 3060", id=0, computeMajor=8, computeMinor=6)
    assert [(r["device"], r["name"]) for r in devices(tmp_path, trace)] == [(0, "NVIDIA GeForce RTX 3060")]


@pytest.mark.parametrize("adapter", [False, True])
def test_an_unknown_ordinal_is_0_only_when_there_is_one_gpu(tmp_path: Path, adapter: bool) -> None:
    trace = Trace()
    trace.gpu(cuDevice=4294967295)
    if adapter:  # integrated graphics is no second GPU
        trace.gpu("Intel(R) UHD Graphics", id=1, computeMajor=0)
    assert [r["device"] for r in devices(tmp_path, trace)] == [0]
    trace.gpu(cuDevice=4294967295, id=2, busLocation="0000:18:00.0")
    assert [r["device"] for r in devices(tmp_path, trace)] == [None, None]


def old_shape() -> Trace:
    trace = Trace()
    for i, bus in ((0, "0000:41:00.0"), (1, "0000:01:00.0")):
        trace.add("TARGET_INFO_GPU", vmId=1, deviceId=i, name="A100-PCIE-40GB", busLocation=bus, isDiscrete=1)
        trace.add(
            "TARGET_INFO_CUDA_GPU",
            deviceId=i,
            computeCapabilityMajor=8,
            computeCapabilityMinor=i * 6,
            globalMemorySize=42_505_273_344,
        )
    return trace


def test_the_shape_before_2021_5_takes_capability_and_memory_from_its_second_table(tmp_path: Path) -> None:
    found = devices(tmp_path, old_shape())
    assert [(r["device"], r["cc"], r["memory_bytes"]) for r in found] == [
        (0, "8.0", 42_505_273_344),
        (1, "8.6", 42_505_273_344),
    ]
    assert [(r["smi_index"], r["sm_count"], r["mig"]) for r in found] == [(1, None, False), (0, None, False)]


def test_what_the_old_shape_does_not_tell_is_unknown(tmp_path: Path) -> None:
    for how in (
        {"drop": ["TARGET_INFO_CUDA_GPU"]},
        {"without": {"TARGET_INFO_CUDA_GPU": ["computeCapabilityMinor"]}},
        {"without": {"TARGET_INFO_CUDA_GPU": ["deviceId"]}},
    ):
        assert [r["cc"] for r in devices(tmp_path, old_shape(), **how)] == [None, None]
    trace = old_shape()
    trace.tables["TARGET_INFO_CUDA_GPU"][0]["computeCapabilityMajor"] = None
    assert [r["cc"] for r in devices(tmp_path, trace)] == [None, "8.6"]
    memory = devices(tmp_path, old_shape(), without={"TARGET_INFO_CUDA_GPU": ["globalMemorySize"]})
    assert [(r["cc"], r["memory_bytes"]) for r in memory] == [("8.0", None), ("8.6", None)]


def test_mig_empty_cells_and_a_missing_table(tmp_path: Path) -> None:
    trace = Trace()
    trace.gpu("NVIDIA A30 MIG 2g.12gb", smCount=28, totalMemory=0, busLocation=None, computeMinor=None)
    (row,) = devices(tmp_path, trace)
    assert (row["mig"], row["memory_bytes"], row["bus_id"], row["smi_index"], row["cc"]) == (
        True,
        None,
        None,
        None,
        None,
    )
    trace = Trace()
    trace.gpu(None)  # type: ignore[arg-type]
    assert devices(tmp_path, trace)[0]["name"] == ""
    assert devices(tmp_path, Trace()) == []
    assert devices(tmp_path, old_shape(), without={"TARGET_INFO_GPU": ["name"]}) == []
    assert [
        r["bus_id"] for r in devices(tmp_path, old_shape(), without={"TARGET_INFO_GPU": ["busLocation"]})
    ] == [None] * 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("00000000:99:00.0", "0000:99:00.0"),
        ("0000:AF:00.0", "0000:af:00.0"),
        ("17:00.0", "0000:17:00.0"),
        ("00010000:01:00.0", "10000:01:00.0"),
        ("0000:00:00.8", ""),
        ("", ""),
        ("GPU-1234", ""),
        (" 17:00.0 ", "0000:17:00.0"),
    ],
)
def test_bus_ids_have_one_spelling(text: str, expected: str) -> None:
    assert normal_bus_id(text) == expected


# --- versions and options ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("525.125.06", "525.125.06"),
        ("52510517", "525.105.17"),
        ("5154304", "515.43.04"),
        ("47014103", "470.141.03"),
        ("51601", "516.01"),
        ("unknown", "unknown"),
        ("52", "52"),
        ("٥٢٥", "٥٢٥"),
        ("²²²²²", "²²²²²"),
    ],
)
def test_the_driver_version_gets_its_dots(text: str, expected: str) -> None:
    assert dotted_driver(text) == expected


def test_the_system_record_gives_versions_and_nothing_private(tmp_path: Path) -> None:
    trace = env(
        NvDriverVersion="52510517",
        CudaDriverVersion="12020",
        Hostname="secret-host",
        DeviceEnvironment="TOKEN=1",
        KernelVersion="5.15.90.1-microsoft-standard-WSL2",
        TargetInstallDir="/opt/nvidia/nsight-systems/2022.1.3/target",
        GpuInfo=b"\x0a\xff\xfe\x00",
    )
    facts = nsys_facts.trace_facts(opened(tmp_path, trace))
    assert (facts.driver, facts.cuda_driver, facts.wsl) == ("525.105.17", "12.2", True)
    assert facts.product == "2022.1.3"
    assert "secret" not in repr(facts) and "TOKEN" not in repr(facts)
    plain = nsys_facts.trace_facts(opened(tmp_path, env(NvDriverVersion="550.54.15", CudaDriverVersion="n²")))
    assert (plain.driver, plain.cuda_driver, plain.wsl) == ("550.54.15", "", False)
    assert nsys_facts.trace_facts(opened(tmp_path, env(CudaDriverVersion="²"))).cuda_driver == ""


@pytest.mark.parametrize("table", ["META_DATA_EXPORT", "EXPORT_META_DATA"])
def test_versions_come_from_either_table(tmp_path: Path, table: str) -> None:
    trace = Trace()
    for name, value in (
        ("EXPORT_SCHEMA_VERSION", "3.11.1"),
        ("EXPORT_PRODUCT_VERSION", "2024.2.3.38"),
        ("EXPORT_OUTUPT_FILE", "/home/x"),
    ):
        trace.add(table, name=name, value=value)
    how = {"drop": ["META_DATA_EXPORT"]} if table == "EXPORT_META_DATA" else {}
    facts = nsys_facts.trace_facts(opened(tmp_path, trace, **how))
    assert (facts.schema_version, facts.product) == ("3.11.1", "2024.2.3.38")


def test_without_any_version_nothing_is_said(tmp_path: Path) -> None:
    assert nsys_facts.trace_facts(opened(tmp_path, Trace(), drop=["META_DATA_EXPORT"])) == TraceFacts()


def test_capture_options_keep_the_first_of_equal_names_and_both_prefixes(tmp_path: Path) -> None:
    trace = Trace()
    for name, value in (
        ("PROCESS_0:CUDA_GRAPH_TRACE_OPTIONS:MODE", "Graph"),
        ("COLLECT_UVM_CPU_PAGE_FAULTS", "false"),
        ("COLLECT_UVM_CPU_PAGE_FAULTS", "true"),
        ("PROCESS_0:COMMAND", "python secret.py"),
        ("PROCESS_0:USER_NAME", "me"),
    ):
        trace.add("META_DATA_CAPTURE", name=name, value=value)
    facts = nsys_facts.trace_facts(opened(tmp_path, trace))
    assert facts.option("CUDA_GRAPH_TRACE_OPTIONS:MODE") == "Graph"
    assert facts.option("COLLECT_UVM_CPU_PAGE_FAULTS") == "false"
    assert facts.option("PAGE_FAULTS") is None and facts.option("NOTHING") is None
    assert "secret" not in repr(facts) and "USER" not in repr(facts)


# --- clock ------------------------------------------------------------------------------------------


def clock(folder: Path, utc: str | None, local: str | None, start: int = 0, **how: Any) -> TraceFacts:
    trace = Trace()
    trace.add(
        "TARGET_INFO_SESSION_START_TIME", utcEpochNs=1_700_000_000_000_000_000, utcTime=utc, localTime=local
    )
    trace.add("ANALYSIS_DETAILS", startTime=start, stopTime=start + 5)
    return nsys_facts.trace_facts(opened(folder, trace, **how))


def test_the_offset_of_local_time_is_told_by_both_texts(tmp_path: Path) -> None:
    utc = "2023-11-14 22:13:20"
    assert clock(tmp_path, utc, "2023-11-15 03:43:20").utc_offset_s == 5 * 3600 + 1800
    assert clock(tmp_path, utc, "2023-11-14 14:13:20").utc_offset_s == -8 * 3600
    for local in (None, "yesterday", "2023-11-14 22:13:21", "2023-11-16 22:13:20", "2023-13-45 99:00:00"):
        assert clock(tmp_path, utc, local).utc_offset_s is None
    blind = clock(tmp_path, utc, utc, without={"TARGET_INFO_SESSION_START_TIME": ["localTime"]})
    assert (blind.epoch_ns, blind.utc_offset_s) == (1_700_000_000_000_000_000, None)


def test_times_count_from_the_start_of_the_session(tmp_path: Path) -> None:
    # startTime is on another clock and must not move the events.
    facts = clock(tmp_path, None, None, start=9_254_202_000_000_000)
    # 1,700,000,000 s after 1970 is 2023-11-14 22:13:20 UTC.
    assert moment_of(facts, 0) == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert moment_of(facts, 2_000_000_000) == datetime(2023, 11, 14, 22, 13, 22, tzinfo=UTC)
    assert moment_of(facts, 2**63 - 1) is not None
    assert moment_of(TraceFacts(), 0) is None
    assert moment_of(TraceFacts(epoch_ns=2**62), 2**80) is None


# --- processes, diagnostics, output -----------------------------------------------------------------


def test_processes_keep_the_file_name_only(tmp_path: Path) -> None:
    trace = Trace()
    for pid, name in ((7, "/home/someone/bin/python3.11"), (8, "C:\\Users\\someone\\a.exe"), (9, "x" * 200)):
        trace.add("PROCESSES", globalPid=gpid(pid), pid=pid, name=name)
    found = nsys_facts.processes(opened(tmp_path, trace))
    assert [(r["pid"], r["name"]) for r in found] == [(7, "python3.11"), (8, "a.exe"), (9, "x" * 80)]
    assert all(list(r) in (list(TABLES["processes"]), ["global_pid", "pid", "name"]) for r in found)
    assert nsys_facts.processes(opened(tmp_path, trace, without={"PROCESSES": ["globalPid"]})) == []


def test_diagnostics_with_and_without_a_process(tmp_path: Path) -> None:
    trace = Trace()
    for severity, pid, text in (
        (2, gpid(7), "CUDA profiling might have not been started correctly."),
        (3, 0, "b"),
        (None, None, "c"),
    ):
        trace.add("DIAGNOSTIC_EVENT", severity=severity, globalPid=pid, text=text)
    found = nsys_facts.diagnostics(opened(tmp_path, trace))
    assert [(r["severity"], r["pid"], r["text"][:4]) for r in found] == [
        (2, 7, "CUDA"),
        (3, None, "b"),
        (0, None, "c"),
    ]
    blind = nsys_facts.diagnostics(opened(tmp_path, trace, without={"DIAGNOSTIC_EVENT": ["globalPid"]}))
    assert [r["pid"] for r in blind] == [None] * 3
    assert nsys_facts.diagnostics(opened(tmp_path, trace, without={"DIAGNOSTIC_EVENT": ["text"]})) == []


def test_program_output_is_read_through_the_strings(tmp_path: Path) -> None:
    trace = Trace()
    for pid, content in ((7, "Traceback\nboom"), (7, "  \n"), (8, 99_999), (9, None)):
        trace.add("ProcessStreams", globalPid=gpid(pid), filenameId=1, contentId=content)
    assert nsys_facts.process_output(opened(tmp_path, trace)) == [(7, "Traceback\nboom")]
    assert nsys_facts.process_output(opened(tmp_path, trace, drop=["StringIds"])) == []
    assert nsys_facts.process_output(opened(tmp_path, Trace())) == []


def test_a_damaged_small_table_gives_a_problem_not_a_crash(tmp_path: Path) -> None:
    trace = env(NvDriverVersion="550.54.15")
    trace.gpu()
    export = opened(tmp_path, trace)
    with sqlite3.connect(export.path) as connection:
        page = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'TARGET_INFO_GPU'"
        ).fetchone()[0]
    connection.close()
    export.close()
    with export.path.open("r+b") as stream:
        stream.seek((page - 1) * 4096)
        stream.write(b"\xa5" * 4096)
    again = NsysExport(export.path)
    assert nsys_facts.devices(again) == [] == nsys_facts.devices(again)
    assert len(again.problems) == 1 and "half way" in again.problems[0]  # said once
    assert nsys_facts.trace_facts(again).driver == "550.54.15"
