"""The block model that all text reports share: what is said, in which order, before any format.

Every string in a block went through `names.visible`: it holds no control or hidden character. It is
still untrusted for the format that prints it (markup, HTML, Markdown): each writer escapes it.
`Name` cells hold the whole kernel name; the writer shortens it to the room it has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from diagnose.findings import Severity, Stage, Verdict
from diagnose.reports.asked import Measured

WORDS: dict[Verdict, str] = {
    "confirmed": "confirmed",
    "probable": "probable",
    "ruled_out": "ruled out",
    "absent": "absent",
    "cannot_tell": "cannot tell",
}


@dataclass(frozen=True, slots=True)
class Code:
    """Something to be taken literally: a path, an id, a command, a table."""

    text: str


@dataclass(frozen=True, slots=True)
class Name:
    """A kernel or API name, whole; to be shortened by `names.short_name`."""

    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command to copy: never wrapped, because a line break inside would break the paste."""

    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """A source: its title, and its address where the format can link (or `spell` asks to print it)."""

    text: str
    url: str
    spell: bool = False


Cell = str | Code | Name | Command | Link
Inline = tuple[Cell, ...]


def glued(parts: Inline) -> list[tuple[str, Cell]]:
    """Each part with what stands before it: a blank, ` · ` between literal parts, nothing at brackets."""
    out: list[tuple[str, Cell]] = []
    for i, part in enumerate(parts):
        last = parts[i - 1] if i else ""
        opened = i == 0 or (isinstance(last, str) and last.endswith("("))
        closing = isinstance(part, str) and part[:1] in (":", ",", ";", ")")
        both = isinstance(part, Code) and isinstance(last, Code)
        out.append(("" if opened or closing else " · " if both else " ", part))
    return out


@dataclass(frozen=True, slots=True)
class Headline:
    """The answer in a few lines. `verdict` is None when nothing was found; then `title` says so."""

    verdict: Verdict | None
    title: str
    signature: str = ""
    where: str = ""
    severity: Severity | None = None
    cost: str = ""
    first: str = ""
    also: tuple[str, ...] = ()
    number: int = 0


@dataclass(frozen=True, slots=True)
class Prose:
    text: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """Labelled lines: label → one or more values, each on its own line."""

    rows: tuple[tuple[str, tuple[Inline, ...]], ...]


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    stage: Stage
    holds: bool | None
    says: str
    values: tuple[Measured, ...] = ()
    margin: str = ""
    note: str = ""
    detail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """The chain of steps. `sources` says once where the numbers come from, each source one entry."""

    rows: tuple[EvidenceRow, ...]
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    share: float
    value: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Bars:
    title: str
    rows: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """`align` has one letter a column: l or r. `under` gives a second line to a row (may be empty)."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    align: str
    under: tuple[Inline, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of a list: a line, then indented lines that belong to it (label, content)."""

    text: Inline
    under: tuple[tuple[str, Inline], ...] = ()
    mark: Literal["", "holds", "fails", "unknown", "warning"] = ""


@dataclass(frozen=True, slots=True)
class Items:
    title: str
    rows: tuple[Item, ...]
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text and literal parts, such as the last line of a report."""

    parts: Inline


Block = Headline | Prose | Facts | Evidence | Bars | Table | Items | Line


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks that stand or fall together. `importance` 0 is never cut; the highest is cut first.

    `title` names the section where a format folds or cuts it; `fold` marks what a ticket hides behind
    a click.
    """

    title: str
    blocks: tuple[Block, ...]
    importance: int = 0
    fold: bool = False
    heading: bool = False
