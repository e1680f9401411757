"""The main table of nvidia-smi: every layout, MIG, Windows, processes, and error texts in its place."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.artifacts.paste import clean, split
from diagnose.artifacts.smi_table import READERS
from diagnose.artifacts.unread import TextParsed
from diagnose.tables import TABLES

[READER] = READERS
MIB = 1024 * 1024
RULE = "+-----------------------------------------+------------------------+----------------------+\n"
NEW = (
    "Tue Jul 14 08:12:53 2026\n"
    + RULE
    + "| NVIDIA-SMI 610.57.04              KMD Version: 610.57.04     CUDA UMD Version: 13.3     |\n"
    + RULE
    + """| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|=========================================+========================+======================|
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:00:09.0 Off |                   On |
| N/A   52C    P0            432W /  700W |   11125MiB /  81559MiB |     N/A      Default |
|                                         |                        |              Enabled |
"""
    + RULE
    + """|   1  NVIDIA GeForce RTX 2080 ...  WDDM  |   00000000:8A:00.0  On |                  Off |
| 38%   44C    P2             97W /  N/A  |    1366MiB /   8192MiB |      7%      Default |
|                                         |                        |                  N/A |
"""
    + RULE
    + """
| MIG devices:                                                                            |
+------------------+----------------------------------+-----------+-----------------------+
| GPU  GI  CI  MIG |              Shared Memory-Usage |        Vol|        Shared         |
|==================+==================================+===========+=======================|
|  0    2   0   0  |           11091MiB / 40448MiB    | 60      0 |  3   0    3    0    3 |
|                  |               0MiB / 24739MiB    |           |                       |
|  0    3   0   1  |              17MiB / 20096MiB    | 32      0 |  2   0    2    0    2 |
|                  |               0MiB / 12369MiB    |           |                       |

| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|    0    2    0            21180      C   /opt/my tools/hog                      2296MiB |
|    1   N/A  N/A           12940    C+G   ...em32\\ApplicationFrameHost.exe      N/A      |
"""
    + RULE
)
OLD = """+-----------------------------------------------------------------------------+
| NVIDIA-SMI 384.145                Driver Version: 384.145                   |
|   0  Tesla V100-PCIE...  Off  | 00000000:1B:00.0 Off |                    0 |
| N/A   48C    P0    44W / 250W |    966MiB / 32502MiB |    100%      Default |
+-------------------------------+----------------------+----------------------+
| Processes:                                                       GPU Memory |
|  GPU       PID   Type   Process name                             Usage      |
|    0      1307      C   /usr/bin/python                              211MiB |
|    0                  Not Supported                                         |
"""
LOST_ROW = """| NVIDIA-SMI 470.57.02    Driver Version: 470.57.02    CUDA Version: 11.4     |
|   4  ERR!                On   | 00000000:83:00.0 Off |                 ERR! |
|ERR!  ERR! ERR!    ERR! / ERR! |      0MiB / 46068MiB |    ERR!      Default |
|                               |                      |                 ERR! |
|   5  NVIDIA A40          On   | 00000000:84:00.0 Off |                    0 |
|  0%   23C    P8    14W / 300W |      3MiB / 46068MiB |      0%      Default |
"""


def read(text: str) -> TextParsed:
    found = [READER.read(s) for s in split(clean(text), 3) if READER.sniff(s)]
    assert len(found) == 1
    for name, rows in found[0].tables.items():
        assert all(list(row) == list(TABLES[name]) for row in rows), name
    return found[0]


def told(parsed: TextParsed, table: str, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[c] for c in columns) for row in parsed.tables.get(table, [])]


def readings(parsed: TextParsed, gpu: int) -> dict[str, float | None]:
    return {r["column"]: r["value"] for r in parsed.tables["gpu_readings"] if r["gpu"] == gpu}


def test_newest_layout() -> None:
    parsed = read(NEW)
    assert told(parsed, "devices", "gpu", "name", "bus_id", "mig", "mig_devices", "ecc", "driver_model") == [
        (0, "NVIDIA H100 80GB HBM3", "0000:00:09.0", True, 2, True, None),
        (1, "NVIDIA GeForce RTX 2080 ...", "0000:8a:00.0", None, None, False, "WDDM"),
    ]
    assert told(parsed, "devices", "driver", "memory_bytes") == [
        ("610.57.04", 81559 * MIB), ("610.57.04", 8192 * MIB),
    ]  # fmt: skip
    assert told(parsed, "software", "name", "version") == [("driver", "610.57.04"), ("driver_cuda", "13.3")]
    assert readings(parsed, 0) == {
        "sm": None, "fb": 11125, "fb_total": 81559, "pwr": 432, "pwr_limit": 700, "gtemp": 52,
    }  # fmt: skip
    assert readings(parsed, 1)["sm"] == 7 and readings(parsed, 1)["pwr_limit"] is None
    assert told(parsed, "gpu_processes", "gpu", "pid", "kind", "memory_bytes", "gpu_instance") == [
        (0, 21180, "C", 2296 * MIB, 2),
        (1, 12940, "C+G", None, None),
    ]
    assert parsed.problems == [] and parsed.unread == [] and parsed.rows == 2


def test_oldest_layout() -> None:
    parsed = read(OLD)
    assert told(parsed, "software", "name", "version") == [("driver", "384.145")]
    assert told(parsed, "devices", "gpu", "name", "mig") == [(0, "Tesla V100-PCIE...", None)]
    assert readings(parsed, 0)["sm"] == 100 and readings(parsed, 0)["pwr"] == 44
    assert told(parsed, "gpu_processes", "gpu", "pid", "memory_bytes") == [(0, 1307, 211 * MIB)]


def test_time_stamp_counts_as_utc() -> None:
    import datetime

    want = datetime.datetime(2026, 7, 14, 8, 12, 53, tzinfo=datetime.UTC).timestamp()
    assert {r["time"] for r in read(NEW).tables["gpu_readings"]} == {want}
    assert {r["time"] for r in read(OLD).tables["gpu_readings"]} == {None}


def test_gpu_whose_row_says_err() -> None:
    parsed = read(LOST_ROW)
    assert told(parsed, "lost_gpus", "gpu", "bus_id") == [(4, "0000:83:00.0")]
    assert told(parsed, "devices", "gpu", "name") == [(5, "NVIDIA A40")]
    assert {r["gpu"] for r in parsed.tables["gpu_readings"]} == {5}
    assert parsed.problems == ["line 2: nvidia-smi says ERR! in place of the name of GPU 4"]


@pytest.mark.parametrize(
    ("text", "gpu", "bus"),
    [
        ("Unable to determine the device handle for GPU1: 0000:34:00.0: Unknown Error", 1, "0000:34:00.0"),
        ("Unable to determine the device handle for GPU0000:08:00.0: Unknown Error", None, "0000:08:00.0"),
        ("Unable to determine the device handle for GPU 0000:02:00.0: GPU is lost.", None, "0000:02:00.0"),
        ("Unable to determine the device handle for GPU x", None, None),
    ],
)
def test_lost_gpu_sentence(text: str, gpu: int | None, bus: str | None) -> None:
    parsed = read(text + "\n")
    assert told(parsed, "lost_gpus", "gpu", "bus_id", "text") == [(gpu, bus, text)]
    assert parsed.problems == [f"line 1: nvidia-smi says: {text}"]
    assert [line.text for line in parsed.unread] == [text]  # the text patterns see it too


@pytest.mark.parametrize(
    "text",
    [
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that …",
        "No devices were found",
        "Failed to initialize NVML: Driver/library version mismatch",
    ],
)
def test_no_driver(text: str) -> None:
    parsed = read(text + "\n")
    assert parsed.problems == [f"line 1: nvidia-smi says: {text}"] and parsed.tables == {}


def test_sentence_in_the_middle_of_a_log_is_that_logs() -> None:
    log = "INFO start\n" * 5 + "Failed to initialize NVML: Unknown Error\n" + "INFO go on\n" * 5
    assert not any(READER.sniff(s) for s in split(clean(log)))


def test_markdown_table_is_left_alone() -> None:
    parsed = read("No devices were found\n| model | speed | note |\n| a | 100% | x |\n")
    assert parsed.tables == {} and len(parsed.unread) == 3


def test_cut_row_gives_nothing_but_a_problem() -> None:
    text = OLD[: OLD.index("32502MiB") + 4]
    parsed = read(text)
    assert "gpu_readings" not in parsed.tables
    assert parsed.problems == ["line 4: cut or malformed row, not read"]


def test_watch_loop_is_a_series_of_its_gpu() -> None:
    tables = [NEW.replace(":53 2026", f":{50 + i} 2026").replace("  7%", f" {i}7%") for i in range(3)]
    rows = [r for r in read("".join(tables)).tables["gpu_samples"] if r["column"] == "sm" and r["gpu"] == 1]
    assert [(r["second"], r["value"]) for r in rows] == [(0, 7), (1, 17), (2, 27)]
    before_and_after = read("".join(tables[:2]))
    assert "gpu_samples" not in before_and_after.tables
