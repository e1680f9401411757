"""Bytes of a text artifact: plain or gzip, bounded, decoded without ever failing on a bad byte."""

from __future__ import annotations

import codecs
import gzip
import stat
import zlib
from io import BufferedReader
from pathlib import Path

from diagnose.errors import InputError

MAX_BYTES = 512 * 1024 * 1024
"""The most text read from one file, after decompression."""

HEAD_BYTES = 8192
_GZIP_MAGIC = b"\x1f\x8b"
_STEP = 1 << 20
# PowerShell's `>` writes UTF-16 with a byte order mark.
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def looks_binary(head: bytes) -> bool:
    """True when the first bytes of a file hold a NUL (and no UTF-16 mark): not a text we can read."""
    head = head[:HEAD_BYTES]
    return b"\0" in head and not head.startswith(UTF16)


def decode(data: bytes) -> str:
    """UTF-8 (UTF-16 where the file says so); bytes that are neither become U+FFFD, never an error."""
    if data.startswith(UTF16):
        return data.decode("utf-16", errors="replace")
    return data.decode("utf-8", errors="replace")


def read_text_bytes(path: Path) -> tuple[bytes, list[str]]:
    """Content of a regular file, decompressed when it is gzip (recognised by content), and problems.

    A gzip file that ends early gives what could be decompressed and one problem.
    Raises InputError for a file that cannot be opened, is no regular file, is larger than
    MAX_BYTES (after decompression), or is binary.
    """
    where = str(path)
    try:
        mode = path.stat()
        if not stat.S_ISREG(mode.st_mode):
            raise InputError("not a regular file", where=where, hint="give a file, not a device or a folder")
        with path.open("rb") as plain:
            magic = plain.read(2)
            plain.seek(0)
            if magic == _GZIP_MAGIC:
                with gzip.GzipFile(fileobj=plain) as packed:
                    data, problems = _bounded(packed, where)
            else:
                data, problems = _bounded(plain, where)
    except OSError as fault:
        reason = fault.strerror or str(fault)
        raise InputError(
            f"cannot be read: {reason}", where=where, hint="check that the file is there and readable"
        ) from fault
    if looks_binary(data[:HEAD_BYTES]):
        raise InputError(
            "binary content, not text", where=where, hint="give the text output of a command or an export"
        )
    return data, problems


def _bounded(stream: BufferedReader | gzip.GzipFile, where: str) -> tuple[bytes, list[str]]:
    pieces: list[bytes] = []
    size = 0
    problems: list[str] = []
    while True:
        try:
            # read1 gives what is there; read would lose it when the end of a gzip file is missing.
            piece = stream.read1(_STEP)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            if not pieces:
                raise InputError(
                    "damaged gzip file", where=where, hint="copy the file again, or give it decompressed"
                ) from None
            problems.append("the gzip file is damaged or cut: only its first part was read")
            break
        if not piece:
            break
        size += len(piece)
        if size > MAX_BYTES:
            raise InputError(
                f"more than {MAX_BYTES >> 20} MiB of text",
                where=where,
                hint="give the part around the incident, for example `tail -c 200M FILE > part.log`",
            )
        pieces.append(piece)
    return b"".join(pieces), problems
