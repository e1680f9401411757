"""What every reader gives: rows of small tables, problems, and (for traces) column chunks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """One cleaned line of a text artifact; `raw` is what stood in the file."""

    number: int
    text: str
    raw: str


@dataclass(slots=True)
class Section:
    """A run of lines of one file that one command printed. `command` is the prompt's command, if seen."""

    input: int
    lines: list[Line]
    command: str = ""


@dataclass(slots=True)
class Parsed:
    """What one section gave. `tables`: table name → rows. `problems`: one line each, with line number."""

    kind: str
    tables: dict[str, list[Row]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    rows: int = 0


class TextReader(Protocol):
    """One text artifact kind. `sniff` looks at content only, never at a name."""

    kind: str

    def sniff(self, section: Section) -> bool: ...

    def read(self, section: Section) -> Parsed: ...
