"""Where results go: stdout, a file (whole or not at all), or what a path already names.

Regular files are written to a temporary file in the same folder, which then takes the name. A FIFO,
a device or a link is written through, so that `-o /dev/stdout` and a linked report keep working.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from diagnose.errors import OutputError, UsageError

STDOUT = "-"


def to_stdout(text: str, *, utf8: bool = False) -> None:
    """Write and flush. `utf8` for formats whose encoding is fixed, whatever the terminal's is.

    Raises BrokenPipeError when the reader left, OutputError for any other failure.
    """
    stream = sys.stdout
    if stream is None:
        raise OutputError("stdout is closed")
    if text and not text.endswith("\n"):
        text += "\n"
    try:
        encoding = "utf-8" if utf8 else stream.encoding or "utf-8"
        data = text.encode(encoding, "backslashreplace")
        stream.flush()
        descriptor = _descriptor(stream)
        if descriptor is not None:
            _write_all(descriptor, data)
        else:
            stream.write(data.decode(encoding))
            stream.flush()
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as exc:  # ValueError: the stream was closed
        raise OutputError(f"stdout cannot be written: {_why(exc)}") from exc


def _descriptor(stream: TextIO) -> int | None:
    """Where to write bytes, None for a terminal (it converts) and for a stand-in without a file.

    Not through `stream.buffer`: with PYTHONUNBUFFERED it is a raw file, whose write may stop half-way
    (a reader that leaves during it) and says so only in a return value that TextIOWrapper ignores.
    """
    try:
        return None if stream.isatty() else stream.fileno()
    except OSError:  # io.UnsupportedOperation
        return None


def to_file(target: str, text: str) -> None:
    """Write `text` as UTF-8 to the path `target` (see the module's first lines). Raises OutputError."""
    if text and not text.endswith("\n"):
        text += "\n"
    data = text.encode("utf-8", "backslashreplace")
    try:
        _write(target, data)
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as exc:
        raise OutputError(_why(exc), where=target) from exc


def refuse_inputs(targets: Iterable[str], inputs: Iterable[Path]) -> None:
    """Raise UsageError if a target is one of the inputs, by whatever name: evidence stays untouched."""
    known = {key for key in map(_identity, inputs) if key is not None}
    for target in targets:
        if target != STDOUT and _identity(Path(target)) in known:
            raise UsageError("is an input and would be overwritten", where=f"-o {target}")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def _write(target: str, data: bytes) -> None:
    try:
        mode = os.stat(target).st_mode  # noqa: PTH116  (follows links, and /dev/stdout to a pipe)
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        # A folder fails here too, with the system's own words.
        with open(target, "wb", buffering=0) as out:  # noqa: PTH123
            _write_all(out.fileno(), data)
        return
    real = Path(os.path.realpath(target))
    if mode is not None and not os.access(real, os.W_OK):
        raise PermissionError(13, "is read-only")
    try:
        _replace(real, data, mode)
    except PermissionError:
        if mode is None:
            raise
        # The folder takes no new file, the old one may still be written.
        real.write_bytes(data)


def _replace(real: Path, data: bytes, mode: int | None) -> None:
    temporary = real.with_name(f".{real.name[:100]}.{os.urandom(4).hex()}.tmp")
    # os.open and not tempfile: a new report gets the mode that the user's umask asks for.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        try:
            _write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if mode is not None:
            temporary.chmod(stat.S_IMODE(mode))
        temporary.replace(real)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _why(exc: Exception) -> str:
    return (exc.strerror if isinstance(exc, OSError) else None) or str(exc)
