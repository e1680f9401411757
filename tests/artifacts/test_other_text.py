"""What a file is, and who the GPUs in it are, for outputs that are not read yet."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.artifacts.devices import bus_id_of, mebibytes
from diagnose.artifacts.text import READERS, read_sections
from diagnose.tables import TABLES

TABLE = """Tue Jul 14 08:12:53 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 590.48.01              Driver Version: 590.48.01      CUDA Version: 13.1     |
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:00:09.0 Off |                    0 |
| N/A   59C    P0            629W /  700W |   19818MiB /  81559MiB |    100%      Default |
|   1  NVIDIA GeForce RTX 2080 ...  WDDM  |   00000000:8A:00.0  On |                  N/A |
| 38%   44C    P2             97W /  250W |    1366MiB /   8192MiB |      7%      Default |
| Processes:                                                                              |
|    0   N/A  N/A           11345      C   ./gpu_burn                            15690MiB |
"""
OLD_TABLE = """| NVIDIA-SMI 384.145                Driver Version: 384.145                   |
|   0  Tesla V100-PCIE...  Off  | 00000000:1B:00.0 Off |                    0 |
| N/A   48C    P0    44W / 250W |    966MiB / 32502MiB |    100%      Default |
"""
FULL = """==============NVSMI LOG==============
Driver Version                            : 610.57.04 [Deprecated; use KMD Version instead]
Attached GPUs                             : {attached}
GPU 00000000:18:00.0
    Product Name                          : NVIDIA H800
    BAR1 Memory Usage
        Total                             : 1 MiB
    FB Memory Usage
        Total                             : 81559 MiB
        Used                              : 3 MiB
"""
XML = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
    <driver_version>535.1</driver_version>
    <attached_gpus>1</attached_gpus>
    <gpu id="00000000:00:1E.0">
        <product_name>Tesla T4</product_name>
        <mig_device>
            <fb_memory_usage>
                <total>10 MiB</total>
            </fb_memory_usage>
        </mig_device>
        <fb_memory_usage>
            <total>15360 MiB</total>
        </fb_memory_usage>
    </gpu>
</nvidia_smi_log>
"""
PROC = (
    "Model: \t\t NVIDIA A100-PCIE-40GB\nIRQ:   \t\t 180\nBus Type: \t PCIe\n"
    "Bus Location: \t 0000:b1:00.0\nDevice Minor: \t 3\n"
)
CSV = "index, name, pci.bus_id, compute_cap, memory.total [MiB], driver_version\n"
LIST = (
    "GPU 0: NVIDIA H200 (UUID: GPU-1)\n  MIG 1c.3g.71gb  Device  0: (UUID: MIG-0)\n"
    "GPU 1: NVIDIA H200 (UUID: GPU-2\n"
)
ENV = (
    "PyTorch version: 2.4.0+cu121\nIs CUDA available: True\nGPU models and configuration: \n"
    "GPU 0: NVIDIA L4\nGPU 1: NVIDIA L4\n"
)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("xml", XML),
        ("smi_q", FULL.format(attached=1)),
        ("smi_q", "    Clocks Event Reasons\n        Idle      : Active\n"),
        ("smi_q", "Fabric\n    State   : Completed\n"),
        ("smi_table", TABLE),
        ("smi_table", "| NVIDIA-SMI 610.57.04     KMD Version: 610.57.04     CUDA UMD Version: 13.3     |\n"),
        ("smi_table", "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"),
        (
            "pmon",
            "# gpu        pid  type    sm   mem   enc   dec    fb   command\n"
            "    0      14835     C    45 15 0 0 7 python\n",
        ),
        ("smi_L", LIST),
        ("query_gpu", CSV),
        (
            "query_gpu",
            "timestamp, pstate, temperature.gpu, memory.total [MiB]\n"
            "2024/01/16 14:44:16.977, P8, 25, 23028 MiB\n",
        ),
        ("query_gpu", "0, NVIDIA A100-PCIE-40GB, 0, 0\n1, NVIDIA A100-PCIE-40GB, [Unknown Error], 0\n"),
        ("ib", "CA 'mlx5_0'\n\tCA type: MT4123\n"),
        ("ib", "Infiniband device 'mlx5_0' port 1 status:\n\trate:\t 100 Gb/sec (4X EDR)\n"),
        ("ib", 'CA: node HCA-1:\n  0x00 1  1[  ] ==( 4X  10.0 Gbps Active/  LinkUp)==>  2  9[  ] "x" ( )\n'),
        ("ib", "CA/RT PortInfo:\nLinkWidthActive:.................1X\n"),
        ("ib", "# Port counters: Lid 1 port 0 (CapMask: 0x5300)\n"),
        (
            "lspci",
            "27:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A100 PCIe 40GB] [10de:20f1] (rev a1)\n",
        ),
        ("lspci", "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+\n"),
        ("proc", PROC),
        (
            "dmesg",
            "[449410.332316] NVRM: Xid (PCI:0003:00:00): 74, pid='<unknown>', name=<unknown>, NVLink\n",
        ),
        ("nccl", "node:1:2 [0] NCCL INFO Using network Socket\n"),
        ("nccl", "NCCL version 2.18.5+cuda11.8\n"),
        ("nccl", "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1)\n"),
        ("versions", ENV),
        ("versions", "nvcc: NVIDIA (R) Cuda compiler driver\n"),
        ("log", "index of the book, and words\n"),
        ("log", "Model: llama-70B\nlatency grows\n"),
    ],
)
def test_kind(kind: str, text: str) -> None:
    assert [p.kind for p in read_sections(text) if p.kind != "log" or kind == "log"] == [kind]


def devices(text: str) -> list[dict[str, Any]]:
    rows = [row for p in read_sections(text, 6) for row in p.tables.get("devices", [])]
    assert all(list(row) == [c for c in TABLES["devices"] if c in row] and row["input"] == 6 for row in rows)
    return [{k: v for k, v in row.items() if k not in ("input", "line") and v is not None} for row in rows]


MIB = 1024 * 1024


def test_main_table() -> None:
    found = devices(TABLE)
    assert [(d["gpu"], d["name"], d["bus_id"], d["memory_bytes"]) for d in found] == [
        (0, "NVIDIA H100 80GB HBM3", "0000:00:09.0", 81559 * MIB),
        (1, "NVIDIA GeForce RTX 2080 ...", "0000:8a:00.0", 8192 * MIB),
    ]
    assert [(d["name"], d["memory_bytes"]) for d in devices(OLD_TABLE)] == [
        ("Tesla V100-PCIE...", 32502 * MIB)
    ]


def test_list_and_environment() -> None:
    assert [(d["gpu"], d["name"]) for d in devices(LIST)] == [(0, "NVIDIA H200"), (1, "NVIDIA H200")]
    assert [(d["gpu"], d["name"]) for d in devices(ENV)] == [(0, "NVIDIA L4"), (1, "NVIDIA L4")]


def test_full_query_numbers_gpus_only_when_all_are_shown() -> None:
    [one] = devices(FULL.format(attached=1))
    assert (one["gpu"], one["name"], one["bus_id"]) == (0, "NVIDIA H800", "0000:18:00.0")
    assert one["memory_bytes"] == 81559 * MIB
    [one_of_eight] = devices(FULL.format(attached=8))
    assert "gpu" not in one_of_eight


def test_xml_takes_the_whole_gpu_not_a_mig_part() -> None:
    [one] = devices(XML)
    assert (one["gpu"], one["name"], one["bus_id"], one["memory_bytes"]) == (
        0,
        "Tesla T4",
        "0000:00:1e.0",
        15360 * MIB,
    )


def test_proc_blocks_and_no_index_from_the_minor_number() -> None:
    found = devices(PROC + PROC.replace("b1:", "c4:"))
    assert [(d["name"], d["bus_id"]) for d in found] == [
        ("NVIDIA A100-PCIE-40GB", "0000:b1:00.0"),
        ("NVIDIA A100-PCIE-40GB", "0000:c4:00.0"),
    ]
    assert all("gpu" not in d for d in found)


def test_query_rows_once_for_each_gpu() -> None:
    row = "{0}, NVIDIA A100-SXM4-80GB, 00000000:0{0}:00.0, 8.0, 81920 MiB, 550.90.07\n"
    text = (CSV + row.format(0) + row.format(1)) * 2
    found = devices(text)
    assert [(d["gpu"], d["bus_id"], d["cc"], d["memory_bytes"]) for d in found] == [
        (0, "0000:00:00.0", "8.0", 81920 * MIB),
        (1, "0000:01:00.0", "8.0", 81920 * MIB),
    ]


def test_query_cells_that_are_no_values() -> None:
    assert devices(CSV + "1, [Unknown Error], [N/A], [N/A], [N/A], [N/A]\n") == []
    [one] = devices("gpu_name, gpu_bus_id, memory.total\nNVIDIA L40S, 00000000:01:00.0, 46068\n")
    assert one == {"name": "NVIDIA L40S", "bus_id": "0000:01:00.0"}  # no unit: not taken for MiB
    [one] = devices("name, memory.total [MiB]\nNVIDIA L40S, 46068\n")
    assert one["memory_bytes"] == 46068 * MIB


def test_driver_is_given_once_the_table_has_the_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TABLES, "devices", TABLES["devices"] | {"driver": TABLES["devices"]["name"]})
    assert devices(FULL.format(attached=1))[0]["driver"] == "610.57.04"
    assert devices(TABLE)[0]["driver"] == "590.48.01"
    assert devices("name, driver_version\nNVIDIA L4, 550.90.07\n")[0]["driver"] == "550.90.07"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("00000000:1B:00.0", "0000:1b:00.0"),
        ("1b:00.0", "0000:1b:00.0"),
        ("0001:00:00.0", "0001:00:00.0"),
        ("03F8CFDD:00:00.0", "3f8cfdd:00:00.0"),
        ("N/A", None),
        ("00000000:1B:00", None),
    ],
)
def test_bus_id(text: str, expected: str | None) -> None:
    assert bus_id_of(text) == expected


def test_mebibytes() -> None:
    assert [mebibytes(t) for t in ("1 MiB", "2", "3 GiB", "[N/A]", "")] == [MIB, 2 * MIB, None, None, None]


def test_unread_kinds_say_so() -> None:
    text = "# Port counters: Lid 3 port 1\nPortXmitData:...............123\nPortRcvData:................456\n"
    [parsed] = [p for p in read_sections(text) if p.kind != "log"]
    assert parsed.rows or "not read yet" in parsed.problems[0]


def test_every_kind_has_one_reader() -> None:
    kinds = [reader.kind for reader in READERS]
    assert len(set(kinds)) == len(kinds)
    assert kinds[-1] == "log"
