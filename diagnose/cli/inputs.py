"""The PATH arguments: do they exist, and stdin for log text."""

from __future__ import annotations

import contextlib
import difflib
import shutil
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from diagnose.errors import InputError, UsageError

if TYPE_CHECKING:
    from diagnose.findings import Report

STDIN = Path("-")
SQLITE_MAGIC = b"SQLite format 3\0"  # sqlite.org/fileformat.html, section 1.3


def check(paths: Sequence[Path], commands: Collection[str] = ()) -> None:
    """Raise InputError when no path exists (a misspelt command looks like that), UsageError for `- -`."""
    if list(paths).count(STDIN) > 1:
        raise UsageError("- (stdin) can be read only once")
    if any(p == STDIN or p.exists() or p.is_symlink() for p in paths):
        return
    first = str(paths[0])
    close = difflib.get_close_matches(first, commands, n=1, cutoff=0.7) if len(paths[0].parts) == 1 else []
    hint = f"did you mean the command {close[0]}?" if close else ""
    raise InputError("no such file or folder", where=", ".join(map(str, paths)), hint=hint)


@contextlib.contextmanager
def spooled(paths: Sequence[Path]) -> Iterator[tuple[list[Path], Path | None]]:
    """The paths with `-` replaced by a file that holds what stdin gave, and that file."""
    if STDIN not in paths:
        yield list(paths), None
        return
    import tempfile

    with tempfile.TemporaryDirectory(prefix="diagnose-") as folder:
        file = Path(folder) / "stdin"
        with file.open("wb") as out:
            if sys.stdin is not None:
                shutil.copyfileobj(sys.stdin.buffer, out)
        with file.open("rb") as start:
            if start.read(16) == SQLITE_MAGIC:
                raise InputError("a trace on stdin cannot be read", where="-", hint="name its file")
        yield [file if p == STDIN else p for p in paths], file


def unspooled(report: Report, file: Path | None) -> Report:
    """The report with stdin under its own name again."""
    from dataclasses import replace

    if file is None:
        return report
    inputs = tuple(replace(i, path="-") if Path(i.path) == file else i for i in report.inputs)
    return replace(report, inputs=inputs)
