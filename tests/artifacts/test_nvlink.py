"""`nvidia-smi nvlink`: five states, counters, and the forms that look alike."""

from __future__ import annotations

import pytest

from diagnose.artifacts.base import Parsed
from diagnose.artifacts.nvlink_lines import statement_of
from diagnose.artifacts.text import read_sections

GPU0 = "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-00000001-aaaa-bbbb-cccc-000000000001)\n"
GPU1 = GPU0.replace("GPU 0", "GPU 1")


def read(text: str) -> list[Parsed]:
    found = [p for p in read_sections(text, 1) if p.kind == "nvlink"]
    assert found
    return found


def states(text: str) -> list[tuple[int, int | None, str, float | None]]:
    return [
        (r["gpu"], r["link"], r["state"], r["gb_s"]) for p in read(text) for r in p.tables.get("nvlinks", [])
    ]


def counters(text: str) -> list[tuple[int, int, int, int | None, int | None]]:
    rows = [r for p in read(text) for r in p.tables.get("nvlink_counters", [])]
    return [(r["gpu"], r["link"], r["snapshot"], r["tx_bytes"], r["rx_bytes"]) for r in rows]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("\t Link 0: 26.562 GB/s", (0, 0, "active", 26.562)),
        ("         Link 11: 25 GB/s", (0, 11, "active", 25.0)),
        ("\t Link 3: <inactive>", (0, 3, "inactive", None)),
        ("\t Link 3: &lt;inactive&gt;", (0, 3, "inactive", None)),
        ("\t Link 3:", (0, 3, "unknown", None)),  # a web page swallowed <inactive>
        (
            "NVML: Unable to retrieve NVLink information as all links are inActive",
            (0, None, "all_inactive", None),
        ),
        (
            "NVML: Unable to retrieve Nvlink information as all links are inActive",
            (0, None, "all_inactive", None),
        ),
        ("Device does not have or support Nvlink", (0, None, "unsupported", None)),
        ("Nvlink queries are not supported for Devices in MIG mode", (0, None, "unknown", None)),
        ("NVML: Unable to retrieve NVLink information: Unknown Error", (0, None, "unknown", None)),
    ],
)
def test_states(line: str, expected: tuple[int, int | None, str, float | None]) -> None:
    assert states(GPU0 + line + "\n") == [expected]


def test_row_and_device() -> None:
    [parsed] = read(GPU0 + "\t Link 0: 25 GB/s\n")
    assert parsed.tables["nvlinks"] == [
        {
            "input": 1, "line": 2, "gpu": 0, "gpu_name": "NVIDIA A100-SXM4-80GB",
            "link": 0, "state": "active", "gb_s": 25.0,
        }
    ]  # fmt: skip
    device = parsed.tables["devices"][0]
    assert (device["gpu"], device["name"], device["line"]) == (0, "NVIDIA A100-SXM4-80GB", 1)


def test_silent_gpu_is_unknown_where_others_speak() -> None:
    assert states(GPU0 + "\t Link 0: 25 GB/s\n" + GPU1) == [
        (0, 0, "active", 25.0),
        (1, None, "unknown", None),
    ]


def test_headings_alone_after_the_command_are_unknown_and_without_it_a_list() -> None:
    assert states("$ nvidia-smi nvlink -s\n" + GPU0 + GPU1) == [
        (0, None, "unknown", None),
        (1, None, "unknown", None),
    ]
    assert [p.kind for p in read_sections(GPU0 + GPU1)] == ["smi_L"]


def test_list_followed_by_states_without_prompts() -> None:
    assert states(GPU0 + GPU1 + GPU0 + "\t Link 0: 25 GB/s\n" + GPU1 + "\t Link 0: <inactive>\n") == [
        (0, 0, "active", 25.0),
        (1, 0, "inactive", None),
    ]


def test_links_above_any_heading_are_not_guessed() -> None:
    [parsed] = read("\t Link 0: 25 GB/s\n\t Link 1: 25 GB/s\n")
    assert parsed.tables == {}
    assert parsed.problems == ["lines 1, 2: Link lines above any GPU line, not read"]


@pytest.mark.parametrize(
    ("form", "lines"),
    [
        ("-e", "\t Link 0: Replay Errors: 0\n\t Link 0: Recovery Errors: 0\n\t Link 0: CRC Errors: 891\n"),
        ("-c", "\t Link 0, P2P is supported: true\n\t Link 0, Link is supported: false\n"),
        ("-g", "\t Link 0: Rx0: 100 KBytes, Tx0: 0 KBytes\n"),
        ("-p", "\t Link 0: 00000000:38:00.0\n"),
        ("-R", "\t Link 0: Remote Device 00000000:38:00.0: Link 11\n"),
    ],
)
def test_look_alikes_are_no_states(form: str, lines: str) -> None:
    parsed = read(GPU0 + lines)[0]
    assert not {"nvlinks", "nvlink_counters"} & set(parsed.tables), form


def test_payload_counters_in_bytes() -> None:
    text = GPU0 + "\t Link 0: Data Tx: 3 KiB\n\t Link 0: Data Rx: 5 KiB\n\t Link 1: Data Tx: N/A\n"
    assert counters(text) == [(0, 0, 0, 3072, 5120), (0, 1, 0, None, None)]


def test_other_counter_spelling() -> None:
    assert counters(GPU0 + "\n Link 0: Tx0: 1 KiB\n Link 0: Rx0: 2 KiB\n") == [(0, 0, 0, 1024, 2048)]


SNAP = GPU0 + "\t Link 0: Data Tx: {0} KiB\n\t Link 0: Data Rx: {0} KiB\n"


@pytest.mark.parametrize("between", ["", "\n", "$ nvidia-smi nvlink -gt d\n", "```\nlater:\n```\n"])
def test_snapshots_are_numbered_through_the_file(between: str) -> None:
    text = SNAP.format(1) + between + SNAP.format(2) + between + SNAP.format(3)
    assert counters(text) == [(0, 0, n, 1024 * (n + 1), 1024 * (n + 1)) for n in range(3)]


def test_two_commands_for_two_gpus_are_one_snapshot() -> None:
    text = "$ nvidia-smi nvlink -gt d -i 0\n" + SNAP.format(1)
    text += "$ nvidia-smi nvlink -gt d -i 1\n" + SNAP.format(2).replace("GPU 0", "GPU 1")
    assert [(gpu, snapshot) for gpu, _, snapshot, *_ in counters(text)] == [(0, 0), (1, 0)]


def test_states_before_counters_are_no_snapshot() -> None:
    assert [row[2] for row in counters(GPU0 + "\t Link 0: 25 GB/s\n" + SNAP.format(1) + SNAP.format(2))] == [
        0,
        1,
    ]


@pytest.mark.parametrize("between", ["", "$ nvidia-smi nvlink -gt r\n"])
def test_raw_and_payload_are_never_subtracted(between: str) -> None:
    text = SNAP.format(1) + between + SNAP.format(9).replace("Data", "Raw")
    assert counters(text) == [(0, 0, 0, 1024, 1024)]
    assert any("raw counters beside payload" in problem for p in read(text) for problem in p.problems)


def test_raw_alone_is_read() -> None:
    assert counters(SNAP.format(9).replace("Data", "Raw")) == [(0, 0, 0, 9216, 9216)]


@pytest.mark.parametrize("cut", ["Link 0: 26.5", "Link 0: 26.562 G"])
def test_cut_rate_is_unknown(cut: str) -> None:
    assert states(GPU0 + "\t " + cut) == [(0, 0, "unknown", None)]


@pytest.mark.parametrize("cut", ["Link 0: Data Tx: 586", "Link 0: Data Tx: 586 Ki", "Link 1", "Link is down"])
def test_cut_counter_and_prose_say_nothing(cut: str) -> None:
    assert statement_of("\t " + cut) is None


def test_indented_and_html() -> None:
    text = (
        "<pre>\n"
        + GPU0
        + "\t Link 0: 25 GB/s\n\t Link 1: &lt;inactive&gt;\n&nbsp; <product_name&gt;x\n</pre>\n"
    )
    assert [s[2] for s in states(text)] == ["active", "inactive"]
