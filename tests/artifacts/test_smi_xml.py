"""`nvidia-smi -q -x`: MIG devices, renamed elements, breaks, and documents that must be refused."""

from __future__ import annotations

import time
from typing import Any

import pytest

from diagnose.artifacts.paste import clean, split
from diagnose.artifacts.smi_xml import READERS
from diagnose.artifacts.unread import TextParsed
from diagnose.tables import TABLES

[READER] = READERS
MIB = 1024 * 1024

HEAD = '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n<nvidia_smi_log>\n'
GPU = """    <timestamp>Fri Aug  4 11:44:30 2023</timestamp>
    <driver_version>535.54.03</driver_version>
    <cuda_version>12.2</cuda_version>
    <attached_gpus>1</attached_gpus>
    <gpu id="00000000:01:00.0">
        <product_name>NVIDIA A100-SXM4-80GB</product_name>
        <mig_mode>
            <current_mig>Enabled</current_mig>
        </mig_mode>
        <mig_devices>
            <mig_device>
                <index>0</index>
                <fb_memory_usage>
                    <total>19968 MiB</total>
                    <used>12 MiB</used>
                </fb_memory_usage>
            </mig_device>
        </mig_devices>
        <uuid>GPU-1</uuid>
        <gpu_part_number>20B2-895-A1</gpu_part_number>
        <pci>
            <pci_device_id>20B210DE</pci_device_id>
            <pci_gpu_link_info>
                <pcie_gen>
                    <max_link_gen>4</max_link_gen>
                    <current_link_gen>1</current_link_gen>
                    <max_host_link_gen>N/A</max_host_link_gen>
                </pcie_gen>
                <link_widths>
                    <max_link_width>16x</max_link_width>
                    <current_link_width>8x</current_link_width>
                </link_widths>
            </pci_gpu_link_info>
            <replay_counter>3</replay_counter>
        </pci>
        <clocks_event_reasons>
            <clocks_event_reason_gpu_idle>Not Active</clocks_event_reason_gpu_idle>
            <clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap>
        </clocks_event_reasons>
        <clocks_event_reasons_counters>
            <{c}_hw_therm_slowdown>5 us</{c}_hw_therm_slowdown>
        </clocks_event_reasons_counters>
        <fb_memory_usage>
            <total>81920 MiB</total>
            <used>50 MiB</used>
        </fb_memory_usage>
        <utilization>
            <gpu_util>N/A</gpu_util>
        </utilization>
        <gpu_power_readings>
            <power_draw>67.03 W</power_draw>
        </gpu_power_readings>
        <processes>
            <process_info>
                <gpu_instance_id>3</gpu_instance_id>
                <pid>77</pid>
                <type>C</type>
                <process_name>python -c &quot;a &lt; b &amp; c&quot;</process_name>
                <used_memory>12 MiB</used_memory>
            </process_info>
        </processes>
    </gpu>
"""
GPU = GPU.replace("{c}", "clocks_event_reasons_counters")
TAIL = "</nvidia_smi_log>\n"
WHOLE = HEAD + GPU + TAIL


def read(text: str) -> TextParsed:
    found = [READER.read(s) for s in split(clean(text), 3) if READER.sniff(s)]
    assert len(found) == 1
    for name, rows in found[0].tables.items():
        assert all(list(row) == list(TABLES[name]) for row in rows), name
    return found[0]


def one(parsed: TextParsed, table: str) -> dict[str, Any]:
    [row] = parsed.tables[table]
    return row


def readings(parsed: TextParsed) -> dict[str, float | None]:
    return {r["column"]: r["value"] for r in parsed.tables["gpu_readings"]}


def test_whole_document() -> None:
    parsed = read(WHOLE)
    assert parsed.problems == [] and parsed.rows == 1
    device = one(parsed, "devices")
    assert (device["gpu"], device["name"], device["memory_bytes"]) == (
        0, "NVIDIA A100-SXM4-80GB", 81920 * MIB,
    )  # fmt: skip
    assert (device["device_id"], device["mig"], device["mig_devices"]) == ("10de:20b2", True, 1)
    link = one(parsed, "pcie_links")
    told = {name: link[name] for name in ("gen_current", "gen_host_max", "width_current", "replays")}
    assert told == {"gen_current": 1, "gen_host_max": None, "width_current": 8, "replays": 3}
    assert readings(parsed) == {"sm": None, "fb": 50, "fb_total": 81920, "pwr": 67.03}
    events = {r["reason"]: (r["active"], r["counter_us"]) for r in parsed.tables["clock_events"]}
    assert events == {
        "gpu_idle": (False, None), "sw_power_cap": (True, None), "hw_thermal_slowdown": (None, 5),
    }  # fmt: skip
    process = one(parsed, "gpu_processes")
    assert (process["pid"], process["kind"], process["gpu_instance"]) == (77, "C", 3)
    assert all("python" not in str(row) for rows in parsed.tables.values() for row in rows)


def test_lines_are_those_of_the_file() -> None:
    row = next(r for r in read("note\n\n" + WHOLE).tables["gpu_readings"] if r["column"] == "fb")
    assert ("note\n\n" + WHOLE).split("\n")[row["line"] - 1].strip() == "<used>50 MiB</used>"


def test_throttle_and_power_names_before_535() -> None:
    old = WHOLE.replace("_event_reason", "_throttle_reason").replace("gpu_power_readings", "power_readings")
    assert readings(read(old))["pwr"] == 67.03
    assert {r["reason"] for r in read(old).tables["clock_events"]} == {
        "gpu_idle", "sw_power_cap", "hw_thermal_slowdown",
    }  # fmt: skip


def test_one_of_four_has_no_index() -> None:
    parsed = read(WHOLE.replace("<attached_gpus>1", "<attached_gpus>4"))
    assert one(parsed, "devices")["gpu"] is None
    assert "4 GPUs attached, 1 shown" in parsed.problems[0]


@pytest.mark.parametrize("subset", ['<!ENTITY a "b">', "<!ELEMENT gpu ANY>", ""])
def test_internal_subset_is_refused(subset: str) -> None:
    text = WHOLE.replace('"nvsmi_device_v12.dtd">', f'"nvsmi_device_v12.dtd" [{subset}]>')
    parsed = read(text)
    assert parsed.tables == {}
    assert len(parsed.problems) == 1 and "line 2:" in parsed.problems[0] and "refused" in parsed.problems[0]


def test_entity_bomb_costs_nothing() -> None:
    entities = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10 if i else "x" * 100}">\n' for i in range(12))
    text = f"<?xml version='1.0'?>\n<!DOCTYPE nvidia_smi_log [\n{entities}]>\n<nvidia_smi_log>&e11;\n"
    began = time.perf_counter()
    assert read(text).tables == {}
    assert time.perf_counter() - began < 1.0


def test_external_entity_is_never_fetched() -> None:
    text = WHOLE.replace("<used>50 MiB</used>", "<used>&file;</used>")
    assert "fb" not in readings(read(text)) or readings(read(text))["fb"] is None


def test_nested_too_deep() -> None:
    parsed = read(HEAD + "<a>" * 100 + "\n")
    assert "too deep" in parsed.problems[0]


def test_break_keeps_what_stood_before() -> None:
    at = WHOLE.index("50 MiB")
    parsed = read(WHOLE[: at + 1])
    assert readings(parsed)["fb_total"] == 81920 and "fb" not in readings(parsed)
    assert len(parsed.problems) == 1 and "breaks off" in parsed.problems[0]


def test_damaged_then_a_new_document() -> None:
    parsed = read(WHOLE[: WHOLE.index("<uuid>")] + "\n" + WHOLE)
    assert parsed.rows == 2
    assert any("breaks off" in p for p in parsed.problems)
    assert parsed.tables["devices"][-1]["memory_bytes"] == 81920 * MIB


def test_text_after_the_document_is_left_to_others() -> None:
    parsed = read(WHOLE + "RuntimeError: no\n")
    assert [line.text for line in parsed.unread] == ["RuntimeError: no"]


def test_two_documents_are_not_a_series_and_three_are() -> None:
    assert "gpu_samples" not in read(WHOLE * 2).tables
    rows = [r for r in read(WHOLE * 3).tables["gpu_samples"] if r["column"] == "fb"]
    assert [(r["gpu"], r["second"], r["value"]) for r in rows] == [(0, 0, 50)] * 3


def test_html_escaped_paste() -> None:
    escaped = WHOLE.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert readings(read(escaped))["fb_total"] == 81920
