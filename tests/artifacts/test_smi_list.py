"""`nvidia-smi -L`: MIG devices, lost parentheses, and lists that are something else."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.artifacts.base import Section
from diagnose.artifacts.paste import clean, split
from diagnose.artifacts.smi_list import READERS
from diagnose.artifacts.unread import TextParsed
from diagnose.tables import TABLES

[READER] = READERS
LIST = (
    "GPU 0: NVIDIA H200 (UUID: GPU-1)\n  MIG 1c.3g.71gb  Device  0: (UUID: MIG-0)\n"
    "  MIG 1g.18gb     Device  1: (UUID: MIG-1\nGPU 1: NVIDIA A100-PCIE-40GB (UUID: GPU-2\n"
)


def read(text: str) -> list[TextParsed]:
    found = [READER.read(s) for s in split(clean(text), 3) if READER.sniff(s)]
    for parsed in found:
        assert all(list(row) == list(TABLES["devices"]) for row in parsed.tables.get("devices", []))
    return found


def rows(parsed: TextParsed, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[c] for c in columns) for row in parsed.tables.get("devices", [])]


def test_list() -> None:
    [parsed] = read(LIST)
    assert rows(parsed, "line", "gpu", "name", "uuid_seen", "mig_devices", "mig") == [
        (1, 0, "NVIDIA H200", True, 2, None),
        (4, 1, "NVIDIA A100-PCIE-40GB", True, None, None),
    ]
    assert parsed.rows == 2 and parsed.problems == [] and parsed.unread == []
    assert "GPU-1" not in str(parsed.tables)


def test_mig_device_above_any_gpu() -> None:
    parsed = READER.read(Section(3, clean(LIST.split("\n", 1)[1])))
    assert rows(parsed, "gpu", "mig_devices") == [(1, None)]
    assert parsed.problems == ["lines 1, 2: MIG device above any GPU line, not counted"]


@pytest.mark.parametrize(
    "text",
    [
        "GPU 0: is idle\nGPU 1: is busy\n",
        "GPU 0: NVIDIA H200 (UUID: GPU-1)\n" + "some log line\n" * 5,
        "  MIG 1g.18gb     Device  0: (UUID: MIG-1)\n",
    ],
)
def test_not_a_list(text: str) -> None:
    assert read(text) == []


def test_line_between_is_left_to_others() -> None:
    four = "".join(f"GPU {n}: NVIDIA L4 (UUID: GPU-{n})\n" for n in range(4))
    [parsed] = read(four + "CUDA error: invalid argument\n")
    assert [line.text for line in parsed.unread] == ["CUDA error: invalid argument"]
