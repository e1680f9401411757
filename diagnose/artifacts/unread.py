"""What the text readers give beyond `Parsed`: the lines they did not understand.

Nothing in a pasted file is thrown away: a line that a table reader cannot use (a program's error
message between two dmon rows, prose under a topology matrix) is handed to the text patterns.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from diagnose.artifacts.base import Line, Parsed


@dataclass(slots=True)
class TextParsed(Parsed):
    """`unread`: lines the reader made nothing of. `variant`: which form of the command was seen."""

    unread: list[Line] = field(default_factory=list)
    variant: str = ""


def place(numbers: Iterable[int], shown: int = 5) -> str:
    """Name line numbers in a problem: `line 7`, `lines 7, 9`, `lines 1, 2, 3, 4, 5 and 40 more`."""
    all_of_them = sorted(set(numbers))
    text = ", ".join(str(n) for n in all_of_them[:shown])
    if len(all_of_them) > shown:
        text += f" and {len(all_of_them) - shown} more"
    return ("line " if len(all_of_them) == 1 else "lines ") + text
