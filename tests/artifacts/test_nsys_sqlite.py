"""The event streams of an export: columns that come and go, odd cells, damaged pages, names."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from make_export import GRAPH, KERNEL, MEMCPY, MEMORY, MEMSET, RUNTIME, Trace, gpid, gtid

from diagnose.artifacts import nsys_sqlite
from diagnose.artifacts.nsys_schema import STREAM_TABLES
from diagnose.artifacts.nsys_sqlite import NsysExport
from diagnose.tables import STREAMS

TABLE = {s: layout.table for s, layout in STREAM_TABLES.items()}


def full() -> Trace:
    trace = Trace()
    trace.api(5, 8, "cudaLaunchKernel_v7000", corr=3, code=0, tid=2)
    trace.kernel(10, 20, "long name", short="short", corr=3, device=1, stream=8, context=2, node=9)
    trace.copy(30, 40, 64, 11, src=7, dst=7, cause=1, address=2**40, corr=4)
    trace.memset(50, 60)
    trace.graph(70, 80)
    trace.memory(90, 128, pool=(256, 100), pool_address=77, threshold=-1)
    return trace


def rows(export: NsysExport, stream: str, wanted: Any = None, **how: Any) -> list[dict[str, int | None]]:
    out: list[dict[str, int | None]] = []
    for chunk in export.stream(stream, wanted or STREAMS[stream], **how):
        masks = {n: chunk.mask(n) for n in chunk.columns}
        out += [
            {n: int(v[i]) if masks[n][i] else None for n, v in chunk.columns.items()}
            for i in range(chunk.rows)
        ]
    return out


EXPECTED: dict[str, dict[str, int | None]] = {
    "api_calls": {
        "start_ns": 5,
        "end_ns": 8,
        "global_tid": gtid(100, 2),
        "correlation": 3,
        "name_id": 1,
        "return_code": 0,
    },
    "kernels": {
        "start_ns": 10,
        "end_ns": 20,
        "device": 1,
        "context": 2,
        "stream": 8,
        "global_pid": gpid(100),
        "correlation": 3,
        "name_id": 2,
        "graph_node": 9,
    },
    "copies": {
        "start_ns": 30,
        "end_ns": 40,
        "device": 0,
        "stream": 7,
        "global_pid": gpid(100),
        "correlation": 4,
        "bytes": 64,
        "kind": 11,
        "src_memory": 7,
        "dst_memory": 7,
        "um_cause": 1,
        "address": 2**40,
    },
    "memsets": {"start_ns": 50, "end_ns": 60, "device": 0, "global_pid": gpid(100)},
    "graph_launches": {"start_ns": 70, "end_ns": 80, "device": 0, "global_pid": gpid(100)},
    "allocations": {
        "start_ns": 90,
        "global_pid": gpid(100),
        "device": 0,
        "address": 0,
        "bytes": 128,
        "memory_kind": 2,
        "operation": 0,
        "pool_address": 77,
        "pool_size": 256,
        "pool_used": 100,
        "pool_threshold": -1,
    },
}


@pytest.mark.parametrize("backwards", [False, True])
def test_every_column_lands_under_its_own_name_in_any_order(tmp_path: Path, backwards: bool) -> None:
    export = NsysExport(full().write(tmp_path / "t.sqlite", backwards=backwards))
    for stream, expected in EXPECTED.items():
        assert rows(export, stream) == [expected]
        assert set(expected) == set(STREAMS[stream]) == set(STREAM_TABLES[stream].columns)
        assert export.count(TABLE[stream]) == 1


def cases() -> list[tuple[str, str, str]]:
    return [
        (s, name, columns[0])
        for s, layout in STREAM_TABLES.items()
        for name, columns in layout.columns.items()
    ]


@pytest.mark.parametrize(("stream", "name", "column"), cases(), ids=lambda v: str(v))
def test_a_missing_column_is_absent_and_the_others_stay(
    tmp_path: Path, stream: str, name: str, column: str
) -> None:
    export = NsysExport(full().write(tmp_path / "t.sqlite", without={TABLE[stream]: [column]}))
    expected = dict(EXPECTED[stream])
    if name in STREAM_TABLES[stream].required:
        assert rows(export, stream) == [] and export.stream_columns(stream) == {}
        return
    del expected[name]
    if (stream, name) == ("kernels", "name_id"):
        expected["name_id"] = 3  # the short name stands in
        expected = {n: expected[n] for n in EXPECTED[stream]}
    assert rows(export, stream) == [expected]


def test_only_wanted_columns_come_and_unknown_ones_are_ignored(tmp_path: Path) -> None:
    trace = full()
    trace.tables[KERNEL][0] |= {"kernel_name": "text of another tool", "tensorSizeMinusOneElements": "1,2"}
    export = NsysExport(trace.write(tmp_path / "t.sqlite", types={"kernel_name": "TEXT"}))
    assert rows(export, "kernels", ("end_ns", "device", "no_such_column")) == [{"end_ns": 20, "device": 1}]
    assert rows(export, "kernels", ("nothing",)) == []
    with pytest.raises(KeyError):
        rows(export, "no stream", ("start_ns",))


@pytest.mark.parametrize("table", [KERNEL, MEMCPY, MEMSET, GRAPH, RUNTIME, MEMORY])
def test_a_table_with_no_rows_reads_as_an_absent_one(tmp_path: Path, table: str) -> None:
    trace = full()
    stream = next(s for s, t in TABLE.items() if t == table)
    path = trace.write(tmp_path / "t.sqlite")
    connection = sqlite3.connect(path)
    connection.execute(f"DELETE FROM {table}")
    connection.commit()
    connection.close()
    export, absent = NsysExport(path), NsysExport(full().write(tmp_path / "u.sqlite", drop=[table]))
    for one in (export, absent):
        assert rows(one, stream) == [] and one.count(table) == 0
        assert one.problems == [] and one.broken == set()


# --- odd cells ------------------------------------------------------------------------------------

cell = st.one_of(
    st.none(), st.integers(-(2**62), 2**62), st.sampled_from(["12", "twelve", "", 1.0, 2.75, b"\xff", 1e300])
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(cell, cell), min_size=1, max_size=9), st.integers(1, 4))
def test_a_cell_reads_the_same_whatever_stands_beside_it(
    tmp_path_factory: pytest.TempPathFactory, cells: list[tuple[Any, Any]], rows_a_chunk: int
) -> None:
    """NULL, text or reals in a column: whole numbers and digits are values, the rest is unknown."""
    trace = Trace()
    for i, (device, cause) in enumerate(cells):
        trace.copy(i, i + 1)
        trace.tables[MEMCPY][-1] |= {"deviceId": device, "migrationCause": cause}
    path = trace.write(
        tmp_path_factory.mktemp("c") / "t.sqlite", types={"deviceId": "", "migrationCause": ""}
    )

    def told(value: Any) -> int | None:
        if value in ("twelve", "", b"\xff", 1e300, None):
            return None
        return int(value)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nsys_sqlite, "CHUNK_ROWS", rows_a_chunk)
        found = rows(NsysExport(path), "copies", ("device", "um_cause"))
    assert found == [{"device": told(d), "um_cause": told(c)} for d, c in cells]


def test_rows_without_a_place_in_time_are_left_out_and_said(tmp_path: Path) -> None:
    trace = Trace()
    for start, end in ((10, 20), (None, 20), (10, None), (30, 40)):
        trace.kernel(start, end)
    export = NsysExport(trace.write(tmp_path / "t.sqlite"))
    for _ in range(2):
        assert rows(export, "kernels", ("start_ns", "end_ns")) == [
            {"start_ns": 10, "end_ns": 20},
            {"start_ns": 30, "end_ns": 40},
        ]
    assert export.problems == [f"t.sqlite: 2 rows of table {KERNEL} have no start or end and were left out"]


def test_the_backtrace_copy_of_a_call_is_dropped(tmp_path: Path) -> None:
    trace = Trace()
    trace.api(10, 20, "cudaMalloc_v3020", corr=1, event_class=0)
    trace.api(10, 20, "cudaMalloc", corr=1, event_class=67)
    trace.api(30, 40, "cuMemAlloc_v2", corr=2, event_class=1)
    trace.api(50, 60, "cudaFree_v3020", corr=3, event_class=None)  # type: ignore[arg-type]
    export = NsysExport(trace.write(tmp_path / "t.sqlite"))
    assert [r["correlation"] for r in rows(export, "api_calls")] == [1, 2, 3]
    assert export.deduplicated("api_calls")
    blind = NsysExport(trace.write(tmp_path / "u.sqlite", without={RUNTIME: ["eventClass"]}))
    assert len(rows(blind, "api_calls")) == 4 and not blind.deduplicated("api_calls")
    assert blind.deduplicated("kernels")


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(-9, 9), max_size=20))
def test_by_start_sorts_and_keeps_the_order_of_equal_starts(
    tmp_path_factory: pytest.TempPathFactory, starts: list[int]
) -> None:
    trace = Trace()
    for i, start in enumerate(starts):
        trace.kernel(start, start + 1, corr=i)
    export = NsysExport(trace.write(tmp_path_factory.mktemp("s") / "t.sqlite"))
    found = [(r["start_ns"], r["correlation"]) for r in rows(export, "kernels", by_start=True)]
    assert found == sorted((start, i) for i, start in enumerate(starts))
    assert [r["correlation"] for r in rows(export, "kernels")] == list(range(len(starts)))


# --- names ----------------------------------------------------------------------------------------


def test_names_are_read_by_id_in_any_number_and_encoding(tmp_path: Path) -> None:
    trace = full()
    path = trace.write(tmp_path / "t.sqlite")
    connection = sqlite3.connect(path)
    connection.execute(
        "INSERT INTO StringIds VALUES (500, CAST(X'63E163' AS TEXT)), (501, CAST(X'610062' AS TEXT))"
    )
    connection.execute("INSERT INTO StringIds VALUES (502, ''), (503, NULL)")
    connection.executemany("INSERT INTO StringIds VALUES (?, ?)", [(i, f"n{i}") for i in range(1000, 2300)])
    connection.commit()
    connection.close()
    export = NsysExport(path)
    found = export.strings([*range(1000, 2300), 500, 501, 502, 503, 99_999, 1, 1, -5, 2**62])
    assert found[500] == "c\ufffdc" and found[501] == "a\x00b" and found[502] == ""
    assert 503 not in found and 99_999 not in found and found[1] == "cudaLaunchKernel_v7000"
    assert [found[i] for i in range(1000, 2300)] == [f"n{i}" for i in range(1000, 2300)]
    assert export.problems == []
    assert NsysExport(full().write(tmp_path / "u.sqlite", drop=["StringIds"])).strings([1]) == {}


def test_a_dangling_demangled_name_falls_back_to_the_short_one(tmp_path: Path) -> None:
    trace = Trace()
    for i in range(700):  # more than fit into one statement
        trace.kernel(i, i + 1, 9_000 + i, short=f"short{i}")
    trace.kernel(900, 901, 5_000, short=5_001)
    trace.kernel(910, 911, "whole", short="other")
    trace.add(KERNEL, **(trace.tables[KERNEL][0] | {"demangledName": 6_000, "shortName": 6_001}))
    for row in trace.tables[KERNEL]:
        row["mangledName"] = "_Zmangled" if row["demangledName"] == 6_000 else None
    export = NsysExport(trace.write(tmp_path / "t.sqlite"))
    whole = trace.strings["whole"]
    found = export.kernel_names([*range(9_000, 9_700), 5_000, 6_000, whole])
    assert found[9_000] == "short0" and found[9_699] == "short699"
    assert found[whole] == "whole" and found[6_000] == "_Zmangled"
    assert 5_000 not in found


# --- damage ---------------------------------------------------------------------------------------


def damaged(path: Path, page: int) -> Path:
    with path.open("r+b") as stream:
        stream.seek((page - 1) * 4096)
        stream.write(b"\xa5" * 4096)
    return path


def test_one_overwritten_page_breaks_its_stream_and_keeps_what_came_before(tmp_path: Path) -> None:
    trace = Trace()
    for i in range(3000):
        trace.launch(10 * i, 10 * i + 5)
    path = trace.write(tmp_path / "t.sqlite")
    connection = sqlite3.connect(path)
    pages = (
        [
            p
            for (p,) in connection.execute(
                "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf'", (KERNEL,)
            )
        ]
        if _has_dbstat(connection)
        else []
    )
    root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (KERNEL,)).fetchone()[0]
    connection.close()
    damaged(path, pages[len(pages) // 2] if pages else root)
    export = NsysExport(path)  # opens, lists its tables
    read = rows(export, "kernels")
    assert 0 <= len(read) < 3000
    assert export.broken == {"kernels"}
    assert len(export.problems) == 1 and KERNEL in export.problems[0]
    assert len(rows(export, "api_calls")) == 3000 and export.broken == {"kernels"}
    assert export.count(RUNTIME) == 3000 and isinstance(export.count(KERNEL), int)


def _has_dbstat(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("SELECT 1 FROM dbstat LIMIT 1")
    except sqlite3.OperationalError:
        return False
    return True


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(2, 40), st.integers(0, 4095), st.binary(min_size=1, max_size=64))
def test_damaged_bytes_never_crash_the_reader(
    tmp_path_factory: pytest.TempPathFactory, page: int, offset: int, junk: bytes
) -> None:
    from diagnose.errors import InputError

    trace = full()
    for i in range(300):
        trace.launch(10 * i, 10 * i + 5, f"name {i}")
    path = trace.write(tmp_path_factory.mktemp("d") / "t.sqlite")
    content = bytearray(path.read_bytes())
    at = ((page - 1) * 4096 + offset) % len(content)
    content[at : at + len(junk)] = junk
    path.write_bytes(bytes(content))
    try:
        export = NsysExport(path)
    except InputError:
        return
    for stream in STREAM_TABLES:
        for chunk in export.stream(stream, STREAMS[stream]):
            assert all(len(v) == chunk.rows and v.dtype == np.int64 for v in chunk.columns.values())
    export.kernel_names(range(400))
    export.close()


@pytest.mark.parametrize(
    "error", [MemoryError(), UnicodeDecodeError("utf-8", b"\xa5", 0, 1, "invalid start byte")]
)
def test_what_sqlite_raises_on_nonsense_is_no_crash(tmp_path: Path, error: Exception) -> None:
    """A damaged length makes SQLite run out of memory; a damaged name cannot be decoded for its message."""
    export = NsysExport(full().write(tmp_path / "t.sqlite"))
    export.connection.close()

    class Broken:
        def execute(self, *_: Any) -> Any:
            raise error

    export.connection = Broken()  # type: ignore[assignment]
    assert export.rows("SELECT 1") == [] and rows(export, "kernels") == []
    assert export.broken == {"kernels"} and len(export.problems) == 2
    assert all("make no sense" in problem for problem in export.problems)
