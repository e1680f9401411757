"""Damaged tables, and the window that shares are taken over."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from make_export import GRAPH, KERNEL, MEMCPY, RUNTIME, Trace
from measuring import Asked

from diagnose.scope import Scope

SYNC = "cudaDeviceSynchronize_v3020"


def launches(count: int) -> Trace:
    trace = Trace()
    for i in range(count):
        trace.launch(100 * i + 10, 100 * i + 60, corr=i + 1)
    return trace


@pytest.mark.parametrize(
    ("table", "lost", "kept"),
    [
        (KERNEL, "kernel_count", "copy_count"),
        (MEMCPY, "copy_count", "kernel_count"),
        (GRAPH, "kernel_count", "api_count"),
        (RUNTIME, "api_count", None),
    ],
)
def test_a_damaged_table_makes_its_metrics_unknown_and_leaves_the_others(
    tmp_path: Path, table: str, lost: str, kept: str | None
) -> None:
    trace = launches(400)
    for i in range(400):
        trace.copy(50_000 + 10 * i, 50_005 + 10 * i)
        if table == GRAPH:
            trace.graph(90_000 + i, 90_001 + i)
    asked = Asked(tmp_path, trace)
    with sqlite3.connect(asked.path) as connection:
        page = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]
    connection.close()
    with asked.path.open("r+b") as stream:
        stream.seek((page - 1) * 4096)
        stream.write(b"\xa5" * 4096)
    group: dict[str, Any] = {"group": "launch"}
    assert "damaged" in asked.unknown(lost, **(group if lost == "api_count" else {}))
    assert asked.unknown("api_idle_share", group="launch")
    if kept is not None:
        assert asked.value(kept, **(group if kept == "api_count" else {})) == 400


def test_the_window_spans_every_table_but_memory_events(tmp_path: Path) -> None:
    trace = launches(1)  # call at 9, kernel 10 … 60
    trace.memory(-500, 1)
    assert Asked(tmp_path, trace).value("window_ns") == 51
    trace.memset(70, 90)
    trace.copy(-40, -30)
    assert Asked(tmp_path, trace).value("window_ns") == 130
    trace.graph(100, 200)
    trace.api(150, 300, SYNC)
    assert Asked(tmp_path, trace).value("window_ns") == 340
    empty = Trace()
    empty.gpu()
    assert Asked(tmp_path, empty).unknown("window_ns")


def test_the_steady_window_leaves_out_the_longest_call_before_the_first_work(tmp_path: Path) -> None:
    trace = Trace()
    trace.api(0, 10, "cudaGetDeviceCount_v3020")
    trace.api(10, 400, "cudaFree_v3020")  # context creation is not the first call
    trace.launch(500, 600)
    trace.api(600, 900, SYNC)
    trace.api(0, 700, SYNC, pid=200)
    trace.launch(800, 1000, pid=200)
    # W = 0 … 1000. Process 100: 1000 - 390 = 610, sync 300. Process 200: 1000 - 700 = 300; its one sync
    # is what created its context, so no sync is left.
    asked = Asked(tmp_path, trace)
    assert asked.value("api_wall_share", Scope(pid=100), group="sync") == pytest.approx(300 / 610)
    assert asked.value("api_wall_share", Scope(pid=200), group="sync") == 0.0
