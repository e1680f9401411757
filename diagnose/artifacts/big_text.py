"""Text files of many megabytes, read in blocks of whole lines so that memory stays flat.

The first block says what the file is. A dmon log goes on as one (`dmon_blocks`); anything else goes
on as a log: later blocks are run through the text patterns only, and a pattern that has hit
`MAX_HITS` lines is not looked for any more.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from diagnose.artifacts.base import Parsed
from diagnose.artifacts.dmon_blocks import DmonBlocks
from diagnose.artifacts.log_text import matching_rows
from diagnose.artifacts.text_bytes import MAX_BYTES
from diagnose.errors import InputError

BIG = 8 << 20  # files up to here are read whole, with every care for pastes
BLOCK = 4 << 20
SNIFF = 1 << 16
MAX_HITS = 2000


def is_big(path: Path) -> bool:
    """True for files over `BIG`, and for gzip files that may hold that much."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
    return size > (BIG // 20 if packed else BIG)


def blocks(path: Path, problems: list[str]) -> Iterator[str]:
    """Decoded blocks of whole lines. A line longer than a block is cut there."""
    with path.open("rb") as plain:
        packed = plain.read(2) == b"\x1f\x8b"
        plain.seek(0)
        stream = gzip.GzipFile(fileobj=plain) if packed else plain
        rest, total = b"", 0
        while True:
            try:
                piece = stream.read1(BLOCK)
            except (EOFError, zlib.error, gzip.BadGzipFile):
                problems.append("the gzip file is damaged or cut: only its first part was read")
                break
            if not piece:
                break
            total += len(piece)
            if total > MAX_BYTES:
                raise InputError(
                    f"more than {MAX_BYTES >> 20} MiB of text",
                    where=str(path),
                    hint="give the part around the incident, for example `tail -c 200M FILE > part.log`",
                )
            rest += piece
            if len(rest) < BLOCK:
                continue
            cut = rest.rfind(b"\n") + 1 or len(rest)
            yield _decoded(rest[:cut])
            rest = rest[cut:]
        if rest:
            yield _decoded(rest)


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", errors="replace").replace("\r\n", "\n")


def read_big(path: Path, source: int, whole: Callable[[str, int], list[Parsed]]) -> list[Parsed]:
    """What the file gave. `whole` reads the first block with all readers (sections, pastes, tables)."""
    problems: list[str] = []
    pieces = blocks(path, problems)
    first = next(pieces, "")
    found = whole(first[: first.rfind("\n", 0, SNIFF) + 1 or SNIFF], source)
    if found and found[0].kind == "dmon" and all(p.kind in ("dmon", "log") for p in found):
        return [_dmon(first, pieces, source, problems)]
    found = whole(first, source)
    return [*found, _log(first.count("\n"), pieces, source, problems)]


def _dmon(first: str, pieces: Iterator[str], source: int, problems: list[str]) -> Parsed:
    reading = DmonBlocks(source)
    reading.feed(first)
    for piece in pieces:
        reading.feed(piece)
    if reading.skipped:
        problems.append(f"{reading.skipped} of {reading.lines} lines are cut or no dmon rows, not read")
    rows = reading.folded.table()
    return Parsed("dmon", {"gpu_samples": rows} if rows else {}, problems, reading.folded.rows)


def _log(line: int, pieces: Iterator[str], source: int, problems: list[str]) -> Parsed:
    kept: dict[str, int] = {}
    rows = []
    for piece in pieces:
        lines = piece.split("\n")
        done = {pattern for pattern, count in kept.items() if count >= MAX_HITS}
        for row in matching_rows(lines, source, without=done):
            pattern = str(row["pattern"])
            kept[pattern] = kept.get(pattern, 0) + 1
            if kept[pattern] <= MAX_HITS:
                row["line"] += line
                rows.append(row)
        line += len(lines) - 1
    full = sorted(pattern for pattern, count in kept.items() if count >= MAX_HITS)
    problems += [
        f"more than {MAX_HITS} lines match {name}: the rest of them was not looked for" for name in full
    ]
    return Parsed("log", {"text_lines": rows} if rows else {}, problems, line)
