"""`--query-gpu … --format=csv`: headers, units, series, and rows that nobody may read."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from diagnose.artifacts.paste import clean, split
from diagnose.artifacts.query_fields import header_of
from diagnose.artifacts.query_gpu import READERS
from diagnose.artifacts.unread import TextParsed
from diagnose.tables import TABLES

[READER] = READERS
MIB = 1024 * 1024
LOOP = (
    "timestamp, index, name, utilization.gpu [%], utilization.memory [%], memory.used [MiB], power.draw [W],"
    " temperature.gpu, clocks.current.sm [MHz], clocks.current.memory [MHz]\n"
)
ROW = "2024/01/16 14:44:{:02d}.500, {}, NVIDIA L40S, {} %, 3 %, {} MiB, 201.34 W, 61, 2520 MHz, 9001 MHz\n"


def read(text: str) -> TextParsed:
    found = [READER.read(s) for s in split(clean(text), 3) if READER.sniff(s)]
    assert len(found) == 1
    for name, rows in found[0].tables.items():
        assert all(list(row) == list(TABLES[name]) for row in rows), name
    return found[0]


def told(parsed: TextParsed, table: str, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[c] for c in columns) for row in parsed.tables.get(table, [])]


def test_series_with_time_stamps() -> None:
    text = LOOP + "".join(ROW.format(s, gpu, 40 + s, 100 * s) for s in range(3) for gpu in (0, 1))
    parsed = read(text)
    rows = [r for r in parsed.tables["gpu_samples"] if r["gpu"] == 1 and r["line"] == 5]
    assert {r["column"]: (r["value"], r["unit"]) for r in rows} == {
        "sm": (41, "%"), "mem": (3, "%"), "fb": (100, "MiB"), "pwr": (201.34, "W"), "gtemp": (61, "C"),
        "pclk": (2520, "MHz"), "mclk": (9001, "MHz"),
    }  # fmt: skip
    want = datetime.datetime(2024, 1, 16, 14, 44, 1, 500000, tzinfo=datetime.UTC).timestamp()
    assert {r["time"] for r in rows} == {want} and {r["second"] for r in rows} == {1.0}
    assert parsed.rows == 6 and parsed.problems == [] and "gpu_readings" not in parsed.tables


def test_one_sweep_is_a_reading() -> None:
    parsed = read(LOOP + ROW.format(0, 0, 100, 7))
    assert "gpu_samples" not in parsed.tables
    assert ("sm", 100.0) in told(parsed, "gpu_readings", "column", "value")


def test_header_again_in_a_loop_and_with_other_columns() -> None:
    text = "".join(f"index, memory.used [MiB]\n0, {n} MiB\n" for n in (1, 2, 3)) + "index, pstate\n0, P0\n"
    assert [v for (v,) in told(read(text), "gpu_samples", "value")] == [1, 2, 3]


def test_nounits_takes_the_unit_of_the_header() -> None:
    parsed = read("index, memory.used [MiB], utilization.gpu [%]\n0, 15240, 46\n")
    assert told(parsed, "gpu_readings", "column", "value") == [("sm", 46), ("fb", 15240)]


def test_number_without_any_unit_is_not_read() -> None:
    parsed = read("index, memory.used, utilization.gpu\n0, 15240, 46 %\n")
    assert told(parsed, "gpu_readings", "column", "value") == [("sm", 46)]
    assert parsed.problems == ["line 2: memory.used has no unit, in the header or the cell: not read"]


def test_other_unit_than_the_header_is_no_value() -> None:
    parsed = read("index, memory.used [MiB]\n0, 15 GiB\n")
    assert told(parsed, "gpu_readings", "column", "value") == [("fb", None)]


@pytest.mark.parametrize(
    "cell",
    ["[N/A]", "N/A", "[Not Supported]", "[Requested functionality has been deprecated]", "-", ""],
)
def test_cells_that_are_no_values(cell: str) -> None:
    parsed = read(f"index, name, utilization.gpu [%], pcie.link.gen.hostmax\n0, NVIDIA L4, {cell}, {cell}\n")
    assert told(parsed, "gpu_readings", "column", "value") == [("sm", None)]
    assert told(parsed, "pcie_links", "gen_host_max", "loaded") == [(None, None)]
    assert parsed.problems == []


def test_errors_are_named() -> None:
    text = "index, utilization.gpu [%]\n0, 5 %\n1, [Unknown Error]\n2, [GPU requires reset]\n"
    parsed = read(text)
    assert told(parsed, "gpu_readings", "gpu", "value") == [(0, 5), (1, None), (2, None)]
    assert parsed.problems == [
        "line 3: nvidia-smi says Unknown Error: no value",
        "line 4: nvidia-smi says GPU requires reset: no value",
    ]


def test_rows_without_a_header_are_refused() -> None:
    parsed = read("0, NVIDIA A100-PCIE-40GB, 0, 1423\n1, NVIDIA A100-PCIE-40GB, [Unknown Error], 3\n")
    assert parsed.tables == {} and parsed.rows == 0
    assert any("2 data rows of 4 cells without a header" in p for p in parsed.problems)
    assert any("line 2: nvidia-smi says Unknown Error" in p for p in parsed.problems)
    stamped = read("2024/01/16 14:44:16.977, P8, 25, 0 %\n")
    assert stamped.tables == {} and "1 data rows of 4 cells" in stamped.problems[0]


def test_without_index_nobody_tells_the_gpu() -> None:
    text = "timestamp, utilization.gpu [%]\n" + "2024/01/16 14:44:16.977, 5 %\n" * 4
    parsed = read(text)
    assert {gpu for (gpu,) in told(parsed, "gpu_readings", "gpu")} == {None}
    assert "gpu_samples" not in parsed.tables
    assert parsed.problems == [
        "lines 2, 3, 4, 5: no index column: which GPU of nvidia-smi a row is of is not told"
    ]
    assert told(read("count, pci.bus_id\n1, 00000000:0A:00.0\n"), "devices", "gpu", "bus_id") == [
        (0, "0000:0a:00.0")
    ]


def test_identity_link_clocks_and_fabric() -> None:
    fields = (
        "index, name, uuid, pci.bus_id, pci.device_id, driver_version, compute_cap, memory.total [MiB],"
        " pcie.link.gen.current, pcie.link.gen.max, pcie.link.gen.gpumax, pcie.link.gen.hostmax,"
        " pcie.link.width.current, pcie.link.width.max, utilization.gpu [%], clocks.sm [MHz],"
        " clocks.max.sm [MHz], fabric.state, fabric.status, mig.mode.current, ecc.mode.current"
    )
    row = (
        "3, NVIDIA H100 80GB HBM3, GPU-9, 00000000:1B:00.0, 0x233010DE, 550.54.15, 9.0, 81559 MiB, 5, 5, 5,"
        " [N/A], 8, 16, 97 %, 1200 MHz, 1980 MHz, Completed, Success, Disabled, Enabled"
    )
    parsed = read(fields + "\n" + row + "\n")
    [device] = parsed.tables["devices"]
    assert device == dict.fromkeys(TABLES["devices"]) | {
        "input": 3, "line": 2, "gpu": 3, "name": "NVIDIA H100 80GB HBM3", "bus_id": "0000:1b:00.0",
        "cc": "9.0", "memory_bytes": 81559 * MIB, "driver": "550.54.15", "device_id": "10de:2330",
        "uuid_seen": True, "mig": False, "ecc": True,
    }  # fmt: skip
    columns = ("gen_current", "gen_gpu_max", "gen_host_max", "width_current", "loaded")
    assert told(parsed, "pcie_links", *columns) == [(5, 5, None, 8, True)]
    assert told(parsed, "clocks", "name", "current_mhz", "max_mhz") == [("sm", 1200, 1980)]
    assert told(parsed, "fabric", "state", "status", "clique") == [("Completed", "Success", None)]
    assert told(parsed, "software", "name", "version") == [("driver", "550.54.15")]


def test_event_flags_mask_and_counters() -> None:
    flags = read(
        "index, clocks_throttle_reasons.sw_power_cap, clocks_event_reasons_counters.sw_power_cap [us]\n"
        "0, Active, 204642816 us\n"
    )
    [(reason, active, counter)] = told(flags, "clock_events", "reason", "active", "counter_us")
    assert (reason, active, counter) == ("sw_power_cap", True, 204642816)
    mask = read(
        "index, clocks_event_reasons.active, clocks_event_reasons.supported\n"
        "0, 0x0000000000000044, 0x000000000000007F\n"
    )
    decoded = dict(told(mask, "clock_events", "reason", "active"))
    assert {name for name, value in decoded.items() if value} == {"sw_power_cap", "hw_thermal_slowdown"}
    assert decoded["hw_power_brake_slowdown"] is None and decoded["gpu_idle"] is False


def test_compute_apps() -> None:
    text = (
        "gpu_name, gpu_bus_id, gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n"
        "NVIDIA H100, 00000000:00:09.0, GPU-1, 11327, /opt/a, b, c, 2566 MiB\n"
        "NVIDIA H100, 00000000:00:09.0, GPU-1, 11328, python, [N/A]\n"
    )
    parsed = read(text)
    assert told(parsed, "gpu_processes", "gpu", "bus_id", "pid", "memory_bytes", "kind") == [
        (None, "0000:00:09.0", 11327, 2566 * MIB, None),
        (None, "0000:00:09.0", 11328, None, None),
    ]
    assert len(parsed.tables["devices"]) == 1 and parsed.problems == []
    assert "python" not in str(parsed.tables)


def test_cut_rows_and_cut_last_cell() -> None:
    text = "index, memory.used [MiB], memory.free [MiB]\n0, 5 MiB, 7 MiB\n0, 6 M\n0, 6 MiB, 12"
    parsed = read(text)
    assert told(parsed, "gpu_readings", "line", "column", "value") == [
        (2, "fb", 5), (2, "fb_free", 7), (4, "fb", 6), (4, "fb_free", None),
    ]  # fmt: skip
    assert len(parsed.problems) == 2
    assert "line 3: cut or malformed row" in parsed.problems[0] and "line 4" in parsed.problems[1]
    whole = read("index, memory.used [MiB]\n0, 5 MiB")
    assert told(whole, "gpu_readings", "value") == [(5,)] and whole.problems == []


def test_other_lines_are_left_to_the_patterns() -> None:
    parsed = read("index, memory.used [MiB]\n0, 5 MiB\nRuntimeError: no\n")
    assert [line.text for line in parsed.unread] == ["RuntimeError: no"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("gpu_name, clocks.sm [MHz]", ("name", "clocks.current.sm")),
        ("memory.used [MiB]", ("memory.used",)),
        ("memory.used", None),
        ("index of the book, and words", None),
        ("0, 5 MiB", None),
    ],
)
def test_header(text: str, names: tuple[str, ...] | None) -> None:
    header = header_of(text)
    assert (header.names if header else None) == names


def test_long_log_is_linear_and_says_a_link_once() -> None:
    head = "index, pcie.link.gen.current, pcie.link.width.current, utilization.gpu [%]\n"
    parsed = read(head + "0, 4, 16, 50 %\n" * 20_000)
    assert len(parsed.tables["gpu_samples"]) == 20_000 and len(parsed.tables["pcie_links"]) == 1
