"""One fault in one signature file, with its line and an excerpt; and how places are worded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from diagnose.engine.locate import Positions
from diagnose.errors import SignatureError

_ONE = {"facts": "fact", "thresholds": "threshold"}


class Fault(SignatureError):
    """`where` is `file:line: place`; `excerpt` shows the lines at fault, ready to print, may be empty."""

    def __init__(
        self, message: str, *, path: Path, line: int, place: str = "", hint: str = "", excerpt: str = ""
    ) -> None:
        super().__init__(message, where=f"{path}:{line}" + (f": {place}" if place else ""), hint=hint)
        self.path = path
        self.line = line
        self.place = place
        self.excerpt = excerpt


class Collector:
    """Collects the faults of one file; at most one for each place, so that none is said twice."""

    def __init__(self, path: Path, text: str, data: dict[str, Any]) -> None:
        self.path = path
        self.positions = Positions(text)
        self.data = data
        self.faults: list[Fault] = []
        self._seen: set[tuple[str | int, ...]] = set()

    def add(
        self,
        loc: Sequence[str | int],
        message: str,
        *,
        hint: str = "",
        mark: tuple[str, int, int] | None = None,
    ) -> None:
        """`mark`: the text at fault, and where in it (0-based start, length)."""
        if tuple(loc) in self._seen:
            return
        self._seen.add(tuple(loc))
        line = self.positions.line(loc)
        self.faults.append(
            Fault(
                message,
                path=self.path,
                line=line,
                place=place_words(loc, self.data),
                hint=hint,
                excerpt=self._excerpt(loc, line, mark),
            )
        )

    def _excerpt(self, loc: Sequence[str | int], line: int, mark: tuple[str, int, int] | None) -> str:
        shown = self.positions.text(line)
        if not shown or mark is None:
            return ""
        width = len(str(line))
        rows = []
        head = self.positions.line((*loc[:-1], "id"))
        if 0 < line - head < 40 and self.positions.text(head).lstrip().startswith("id"):
            rows.append(f"{head:>{width}} | {self.positions.text(head)}")
        rows.append(f"{line:>{width}} | {shown}")
        text, start, length = mark
        at = shown.find(text)
        if at >= 0:
            marks = "~" * max(1, min(length, len(text) - start))
            rows.append(" " * width + " | " + " " * (at + start) + marks)
        return "\n".join(rows)


def place_words(loc: Sequence[str | int], data: Any) -> str:
    """`step "casts_follow", when` for `("step", 1, "when")`."""
    words: list[str] = []
    here = data
    at = 0
    while at < len(loc):
        key = loc[at]
        here = _item(here, key)
        following = loc[at + 1] if at + 1 < len(loc) else None
        if isinstance(following, int):
            here = _item(here, following)
            words.append(f"{key} {_label(here, following)}")
            at += 2
        elif key in _ONE and following is not None:
            words.append(f'{_ONE[str(key)]} "{following}"')
            here = _item(here, following)
            at += 2
        else:
            words.append(str(key))
            at += 1
    return ", ".join(words)


def _item(value: Any, key: str | int) -> Any:
    try:
        return value[key]
    except (KeyError, IndexError, TypeError):
        return None


def _label(entry: Any, index: int) -> str:
    if isinstance(entry, dict):
        for key in ("id", "name", "is"):
            if isinstance(entry.get(key), str):
                return f'"{entry[key]}"'
    return str(index + 1)
