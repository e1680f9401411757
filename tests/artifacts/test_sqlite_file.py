"""SQLite files as evidence: opened by any name, never changed, refused in one line when unreadable."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import stat
from pathlib import Path

import pytest
from make_export import Trace

from diagnose.artifacts import sqlite_file
from diagnose.artifacts.nsys_sqlite import NsysExport
from diagnose.case import collect
from diagnose.errors import InputError


def small() -> Trace:
    trace = Trace()
    trace.launch(10, 20)
    return trace


def listing(folder: Path) -> dict[str, str]:
    return {
        os.fsdecode(name): hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in sorted(p.name for p in folder.iterdir())
    }


def read_all(path: Path) -> int:
    export = NsysExport(path)
    try:
        return sum(chunk.rows for chunk in export.stream("kernels", ("start_ns",), by_start=True))
    finally:
        export.close()


NAMES = [
    "a?mode=rw.sqlite",
    "a#b.sqlite",
    "a%20b.sqlite",
    "a b.sqlite",
    "a\nb.sqlite",
    "ä€.sqlite",
    "a&b='c\".sqlite",
]


@pytest.mark.parametrize("name", NAMES)
def test_any_file_name_opens_that_file_and_nothing_appears_beside_it(tmp_path: Path, name: str) -> None:
    path = small().write(tmp_path / "plain.sqlite").rename(tmp_path / name)
    # A decoy at the place that an unescaped `%20`, `?` or `#` would lead to.
    for decoy in ("a", "a b.sqlite"):
        if decoy != name:
            sqlite3.connect(tmp_path / decoy).close()
    before = listing(tmp_path)
    assert read_all(path) == 1
    case = collect([path])
    case.finish_hashes()
    case.close()
    assert listing(tmp_path) == before
    assert case.inputs[0].sha256 == before[name]


def test_a_name_that_is_not_utf8_opens(tmp_path: Path) -> None:
    path = (
        small()
        .write(tmp_path / "plain.sqlite")
        .rename(Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xe1.sqlite")))
    )
    assert read_all(path) == 1


def test_a_read_only_file_in_a_read_only_folder_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "evidence"
    folder.mkdir()
    path = small().write(folder / "t.sqlite")
    path.chmod(stat.S_IRUSR)
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert read_all(path) == 1
        assert [p.name for p in folder.iterdir()] == ["t.sqlite"]
    finally:
        folder.chmod(0o700)


def test_the_connection_cannot_write(tmp_path: Path) -> None:
    connection = sqlite_file.open_readonly(small().write(tmp_path / "t.sqlite"))
    for sql in ("CREATE TABLE x (a)", "DELETE FROM StringIds", "PRAGMA user_version = 5", "VACUUM"):
        with pytest.raises(sqlite3.Error):
            connection.execute(sql).fetchall()
            if sql.startswith("PRAGMA"):
                assert connection.execute("PRAGMA user_version").fetchone() == (0,)
                raise sqlite3.OperationalError("the pragma was ignored")
    connection.close()


@pytest.mark.parametrize("suffix", ["-wal", "-journal"])
@pytest.mark.parametrize("through_a_link", [False, True])
def test_changes_that_are_not_in_the_file_yet_are_not_ignored(
    tmp_path: Path, suffix: str, through_a_link: bool
) -> None:
    path = small().write(tmp_path / "t.sqlite")
    side = tmp_path / ("t.sqlite" + suffix)
    if through_a_link:
        (tmp_path / "elsewhere").mkdir()
        path = tmp_path / "elsewhere" / "link.sqlite"
        path.symlink_to(tmp_path / "t.sqlite")
    side.write_bytes(b"")
    sqlite_file.open_readonly(path).close()  # an empty one holds nothing
    side.write_bytes(b"x" * 32)
    with pytest.raises(InputError, match=f"t.sqlite{suffix} beside it holds changes"):
        sqlite_file.open_readonly(path)


def test_a_real_wal_is_refused_and_a_checkpointed_one_is_read(tmp_path: Path) -> None:
    path = small().write(tmp_path / "t.sqlite")
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("INSERT INTO StringIds VALUES (99, 'late')")
    writer.commit()
    before = listing(tmp_path)
    with pytest.raises(InputError, match="-wal beside it"):
        NsysExport(path)
    assert listing(tmp_path) == before
    writer.close()  # writes the WAL back and removes it; the file stays in WAL mode
    assert read_all(path) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["t.sqlite"]


def test_views_and_virtual_tables_are_not_tables(tmp_path: Path) -> None:
    path = small().write(tmp_path / "t.sqlite")
    writer = sqlite3.connect(path)
    writer.execute("CREATE VIEW EXTRAP_RESOLVED AS SELECT 1 AS start")
    writer.execute('CREATE TABLE "odd ""name" ("a b" REAL NOT NULL, c)')
    try:
        writer.execute("CREATE VIRTUAL TABLE search USING fts5(text)")
    except sqlite3.OperationalError:
        pytest.skip("this SQLite has no fts5")
    writer.commit()
    writer.close()
    connection = sqlite_file.open_readonly(path)
    found = sqlite_file.table_columns(connection)
    connection.close()
    assert "EXTRAP_RESOLVED" not in found and "search" not in found
    assert found['odd "name'] == {"a b": ("REAL", True), "c": ("", False)}


# --- files that are no export ---------------------------------------------------------------------


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        collect([path])
    return f"{caught.value.message} | {caught.value.hint}"


def test_files_that_are_no_database_are_named(tmp_path: Path) -> None:
    empty = tmp_path / "empty.sqlite"
    empty.write_bytes(b"")
    assert "0 bytes" in refusal(empty)
    pointer = tmp_path / "pointer.sqlite"
    pointer.write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n")
    assert refusal(pointer) == "is a Git-LFS pointer, not the file itself | git lfs pull"
    fifo = tmp_path / "fifo.sqlite"
    os.mkfifo(fifo)
    assert "not a regular file" in refusal(fifo)


def test_header_only_and_truncated_files_are_damaged_not_healthy(tmp_path: Path) -> None:
    whole = small().write(tmp_path / "t.sqlite").read_bytes()
    header = tmp_path / "header.sqlite"
    header.write_bytes(whole[:100])
    assert "damaged SQLite file" in refusal(header)
    short = tmp_path / "short.sqlite"
    short.write_bytes(whole[:16])
    assert "damaged SQLite file" in refusal(short) or "not an Nsight Systems export" in refusal(short)
    cut = tmp_path / "cut.sqlite"
    cut.write_bytes(whole[: int(len(whole) * 0.4) // 4096 * 4096])
    try:
        export = NsysExport(cut)
    except InputError as error:
        assert "damaged" in error.message
    else:
        list(export.stream("kernels", ("start_ns",)))
        assert export.broken == {"kernels"} and export.problems


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        (["StringTable", "CUPTI_ACTIVITY_KIND_KERNEL", "StringIds"], "nvprof"),
        (["experiments", "runs"], "MLflow"),
        (["rocpd_string"], "ROCm"),
        (["dlprof_schema_version"], "DLProf"),
        (["cats", "dogs"], "it holds: cats, dogs"),
        ([], "no tables"),
    ],
)
def test_databases_of_other_tools_are_told_apart(tmp_path: Path, tables: list[str], said: str) -> None:
    path = tmp_path / "other.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 1")  # an empty database is a file too
    for table in tables:
        connection.execute(f"CREATE TABLE {table} (id INTEGER)")
    connection.commit()
    connection.close()
    message = refusal(path)
    assert said in message and "not an Nsight Systems export" in message


@pytest.mark.parametrize(
    "table", ["CUPTI_ACTIVITY_KIND_MEMCPY", "StringIds", "NVTX_EVENTS", "TARGET_INFO_GPU"]
)
def test_a_reduced_export_is_known_by_any_table_of_one(tmp_path: Path, table: str) -> None:
    path = tmp_path / "t.sqlite"
    connection = sqlite3.connect(path)
    connection.execute(f"CREATE TABLE {table} (id INTEGER)")
    connection.close()
    NsysExport(path).close()


def test_a_damaged_schema_with_undecodable_names_is_said_in_one_line(tmp_path: Path) -> None:
    path = small().write(tmp_path / "t.sqlite")
    content = path.read_bytes()
    content = content.replace(b'CREATE TABLE "StringIds"', b'CRXATE TABLE "StringIds"')
    path.write_bytes(content.replace(b"StringIds", b"\xa5" * 9))
    assert "damaged SQLite file" in refusal(path)
