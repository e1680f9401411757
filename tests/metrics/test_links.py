"""Links between GPUs: topology matrix, NVLink states, counters."""

from __future__ import annotations

from typing import Any

import pytest
from measuring import told


def pair(a: int, b: int, nvlinks: int = 0, hides: bool = False) -> dict[str, Any]:
    link = f"NV{nvlinks}" if nvlinks else "SYS"
    return {
        "input": 0,
        "line": 1,
        "gpu_a": a,
        "gpu_b": b,
        "link": link,
        "nvlinks": nvlinks,
        "hides_nvlink": hides,
    }


def test_pairs_by_kind_of_link() -> None:
    tables = {"gpu_pairs": [pair(0, 1, 12), pair(0, 2), pair(1, 2)]}
    assert told(tables, "pairs_count").value == 3
    fact = told(tables, "nvlink_pairs")
    assert (fact.value, fact.numerator, fact.denominator) == (1, 1, 3)
    assert told(tables, "pcie_pairs").value == 2
    assert told(tables, "topo_hides_nvlink").value is False


def test_a_matrix_that_hides_nvlink_proves_nothing() -> None:
    hiding = {"gpu_pairs": [pair(0, 1, 0, hides=True)]}
    for name in ("pairs_count", "nvlink_pairs", "pcie_pairs"):
        assert "topo -mp" in told(hiding, name).why_unknown
    assert told(hiding, "topo_hides_nvlink").value is True
    both = {"gpu_pairs": [pair(0, 1, 0, hides=True), pair(0, 1, 18)]}
    assert told(both, "nvlink_pairs").value == 1 and told(both, "pcie_pairs").value == 0
    assert told(both, "topo_hides_nvlink").value is False
    for name in ("pairs_count", "nvlink_pairs", "pcie_pairs", "topo_hides_nvlink"):
        assert told({}, name).why_unknown == "no topology matrix"


def state(state: str, gpu: int = 0, link: int | None = 0) -> dict[str, Any]:
    return {"input": 0, "line": 1, "gpu": gpu, "gpu_name": "", "link": link, "state": state, "gb_s": None}


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (["active"], "active"),
        (["active", "inactive"], "some_inactive"),
        (["inactive"], "all_inactive"),
        (["all_inactive"], "all_inactive"),
        (["unsupported"], "unsupported"),
        (["unsupported", "inactive"], "all_inactive"),
        (["active", "unknown"], "some_inactive"),
        (["unknown"], None),
        (["unknown", "inactive"], None),
        ([], None),
    ],
)
def test_one_word_for_all_links(states: list[str], expected: str | None) -> None:
    tables = {"nvlinks": [state(s, i) for i, s in enumerate(states)]}
    assert told(tables, "nvlink_state").value == expected


def test_active_links_are_counted_once() -> None:
    rows = [
        state("active", 0, 0),
        state("active", 0, 0),
        state("active", 0, 1),
        state("active", 1, 0),
        state("inactive", 1, 1),
    ]
    assert told({"nvlinks": rows}, "nvlink_active_links").value == 3
    assert told({"nvlinks": [state("inactive")]}, "nvlink_active_links").value == 0
    assert told({"nvlinks": [state("unknown")]}, "nvlink_active_links").value is None
    assert told({}, "nvlink_active_links").value is None


def counter(snapshot: int, tx: int | None, *, gpu: int = 0, link: int = 0, file: int = 0) -> dict[str, Any]:
    return {
        "input": file,
        "line": 1,
        "gpu": gpu,
        "link": link,
        "snapshot": snapshot,
        "tx_bytes": tx,
        "rx_bytes": tx,
    }


def test_moved_bytes_are_the_growth_of_the_send_counters() -> None:
    rows = [
        counter(0, 100),
        counter(1, 175),
        counter(0, 10, link=1),
        counter(1, 10, link=1),
        counter(0, 5, gpu=1),
        counter(1, 30, gpu=1),
    ]
    assert told({"nvlink_counters": rows}, "nvlink_moved_bytes").value == 75 + 0 + 25
    two_files = [counter(0, 175, file=1), counter(0, 100, file=0)]
    assert told({"nvlink_counters": two_files}, "nvlink_moved_bytes").value == 75


@pytest.mark.parametrize(
    "rows",
    [[], [counter(0, 100)], [counter(0, 100), counter(1, 99)], [counter(0, None), counter(1, None)]],
)
def test_one_snapshot_a_reset_or_no_values_are_unknown(rows: list[dict[str, Any]]) -> None:
    assert told({"nvlink_counters": rows}, "nvlink_moved_bytes").value is None
