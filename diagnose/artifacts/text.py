"""Read one text file, whatever it holds: clean, cut into sections, recognise and read each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from diagnose.artifacts import other_text as other
from diagnose.artifacts.base import Line, Parsed, Section, TextReader
from diagnose.artifacts.big_text import is_big, read_big
from diagnose.artifacts.dmon import DmonReader
from diagnose.artifacts.log_text import LogReader
from diagnose.artifacts.nvlink import number_snapshots
from diagnose.artifacts.nvlink_more import NvlinkFormsReader
from diagnose.artifacts.paste import clean, split
from diagnose.artifacts.pmon import PmonReader
from diagnose.artifacts.proc_information import ProcReader
from diagnose.artifacts.query_gpu import QueryReader
from diagnose.artifacts.smi_list import SmiListReader
from diagnose.artifacts.smi_q import SmiQReader
from diagnose.artifacts.smi_table import SmiTableReader
from diagnose.artifacts.smi_xml import SmiXmlReader
from diagnose.artifacts.text_bytes import HEAD_BYTES, UTF16, decode, looks_binary, read_text_bytes
from diagnose.artifacts.topo import TopoP2pReader, TopoReader
from diagnose.artifacts.unread import TextParsed

__all__ = ["READERS", "looks_binary", "read_sections", "read_text"]

LOG = LogReader()

# In sniff order: the first whose test holds reads the section. LOG takes every text.
READERS: tuple[TextReader, ...] = (
    SmiXmlReader(),
    SmiQReader(),
    SmiTableReader(),
    DmonReader(),
    PmonReader(),
    TopoP2pReader(),
    TopoReader(),
    NvlinkFormsReader(),
    SmiListReader(),
    QueryReader(),
    other.IB,
    other.LSPCI,
    ProcReader(),
    other.DMESG,
    other.NCCL,
    other.VERSIONS,
    LOG,
)

# Command lines that only collect an artifact say nothing about the incident themselves.
_COLLECTS = re.compile(
    r"(?:sudo\s+)?(?:\S*/)?(?:nvidia-smi|ibstat|ibstatus|iblinkinfo|perfquery|lspci|dmesg|nvcc)\b"
)
_WORD = re.compile(r"[^\W\d_]{2}")


def read_text(path: Path, input_index: int) -> list[Parsed]:
    """What each section of a text file gave, in file order; the text patterns' hits come last.

    A file without any word gives one `Parsed` of kind "empty". Content never raises: a section that a
    reader fails on gives a problem and the others go on. Raises InputError for a file that cannot be
    opened, is not a regular file, is binary, or holds more than 512 MiB of text.
    """
    if path.is_file() and is_big(path):
        with path.open("rb") as stream:
            head = stream.read(HEAD_BYTES)
        if not looks_binary(head) and not head.startswith(UTF16):
            return read_big(path, input_index, read_sections)
    data, problems = read_text_bytes(path)
    parsed = read_sections(decode(data), input_index)
    parsed[0].problems[:0] = problems
    return parsed


def read_sections(text: str, input_index: int = 0) -> list[Parsed]:
    """As `read_text`, from decoded text. Never empty."""
    found: list[Parsed] = []
    left: list[Line] = []
    unknown = False
    for section in split(clean(text), input_index):
        reader = next((r for r in READERS if r.sniff(section)), LOG)
        if reader is LOG:
            unknown = True
            left += _worth_reading(section, section.lines)
            continue
        parsed = _read(reader, section)
        found.append(parsed)
        left += _worth_reading(section, parsed.unread if isinstance(parsed, TextParsed) else ())
    number_snapshots(found)
    if any(_WORD.search(line.text) for line in left):
        log = _read(LOG, Section(input_index, left))
        if unknown or log.tables or log.problems or not found:
            found.append(log)
    return found or [TextParsed("empty")]


def _read(reader: TextReader, section: Section) -> Parsed:
    try:
        return reader.read(section)
    except Exception as fault:  # a fault in one reader must not take the rest of the ticket with it
        where = f"lines {section.lines[0].number}-{section.lines[-1].number}" if section.lines else "section"
        return TextParsed(
            reader.kind,
            problems=[f"{where}: the {reader.kind} reader failed ({type(fault).__name__}: {fault})"],
            unread=list(section.lines),
        )


def _worth_reading(section: Section, lines: Sequence[Line]) -> list[Line]:
    first = section.lines[0] if section.command and section.lines else None
    return [
        line for line in lines if line.text.strip() and not (line is first and _COLLECTS.match(line.text))
    ]
