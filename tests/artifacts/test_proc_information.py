"""/proc/driver/nvidia/gpus/*/information: blocks without separators, what is no proof, damage."""

from __future__ import annotations

from diagnose.artifacts.paste import clean, split
from diagnose.artifacts.proc_information import READERS
from diagnose.artifacts.unread import TextParsed
from diagnose.tables import TABLES

[READER] = READERS
BLOCK = (
    "Model: \t\t NVIDIA A100-PCIE-40GB\nIRQ:   \t\t 180\nGPU UUID: \t GPU-1\nBus Type: \t PCI\n"
    "Bus Location: \t 0000:b1:00.0\nDevice Minor: \t 3\nGPU Firmware: \t 535.183.01\nGPU Excluded:\t No\n"
)
OLD = "Model: \t\t A100-PCIE-40GB\nBus Type: \t PCIe\nBus Location: \t 0000:c4:00.0\nBlacklisted:\t No\n"


def read(text: str) -> TextParsed:
    found = [READER.read(s) for s in split(clean(text), 3) if READER.sniff(s)]
    assert len(found) == 1
    for name, rows in found[0].tables.items():
        assert all(list(row) == list(TABLES[name]) for row in rows), name
    return found[0]


def test_blocks_begin_at_the_model() -> None:
    parsed = read(BLOCK + OLD + BLOCK.replace("b1:", "e1:"))
    assert [(r["line"], r["name"], r["bus_id"], r["uuid_seen"]) for r in parsed.tables["devices"]] == [
        (1, "NVIDIA A100-PCIE-40GB", "0000:b1:00.0", True),
        (9, "A100-PCIE-40GB", "0000:c4:00.0", None),
        (13, "NVIDIA A100-PCIE-40GB", "0000:e1:00.0", True),
    ]
    assert parsed.rows == 3 and parsed.problems == [] and parsed.unread == []


def test_minor_number_is_no_index_and_the_uuid_is_not_kept() -> None:
    parsed = read(BLOCK)
    assert parsed.tables["devices"][0]["gpu"] is None
    assert "GPU-1" not in str(parsed.tables)
    assert [(r["name"], r["version"]) for r in parsed.tables["software"]] == [("gpu_firmware", "535.183.01")]


def test_firmware_that_is_not_there() -> None:
    assert "software" not in read(BLOCK.replace("535.183.01", "N/A")).tables


def test_damage() -> None:
    parsed = read("IRQ:   \t\t 1\n" + BLOCK.replace("0000:b1:00.0", "0000:b1") + "odd line\n")
    assert parsed.problems == [
        "line 1: stands above any Model line, not read",
        "line 2: no readable bus location for this GPU",
    ]
    assert parsed.tables["devices"][0]["bus_id"] is None
    assert [line.text for line in parsed.unread] == ["odd line"]


def test_model_alone_is_something_else() -> None:
    assert not any(READER.sniff(s) for s in split(clean("Model: llama-70B\nlatency grows\n")))
