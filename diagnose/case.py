"""One incident: any mix of files or a folder, recognised by content, read, hashed and put on one clock."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from diagnose.artifacts import nsys_facts, sqlite_file
from diagnose.artifacts.base import Row
from diagnose.artifacts.nsys_facts import TraceFacts
from diagnose.artifacts.nsys_sqlite import NsysExport
from diagnose.artifacts.text import read_text
from diagnose.errors import InputError
from diagnose.findings import Input

MAX_FILES = 2000  # of one case; a folder with more is not one incident
LFS = b"version https://git-lfs.github.com/spec/"
TRACE_KIND = NsysExport.kind


@dataclass(slots=True)
class Case:
    """Tables of the text artifacts, the trace still open for the pass, and what could not be read."""

    inputs: list[Input] = field(default_factory=list)
    tables: dict[str, list[Row]] = field(default_factory=dict)
    export: NsysExport | None = None
    facts: TraceFacts = field(default_factory=TraceFacts)
    notes: list[str] = field(default_factory=list)
    errors: list[InputError] = field(default_factory=list)
    _hashing: list[tuple[int, threading.Thread, list[str]]] = field(default_factory=list)

    def finish_hashes(self) -> None:
        """Waits for the SHA-256 of the inputs, which are computed beside the reading."""
        for index, thread, digest in self._hashing:
            thread.join()
            old = self.inputs[index]
            self.inputs[index] = Input(
                old.path,
                old.kind,
                digest[0] if digest else "",
                old.bytes,
                old.rows,
                old.problems,
                old.readable,
            )
        self._hashing.clear()

    def set_rows(self, index: int, rows: int, problems: Sequence[str]) -> None:
        old = self.inputs[index]
        self.inputs[index] = Input(
            old.path, old.kind, old.sha256, old.bytes, rows, tuple(problems), old.readable
        )

    def close(self) -> None:
        if self.export is not None:
            self.export.close()


def collect(paths: Sequence[Path], *, hash_inputs: bool = True) -> Case:
    """Reads every path of the case. An unreadable one is recorded in `errors`; the others go on.

    Raises InputError when a named path does not exist or when nothing at all can be read.
    """
    case = Case()
    files = list(_files(paths, case))
    for path in files:
        try:
            _add(case, path, hash_inputs)
        except InputError as error:
            case.errors.append(error)
            case.inputs.append(
                Input(str(path), "unreadable", "", _size(path), 0, (error.message,), readable=False)
            )
    if not any(one.readable for one in case.inputs):
        case.close()
        if len(case.errors) == 1:
            raise case.errors[0]
        if case.errors:
            listed = "; ".join(str(e) for e in case.errors[:5])
            raise InputError(
                f"none of {len(case.errors)} files can be read: {listed}",
                hint="diagnose inspect PATH tells what each is",
            )
        raise InputError("there is no file to read", where=", ".join(str(p) for p in paths))
    if case.export is not None:
        _trace_tables(case)
    _align(case)
    return case


def _files(paths: Sequence[Path], case: Case) -> Iterator[Path]:
    count = 0
    for path in paths:
        if not path.exists():
            raise InputError("no such file or folder", where=str(path))
        if not path.is_dir():
            yield path
            continue
        _refuse_export_folder(path)
        for root, folders, names in os.walk(path):
            folders[:] = sorted(f for f in folders if not f.startswith("."))
            for name in sorted(names):
                if name.startswith(".") or name in ("expected.json",):
                    continue
                count += 1
                if count > MAX_FILES:
                    case.notes.append(f"{path}: more than {MAX_FILES} files; the rest was not read")
                    return
                yield Path(root) / name


def _refuse_export_folder(path: Path) -> None:
    kinds = {p.suffix for p in path.iterdir() if p.is_file()}
    for suffix, kind in ((".parquet", "parquetdir"), (".arrow", "arrowdir")):
        if suffix in kinds:
            raise InputError(
                f"is a {kind} export, which is not read yet",
                where=str(path),
                hint="nsys export --type sqlite --output RUN.sqlite RUN.nsys-rep",
            )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _head(path: Path) -> bytes:
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise InputError("is not a regular file (a pipe, socket or device)", where=str(path))
        with path.open("rb") as stream:
            return stream.read(4096)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=str(path)) from error


def _add(case: Case, path: Path, hash_inputs: bool) -> None:
    head = _head(path)
    if not head:
        raise InputError("is empty (0 bytes)", where=str(path))
    if head.startswith(LFS):
        raise InputError("is a Git-LFS pointer, not the file itself", where=str(path), hint="git lfs pull")
    index = len(case.inputs)
    if sqlite_file.is_sqlite(head):
        _add_trace(case, path, index)
    else:
        if path.suffix.lower() in (".nsys-rep", ".qdrep", ".qdstrm") and b"\x00" in head:
            raise InputError(
                "is an Nsight Systems report, not the SQLite export that diagnose reads",
                where=str(path),
                hint="nsys export --type sqlite --output "
                f"{_quoted(path.with_suffix('.sqlite'))} {_quoted(path)}",
            )
        _add_text(case, path, index)
    if hash_inputs:
        digest: list[str] = []
        thread = threading.Thread(target=_hash, args=(path, digest), daemon=True)
        thread.start()
        case._hashing.append((index, thread, digest))


def _quoted(path: Path) -> str:
    import shlex

    return shlex.quote(str(path))


def _hash(path: Path, digest: list[str]) -> None:
    try:
        with path.open("rb") as stream:
            digest.append(hashlib.file_digest(stream, "sha256").hexdigest())
    except OSError:
        return


def _add_trace(case: Case, path: Path, index: int) -> None:
    export = NsysExport(path)
    if case.export is not None:
        export.close()
        raise InputError(
            "is a second trace; one trace is judged at a time",
            where=str(path),
            hint=f"diagnose {_quoted(path)} judges it on its own",
        )
    case.export = export
    case.inputs.append(Input(str(path), TRACE_KIND, "", _size(path), 0))
    case.facts = nsys_facts.trace_facts(export)
    del index


def _add_text(case: Case, path: Path, index: int) -> None:
    parsed = read_text(path, index)
    kinds = list(dict.fromkeys(p.kind for p in parsed))
    problems = [problem for p in parsed for problem in p.problems]
    for p in parsed:
        for table, rows in p.tables.items():
            case.tables.setdefault(table, []).extend(rows)
    case.tables.setdefault("text_seen", []).append({"input": index, "origin": "log"})
    count = sum(p.rows for p in parsed)
    case.inputs.append(Input(str(path), "+".join(kinds) or "text", "", _size(path), count, tuple(problems)))


def _trace_tables(case: Case) -> None:
    export = case.export
    assert export is not None
    index = next(i for i, one in enumerate(case.inputs) if one.kind == TRACE_KIND)
    case.tables["trace_devices"] = nsys_facts.devices(export)
    case.tables["processes"] = nsys_facts.processes(export)
    case.tables["diagnostics"] = nsys_facts.diagnostics(export)
    output = nsys_facts.process_output(export)
    if not output:
        return
    from diagnose.artifacts.log_text import matching_rows

    for pid, text in output:
        case.tables.setdefault("text_seen", []).append({"input": index, "origin": "process_output"})
        case.tables.setdefault("text_lines", []).extend(
            matching_rows(text.splitlines(), index, origin="process_output", pid=pid)
        )


def _align(case: Case) -> None:
    """Marks the GPU samples that lie inside the session, when both clocks carry a date and a time zone."""
    samples = case.tables.get("gpu_samples", [])
    if not samples or case.export is None:
        return
    facts = case.facts
    dated = [row for row in samples if row["time"] is not None]
    if not dated or facts.epoch_ns is None or facts.utc_offset_s is None:
        case.notes.append(
            "dmon and trace clocks could not be aligned "
            + ("(the log has no date)" if not dated else "(the trace does not tell its time zone)")
            + "; dmon values are means over the whole log"
        )
        return
    case.tables["clock"] = [{"aligned": True, "uncertainty_s": 1.0}]


def cut_samples(case: Case, window: tuple[int, int] | None) -> None:
    """With aligned clocks: keeps only samples within the window (dmon stamps whole seconds)."""
    facts = case.facts
    if not case.tables.get("clock") or window is None or facts.epoch_ns is None or facts.utc_offset_s is None:
        return
    origin = facts.epoch_ns / 1e9 + facts.utc_offset_s
    low, high = origin + window[0] / 1e9 - 1.0, origin + window[1] / 1e9 + 1.0
    inside = 0
    for row in case.tables["gpu_samples"]:
        row["inside"] = row["time"] is not None and low <= row["time"] <= high
        inside += row["inside"]
    case.notes.append(
        f"dmon aligned to the trace by wall clock (±1 s): {inside} of "
        f"{len(case.tables['gpu_samples'])} values inside"
        if inside
        else "the dmon log and the trace do not overlap in time; dmon values were not used"
    )
