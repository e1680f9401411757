"""`nvidia-smi -q`: full paths, every generation of labels, fragments, and what must not be concluded."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.artifacts.paste import clean, split
from diagnose.artifacts.smi_q import READERS
from diagnose.artifacts.unread import TextParsed
from diagnose.tables import TABLES

[READER] = READERS
MIB = 1024 * 1024

OLD = """==============NVSMI LOG==============

Timestamp                                 : Fri Jun 30 17:20:02 2023
Driver Version                            : 525.105.17
CUDA Version                              : 12.0

Attached GPUs                             : {attached}
GPU 00000000:18:00.0
    Product Name                          : NVIDIA A100 80GB PCIe
    MIG Mode
        Current                           : Disabled
        Pending                           : Enabled
    GPU UUID                              : GPU-00000001-aaaa
    GPU Part Number                       : 20B5-893-A1
    PCI
        Device Id                         : 0x20B510DE
        Bus Id                            : 00000000:18:00.0
        GPU Link Info
            PCIe Generation
                Max                       : 4
                Current                   : 1
                Device Max                : 5
                Host Max                  : N/A
            Link Width
                Max                       : 16x
                Current                   : 8x
        Replays Since Reset               : 7
        Rx Throughput                     : 111000 KB/s
    Clocks Throttle Reasons
        Idle                              : Not Active
        SW Power Cap                      : Active
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Not Active
    FB Memory Usage
        Total                             : 81920 MiB
        Used                              : 23110 MiB
    BAR1 Memory Usage
        Total                             : 131072 MiB
        Used                              : 2 MiB
    Utilization
        Gpu                               : 97 %
        Memory                            : 5 %
    Ecc Mode
        Current                           : Enabled
    Power Readings
        Power Draw                        : 74.71 W
        Power Limit                       : 300.00 W
    Clocks
        SM                                : 960 MHz
    Max Clocks
        SM                                : 1410 MHz
    Max Customer Boost Clocks
        Graphics                          : 1200 MHz
    Processes
        Process ID                        : 4242
            Type                          : C
            Name                          : python
            Used GPU Memory               : 22000 MiB
"""
NEW = """==============NVSMI LOG==============

Driver Version                                         : 610.57.04 [Deprecated; use KMD Version instead]
CUDA Version                                           : 13.3 [Deprecated; use CUDA UMD Version instead]
KMD Version                                            : 610.57.04
CUDA UMD Version                                       : 13.3

Attached GPUs                                          : 1
GPU 00000000:0C:00.0
    Product Name                                       : NVIDIA H100 80GB HBM3
    MIG Mode
        Current                                        : Enabled
    MIG Device
        Index                                          : 0
        ECC Errors
            Volatile
                SRAM Uncorrectable                     : 0
        Shared FB Memory Usage
            Total                                      : 9984 MiB
            Used                                       : 9 MiB
    MIG Device
        Index                                          : 1
        FB Memory Usage
            Total                                      : 1 MiB
            Used                                       : 1 MiB
    GSP Firmware Version                               : 610.57.04
    Clocks Event Reasons
        SW Power Cap                                   : Not Active
    Clocks Event Reasons Counters
        SW Power Capping                               : 200740215 us
        HW Power Braking                               : 3 us
    FB Memory Usage
        Total                                          : 81559 MiB
        Used                                           : 11125 MiB
    Utilization
        GPU                                            : N/A
    GPU Power Readings
        Average Power Draw                             : N/A
        Instantaneous Power Draw                       : 38.89 W
        GPU Ceiling Power Limit
            Current Power Limit                        : 250.00 W
    Module Power Readings
        Current Power Limit                            : 1.00 W
    Fabric
        State                                          : Completed
        Status                                         : Success
        CliqueId                                       : 0
        Health
            Summary                                    : N/A
    Processes
        GPU instance ID                   : 2
        Compute instance ID               : 0
        Process ID                        : 21180
            Type                          : C
            Used GPU Memory               : 2296 MiB
    Capabilities
        EGM                                            : disabled
"""


def read(text: str) -> TextParsed:
    found = [READER.read(s) for s in split(clean(text), 3) if READER.sniff(s)]
    assert len(found) == 1
    for name, rows in found[0].tables.items():
        assert all(list(row) == list(TABLES[name]) for row in rows), name
    return found[0]


def readings(parsed: TextParsed, table: str = "gpu_readings") -> dict[str, float | None]:
    return {r["column"]: r["value"] for r in parsed.tables[table]}


def reasons(parsed: TextParsed) -> dict[str, tuple[bool | None, int | None]]:
    return {r["reason"]: (r["active"], r["counter_us"]) for r in parsed.tables["clock_events"]}


def one(parsed: TextParsed, table: str) -> dict[str, Any]:
    [row] = parsed.tables[table]
    return row


def test_old_labels() -> None:
    parsed = read(OLD.format(attached=1))
    device = one(parsed, "devices")
    assert (device["gpu"], device["name"], device["bus_id"]) == (0, "NVIDIA A100 80GB PCIe", "0000:18:00.0")
    assert (device["part_number"], device["device_id"], device["uuid_seen"]) == (
        "20B5-893-A1", "10de:20b5", True,
    )  # fmt: skip
    assert (device["memory_bytes"], device["driver"], device["ecc"], device["mig"]) == (
        81920 * MIB, "525.105.17", True, False,
    )  # fmt: skip
    link = one(parsed, "pcie_links")
    assert link == {
        "input": 3, "line": 21, "gpu": 0, "bus_id": "0000:18:00.0", "gen_current": 1, "gen_max": 4,
        "gen_gpu_max": 5, "gen_host_max": None, "width_current": 8, "width_max": 16, "replays": 7,
        "loaded": True,
    }  # fmt: skip
    assert reasons(parsed) == {
        "gpu_idle": (False, None),
        "sw_power_cap": (True, None),
        "hw_slowdown": (True, None),
        "hw_thermal_slowdown": (False, None),
    }
    clock = one(parsed, "clocks")
    assert (clock["name"], clock["current_mhz"], clock["max_mhz"]) == ("sm", 960, 1410)
    assert readings(parsed) == {
        "sm": 97, "mem": 5, "fb": 23110, "fb_total": 81920, "pwr": 74.71, "pwr_limit": 300, "pclk": 960,
        "rx_kb_s": 111000,
    }  # fmt: skip
    assert one(parsed, "gpu_processes")["memory_bytes"] == 22000 * MIB
    assert parsed.problems == [] and parsed.unread == []


def test_new_labels_mig_and_deprecated_versions() -> None:
    parsed = read(NEW)
    device = one(parsed, "devices")
    assert (device["driver"], device["mig"], device["mig_devices"]) == ("610.57.04", True, 2)
    assert device["memory_bytes"] == 81559 * MIB  # not a MIG device's
    assert [(r["name"], r["version"]) for r in parsed.tables["software"]] == [
        ("driver", "610.57.04"), ("driver_cuda", "13.3"), ("gpu_firmware", "610.57.04"),
    ]  # fmt: skip
    told = readings(parsed)
    assert told["sm"] is None  # MIG: N/A is not idle
    assert (told["fb"], told["pwr"], told["pwr_limit"]) == (11125, 38.89, 250)
    assert reasons(parsed) == {
        "sw_power_cap": (False, 200740215),
        "hw_power_brake_slowdown": (None, 3),
    }
    fabric = one(parsed, "fabric")
    assert (fabric["state"], fabric["status"], fabric["clique"], fabric["health"]) == (
        "Completed", "Success", "0", None,
    )  # fmt: skip
    process = one(parsed, "gpu_processes")
    assert (process["pid"], process["gpu_instance"], process["memory_bytes"]) == (21180, 2, 2296 * MIB)


def test_position_is_no_index_when_gpus_are_left_out() -> None:
    parsed = read(OLD.format(attached=8))
    assert one(parsed, "devices")["gpu"] is None
    assert parsed.problems == ["line 7: 8 GPUs attached, 1 shown: their nvidia-smi index is not told"]


def test_full_use_of_a_gpu_that_holds_nothing_is_not_load() -> None:
    text = OLD.format(attached=1)
    assert one(read(text.replace("23110 MiB", "0 MiB")), "pcie_links")["loaded"] is None
    assert one(read(text.replace("97 %", "0 %")), "pcie_links")["loaded"] is False
    assert one(read(text.replace("97 %", "N/A")), "pcie_links")["loaded"] is None


@pytest.mark.parametrize("indent", ["", "    ", "        "])
def test_fabric_fragment(indent: str) -> None:
    lines = ("Fabric", "    State   : In Progress", "    Status  : N/A", "    CliqueId : N/A")
    parsed = read("".join(f"{indent}{line}\n" for line in lines))
    assert one(parsed, "fabric") == {
        "input": 3, "line": 2, "gpu": None, "state": "In Progress", "status": None, "clique": None,
        "health": None, "bus_id": None,
    }  # fmt: skip


def test_filtered_fragments_of_two_gpus_stay_apart() -> None:
    part = "    GPU Link Info\n        Link Width\n            Max : 16x\n            Current : {}x\n--\n"
    parsed = read(part.format(16) + part.format(4))
    assert [r["width_current"] for r in parsed.tables["pcie_links"]] == [16, 4]
    assert all(r["gpu"] is None and r["bus_id"] is None for r in parsed.tables["pcie_links"])


def test_lost_indentation_gives_no_values() -> None:
    parsed = read("    Fabric\n    State : Completed\n    Status : Success\n")
    assert parsed.tables == {}
    assert parsed.problems == ["line 1: indentation lost under this group, its values are not read"]


def test_one_gpu_said_twice_keeps_the_first_and_says_so() -> None:
    text = OLD.format(attached=1) + "    Utilization\n        Gpu       : 3 %\n"
    parsed = read(text)
    assert readings(parsed)["sm"] == 97
    assert len(parsed.problems) == 1 and "said twice" in parsed.problems[0]


@pytest.mark.parametrize(
    ("last", "expected"),
    [("Used : 198", None), ("Used : 19818 MiB", 19818.0), ("Used : 19818 Mi", None)],
)
def test_cut_last_line(last: str, expected: float | None) -> None:
    parsed = read("    FB Memory Usage\n        Total : 81559 MiB\n        " + last)
    assert readings(parsed).get("fb") == expected
    assert any("may be cut" in p for p in parsed.problems) == (expected is None)


def test_error_in_place_of_a_value() -> None:
    text = OLD.format(attached=1).replace("97 %", "Unknown Error")
    parsed = read(text)
    assert readings(parsed)["sm"] is None
    number = text[: text.index("Unknown Error")].count("\n") + 1
    assert parsed.problems == [f"line {number}: nvidia-smi says Unknown Error: no value"]


def test_lost_gpu_before_the_log_and_prose_after_it() -> None:
    text = (
        "Unable to determine the device handle for GPU 0000:34:00.0: GPU is lost.\n"
        + "$ nvidia-smi -q\n"
        + OLD.format(attached=1)
        + "then it said RuntimeError: no\n"
    )
    sections = split(clean(text), 0)
    parsed = [READER.read(s) for s in sections if READER.sniff(s)]
    assert [line.text for line in parsed[-1].unread] == ["then it said RuntimeError: no"]


def test_looped_log_is_a_series() -> None:
    text = "".join(OLD.format(attached=1).replace(":02 2023", f":0{i} 2023") for i in range(3))
    parsed = read(text)
    rows = [r for r in parsed.tables["gpu_samples"] if r["column"] == "sm"]
    assert [(r["gpu"], r["second"], r["value"]) for r in rows] == [(0, 0, 97), (0, 1, 97), (0, 2, 97)]
    assert parsed.rows == 3
    assert len(parsed.tables["devices"]) == len(parsed.tables["pcie_links"]) == 1  # said once
