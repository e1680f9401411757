"""Every table has a command that collects it, and no command repeats a known mistake."""

from __future__ import annotations

import shlex

import pytest

from diagnose import tables
from diagnose.catalogue import captures, load

TABLES = [
    *tables.STREAMS,
    *tables.TABLES,
    "ranges",
    "um_faults",
    "gpu_metrics",
    "process_output",
    "settings",
    "os_calls",
    "overheads",
    "kernel_log",
    "nccl_log",
    "pcie_links",
    "pcie_functions",
    "ib_ports",
    "fabric",
    "software",
    "memory_log",
    "serving_log",
    "log_errors",
    "trace_info",
]


@pytest.mark.parametrize("table", TABLES)
def test_every_table_has_a_command(table: str) -> None:
    found = captures.capture_for(table)
    assert found is not None
    assert found.missing == table
    assert found.command


@pytest.mark.parametrize(("table", "column"), [(t, c) for t, cols in tables.STREAMS.items() for c in cols])
def test_every_column_falls_back(table: str, column: str) -> None:
    assert captures.capture_for(f"{table}.{column}") is not None


@pytest.mark.parametrize(
    ("missing", "part"),
    [
        ("kernels.graph", "--cuda-graph-trace=node"),
        ("kernels.graph_node", "--cuda-graph-trace=node"),
        ("graph_launches", "--cuda-graph-trace=node"),
        ("allocations", "--cuda-memory-usage=true"),
        ("allocations.pool_used", "--cuda-memory-usage=true"),
        ("copies.um_cause", "--cuda-um-gpu-page-faults=true"),
        ("um_faults", "--cuda-um-cpu-page-faults=true"),
        ("gpu_metrics", "--gpu-metrics-devices=all"),
        ("ranges", "nvtx"),
        ("gpu_pairs", "topo -m"),
        ("nvlinks", "nvlink -s"),
        ("nvlink_counters", "nvlink -gt d"),
        ("gpu_samples.fb", "dmon -s m"),
        ("gpu_samples.sm", "dmon -s pucvmet"),
        ("devices.cc", "compute_cap"),
        ("text_lines.nccl_shm", "NCCL_DEBUG=INFO"),
        ("text_lines.acs_redirect", "lspci -vvv"),
        ("text_lines.fp8_refused", "app.log"),
    ],
)
def test_command_for(missing: str, part: str) -> None:
    found = captures.capture_for(missing)
    assert found is not None
    assert part in found.command


def test_unknown_is_none() -> None:
    assert captures.capture_for("no_such_table") is None
    assert captures.capture_for("no_such.column") is None
    assert captures.capture_for("") is None


def test_older_spelling_is_told() -> None:
    found = captures.capture_for("gpu_metrics")
    assert found is not None
    assert "--gpu-metrics-device=all" in found.note


@pytest.mark.parametrize("key", list(captures.all_captures()))
def test_commands_are_sound(key: str) -> None:
    command = captures.all_captures()[key].command
    assert shlex.split(command)
    if "nsys profile" in command:
        traces = [word for word in shlex.split(command) if word.startswith("--trace=")]
        assert len(traces) == 1
        assert set(traces[0].removeprefix("--trace=").split(",")) <= {"cuda", "nvtx", "osrt"}
        assert "nsys export --type=sqlite" in command
    assert "topo -mp" not in command
    assert "nvprof" not in command
    assert "nvlink -g " not in command
    assert "| grep -i nvidia" not in command


def test_aliases_lead_somewhere() -> None:
    known = captures.all_captures()
    for alias, target in load.data("captures.toml")["alias"].items():
        assert target in known, alias
        assert alias not in known, alias
