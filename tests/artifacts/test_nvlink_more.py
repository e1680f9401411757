"""`nvidia-smi nvlink` -e, -c, -p, -R, -g beside -s and -gt, which must stay as they are."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.artifacts.nvlink import NvlinkReader
from diagnose.artifacts.nvlink_more import READERS
from diagnose.artifacts.paste import clean, split
from diagnose.artifacts.unread import TextParsed
from diagnose.tables import TABLES

[READER] = READERS
GPU = "GPU {}: NVIDIA A100 80GB PCIe (UUID: GPU-{})\n"
ERRORS = (
    "         Link 2: Replay Errors: 142\n         Link 2: Recovery Errors: 3\n"
    "         Link 2: CRC Errors: 891\n\n"
)
NEW_ERRORS = (
    "\t Link 0: Malformed packet Errors: 0\n\t Link 0: Rx Errors: 5\n\t Link 0: Tx discards: 1\n"
    "\t Link 0: Link recovery failed events: 2\n"
)
ABLE = (
    "\t Link 0, P2P is supported: true\n\t Link 0, Access to system memory supported: true\n"
    "\t Link 0, P2P atomics supported: false\n\t Link 0, Link is supported: false\n"
)
REMOTE = "\t Link 0: 00000000:38:00.0\n\t Link 1: 00000000:38:00.0\n"
FAR = "\t Link 0: Remote Device 00000000:38:00.0: Link 11\n"
OLD = "\t Link 1: Rx0: 100 KBytes, Tx0: 0 KBytes\n"
STATE = "\t Link 0: 25 GB/s\n\t Link 1: <inactive>\n"


def gpu(index: int = 0) -> str:
    return GPU.format(index, index)


def read(text: str) -> TextParsed:
    found = [READER.read(s) for s in split(clean(text), 3) if READER.sniff(s)]
    assert len(found) == 1
    for name, rows in found[0].tables.items():
        assert all(list(row) == list(TABLES[name]) for row in rows), name
    return found[0]


def told(parsed: TextParsed, table: str, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[c] for c in columns) for row in parsed.tables.get(table, [])]


def test_errors_are_no_link_states() -> None:
    parsed = read(gpu(3) + ERRORS)
    assert told(parsed, "nvlink_errors", "line", "gpu", "link", "kind", "count") == [
        (2, 3, 2, "replay", 142), (3, 3, 2, "recovery", 3), (4, 3, 2, "crc", 891),
    ]  # fmt: skip
    assert "nvlinks" not in parsed.tables and parsed.problems == [] and parsed.rows == 3


def test_errors_of_nvlink_5() -> None:
    parsed = read(gpu() + NEW_ERRORS)
    assert told(parsed, "nvlink_errors", "kind", "count") == [
        ("malformed_packet", 0), ("rx", 5), ("tx_discards", 1), ("link_recovery_failed_events", 2),
    ]  # fmt: skip
    assert parsed.unread == []


def test_unknown_count_is_none() -> None:
    assert told(read(gpu() + "\t Link 0: CRC Errors: N/A\n"), "nvlink_errors", "count") == [(None,)]


def test_capabilities() -> None:
    parsed = read(gpu() + ABLE + gpu(1) + ABLE)
    assert told(parsed, "nvlink_capabilities", "gpu", "name", "supported")[:4] == [
        (0, "p2p", True), (0, "system_memory_access", True), (0, "p2p_atomics", False), (0, "link", False),
    ]  # fmt: skip
    assert len(parsed.tables["nvlink_capabilities"]) == 8 and "nvlinks" not in parsed.tables


def test_remote_ends_of_both_forms_meet() -> None:
    parsed = read(gpu() + REMOTE + gpu() + FAR)
    assert told(parsed, "nvlink_remotes", "link", "remote_bus_id", "remote_link") == [
        (0, "0000:38:00.0", 11), (1, "0000:38:00.0", None),
    ]  # fmt: skip
    other = read(gpu() + REMOTE + gpu() + FAR.replace("38:", "39:"))
    assert told(other, "nvlink_remotes", "link", "remote_link") == [(0, None), (1, None)]
    assert other.problems == ["line 5: another remote device than said before, first one kept"]


def test_old_counters_stay_away_from_the_others() -> None:
    parsed = read(gpu() + OLD)
    columns = ("link", "counter", "rx_kbytes", "tx_kbytes")
    assert told(parsed, "nvlink_old_counters", *columns) == [(1, 0, 100, 0)]
    assert "nvlink_counters" not in parsed.tables


def test_states_and_counters_are_as_before() -> None:
    text = gpu() + STATE + "\t Link 0: Data Tx: 5 KiB\n\t Link 0: Data Rx: 6 KiB\n"
    [section] = split(clean(text), 3)
    assert READER.read(section) == NvlinkReader().read(section)
    both = read(gpu() + STATE + ERRORS)
    assert told(both, "nvlinks", "state") == [("active",), ("inactive",)]
    assert len(both.tables["nvlink_errors"]) == 3


@pytest.mark.parametrize(
    "line",
    [
        "\t Link 0: CRC Errors: many", "\t Link 0, P2P is supported: maybe", "\t Link 0: Rx0: 1 KByt",
        "\t Link 0: Remote Device 0000", "\t Link 0: Rx0: 1 KBytes, Tx1: 2 KBytes",
    ],
)  # fmt: skip
def test_damaged_line(line: str) -> None:
    parsed = read(gpu() + ERRORS + line + "\n")
    assert parsed.problems == ["line 6: cut or malformed Link line, not read"]
    assert len(parsed.tables["nvlink_errors"]) == 3


def test_last_number_may_be_cut() -> None:
    parsed = read(gpu() + "\t Link 0: CRC Errors: 0\n\t Link 0: Replay Errors: 14")
    assert told(parsed, "nvlink_errors", "kind") == [("crc",)]
    assert parsed.problems == ["line 3: cut or malformed Link line, not read"]
    assert len(told(read(gpu() + REMOTE.rstrip()), "nvlink_remotes", "link")) == 2  # a bus id shows its end


def test_lines_above_any_gpu() -> None:
    parsed = read(ERRORS)
    assert "nvlink_errors" not in parsed.tables and any("above any GPU line" in p for p in parsed.problems)
