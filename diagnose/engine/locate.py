"""The line of a key in a TOML text: `tomllib` gives positions for syntax errors only."""

from __future__ import annotations

import re
from collections.abc import Sequence

_HEADER = re.compile(r"^\s*(\[\[?)\s*([A-Za-z0-9_.\- \"']+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"^\s*(?:([A-Za-z0-9_\-]+)|\"([^\"]+)\"|'([^']+)')\s*(?:\.[^=]*)?=")


class Positions:
    """Finds lines by path, the way pydantic names a place: `("step", 1, "way", 0, "when")`."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()
        # (path of the table, line) of every header, and (path with key, line) of every key.
        self._known: dict[tuple[str | int, ...], int] = {}
        self._scan()

    def line(self, path: Sequence[str | int]) -> int:
        """1-based line of the longest known beginning of `path`; 1 when nothing of it is known."""
        place = tuple(path)
        while place:
            if place in self._known:
                return self._known[place]
            place = place[:-1]
        return 1

    def text(self, line: int) -> str:
        return self.lines[line - 1] if 0 < line <= len(self.lines) else ""

    def _scan(self) -> None:
        table: tuple[str | int, ...] = ()
        counts: dict[tuple[str | int, ...], int] = {}
        quote = ""
        for number, line in enumerate(self.lines, 1):
            if quote:
                quote = "" if line.count(quote) % 2 else quote
                continue
            if header := _HEADER.match(line):
                table = self._table(header[1] == "[[", header[2], counts)
                self._known.setdefault(table, number)
            elif key := _KEY.match(line):
                self._known.setdefault((*table, key[1] or key[2] or key[3]), number)
            quote = next((q for q in ('"""', "'''") if line.count(q) % 2), "")

    @staticmethod
    def _table(is_array: bool, name: str, counts: dict[tuple[str | int, ...], int]) -> tuple[str | int, ...]:
        path: tuple[str | int, ...] = ()
        parts = [p.strip().strip("\"'") for p in name.split(".")]
        for i, part in enumerate(parts):
            path = (*path, part)
            if is_array and i == len(parts) - 1:
                counts[path] = counts.get(path, -1) + 1
            if path in counts:
                path = (*path, counts[path])
        return path
