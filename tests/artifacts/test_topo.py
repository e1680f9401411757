"""`nvidia-smi topo -m`: layouts, damage, and what must not be concluded."""

from __future__ import annotations

import pytest

from diagnose.artifacts.base import Parsed
from diagnose.artifacts.text import read_sections
from diagnose.artifacts.topo_matrix import cells_of, columns_of

LEGEND = (
    "\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe\n  PIX  = at most a single PCIe bridge\n"
)
NV_LINE = "  NV#  = Connection traversing a bonded set of # NVLinks\n"
TWO = (
    "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    "GPU0\t X \tNV4\t0-31\t0\t\tN/A\nGPU1\tNV4\t X \t0-31\t0\t\tN/A\n"
)
BARE = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tSYS\t0-31\nGPU1\tSYS\t X \t0-31\n"


def read(text: str) -> Parsed:
    found = [p for p in read_sections(text, 2) if p.kind == "topo"]
    assert len(found) == 1
    return found[0]


def pairs(parsed: Parsed) -> dict[tuple[int, int], str]:
    return {(r["gpu_a"], r["gpu_b"]): r["link"] for r in parsed.tables.get("gpu_pairs", [])}


def test_pair_row() -> None:
    parsed = read(TWO + LEGEND + NV_LINE)
    assert parsed.tables["gpu_pairs"] == [
        {"input": 2, "line": 2, "gpu_a": 0, "gpu_b": 1, "link": "NV4", "nvlinks": 4, "hides_nvlink": False}
    ]
    assert (parsed.rows, parsed.problems) == (2, [])


@pytest.mark.parametrize("cell", ["PIX", "PXB", "PHB", "NODE", "SYS"])
def test_pcie_paths_have_no_nvlinks(cell: str) -> None:
    [row] = read(TWO.replace("NV4", cell) + LEGEND + NV_LINE).tables["gpu_pairs"]
    assert (row["link"], row["nvlinks"]) == (cell, 0)


@pytest.mark.parametrize(
    "text",
    [
        TWO.replace("\tGPU0", "\t\x1b[4mGPU0").replace("ID\n", "ID\x1b[0m\n"),
        TWO.removeprefix("\t"),
        "    " + TWO.replace("\n", "\n    "),
        TWO.expandtabs(8),
        TWO.expandtabs(8).replace("0-31    0", "0-31,64-95 0"),
        "".join(
            f"2025-05-07T11:02:1{i}.031Z node-7 collector[22]: {ln}\n"
            for i, ln in enumerate(TWO.splitlines())
        ),
        "```\n(venv) me@node:~$ nvidia-smi topo -m\n" + TWO + "```\n",
        TWO.replace("\tGPU1\tCPU", "\tGPU1\tmlx5_0\tmlx5_bond_1\tCPU").replace("\t0-31", "\tPIX\tSYS\t0-31"),
        TWO.replace("GPU1\tCPU", "GPU1NIC0\tCPU")
        .replace("NV4\t0-31", "NV4SYS\t0-31")
        .replace(" X \t0-31", " X \tSYS\t0-31"),
        TWO.replace("0-31\t0\t\tN/A", "\t\t\t\tN/A"),
        TWO + "NIC0\tPIX\tSYS\nNIC1\tSYS\tPIX\n",
    ],
    ids=[
        "ansi",
        "trimmed",
        "indented",
        "spaces",
        "affinity",
        "prefix",
        "fence",
        "mlx5",
        "glued",
        "windows",
        "nic rows",
    ],
)
def test_layouts(text: str) -> None:
    parsed = read(text)
    assert pairs(parsed) == {(0, 1): "NV4"}
    assert parsed.problems == []


def test_one_gpu_has_no_pairs_and_that_is_known() -> None:
    parsed = read(
        "\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \t0-7\t0\t\tN/A\n" + LEGEND + NV_LINE
    )
    assert (parsed.rows, parsed.tables) == (1, {"gpu_pairs": []})


def test_mp_by_its_legend() -> None:
    assert [r["hides_nvlink"] for r in read(BARE + LEGEND).tables["gpu_pairs"]] == [True]
    assert [r["hides_nvlink"] for r in read(BARE + LEGEND + NV_LINE).tables["gpu_pairs"]] == [False]


@pytest.mark.parametrize(
    ("command", "hides"),
    [
        ("nvidia-smi topo -mp", True),
        ("nvidia-smi topo --matrix_pci", True),
        ("nvidia-smi topo -m", False),
        ("sudo nvidia-smi topo -i 0,1 -mp", True),
    ],
)
def test_mp_by_its_command(command: str, hides: bool) -> None:
    assert [r["hides_nvlink"] for r in read(f"$ {command}\n{BARE}").tables["gpu_pairs"]] == [hides]


def test_nvlink_cells_are_not_hidden_by_a_cut_legend() -> None:
    assert [r["hides_nvlink"] for r in read(TWO + LEGEND).tables["gpu_pairs"]] == [False]


def test_neither_legend_nor_command_is_said() -> None:
    assert "read as topo -m" in read(BARE).problems[0]


FOUR = [
    "\tGPU0\tGPU1\tGPU2\tGPU3",
    "GPU0\t X \tNV12\tSYS\tSYS",
    "GPU1\tNV12\t X \tSYS\tSYS",
    "GPU2\tSYS\tSYS\t X \tNV12",
    "GPU3\tSYS\tSYS\tNV12\t X ",
]
ALL = {(0, 1): "NV12", (0, 2): "SYS", (0, 3): "SYS", (1, 2): "SYS", (1, 3): "SYS", (2, 3): "NV12"}


def damaged(row: int, text: str | None) -> Parsed:
    lines = [ln if i != row else text for i, ln in enumerate(FOUR)]
    return read("".join(f"{ln}\n" for ln in lines if ln is not None))


def test_four() -> None:
    assert pairs(damaged(9, None)) == ALL


@pytest.mark.parametrize(
    ("row", "text", "lost", "says"),
    [
        (1, "GPU0\t X \tNV1\tSYS\tSYS", {(0, 1)}, "line 3: cells differ"),
        (1, "GPU0\t X \t\tSYS\tSYS", {(0, 1)}, "line 3: cells differ"),
        (2, "GPU1\tNV12\tSYS\tSYS", {(0, 1), (1, 2), (1, 3)}, "line 3: damaged row of GPU1"),
        (2, "GPU1\tX\t X \tSYS\tSYS", {(0, 1), (1, 2), (1, 3)}, "line 3: damaged row of GPU1"),
        (4, None, {(0, 3), (1, 3), (2, 3)}, "line 1: no usable row for GPU3"),
        (4, "GPU3\tSYS\tSY", {(0, 3), (1, 3), (2, 3)}, "line 5: damaged row of GPU3"),
        (3, "GPU2\tSYS\tSYS\t X \tNV#", {(2, 3)}, "line 5: cells differ"),
        (3, "GPU7\tSYS\tSYS\t X \tNV12", {(0, 2), (1, 2), (2, 3)}, "line 4: GPU7 has no column"),
        (3, "GPU1\tSYS\tSYS\t X \tNV12", {(0, 2), (1, 2), (2, 3)}, "line 4: second row for GPU1"),
    ],
)
def test_damage_loses_the_pairs_it_touches_and_says_where(
    row: int, text: str | None, lost: set[tuple[int, int]], says: str
) -> None:
    parsed = damaged(row, text)
    assert pairs(parsed) == {k: v for k, v in ALL.items() if k not in lost}
    assert any(p.startswith(says) for p in parsed.problems), parsed.problems


def test_matrix_nobody_can_read_gives_no_table() -> None:
    parsed = read("\tGPU0\tGPU1\nGPU0\tNV4\nGPU1\tNV4\n")
    assert parsed.tables == {}
    assert parsed.problems


def test_p2p_is_another_matrix() -> None:
    text = "\tGPU0\tGPU1\t\n GPU0\tX\tCNS\t\n GPU1\tCNS\tX\t\n"
    text += "\nLegend:\n\n  X    = Self\n  CNS  = Chipset not supported\n"
    [parsed] = read_sections(text)
    assert (parsed.kind, parsed.tables) == ("topo_p2p", {})
    assert "not read yet" in parsed.problems[0]


def test_prose_below_is_left_over() -> None:
    parsed = read(TWO + LEGEND + NV_LINE + "it was sold as an NVLink box\n")
    assert [line.text for line in parsed.unread] == ["it was sold as an NVLink box"]  # type: ignore[attr-defined]


def test_glued_labels_and_cells() -> None:
    assert columns_of("GPU0 GPU1 NIC2 NIC3NIC4 CPU Affinity") == ["GPU0", "GPU1", "NIC2", "NIC3", "NIC4"]
    assert cells_of("GPU0 X NV18 SYSSYS PIXNODE 0-47", 6) == ["X", "NV18", "SYS", "SYS", "PIX", "NODE"]
    assert cells_of("GPU0\t X \t\tSYS\t0-1", 3) == ["X", "", "SYS"]
