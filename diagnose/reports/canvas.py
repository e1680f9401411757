"""Lines of a terminal or a pipe: labels, wrapping with a hanging indent, columns. No markup, ever."""

from __future__ import annotations

import io
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from diagnose.reports.names import ascii_only

NARROWEST, WIDEST = 48, 140
LABEL = 11  # column where labelled text starts
# Colours of the Okabe-Ito palette (told apart with every common colour blindness), nearest of 256.
STYLES = {
    "confirmed": "bold color(231) on color(166)",
    "probable": "bold color(16) on color(214)",
    "clear": "bold color(231) on color(29)",
    "unsure": "bold color(16) on color(250)",
    "holds": "color(36)",
    "fails": "color(166)",
    "unknown": "color(214)",
    "warning": "color(214)",
    "code": "color(74)",
    "bold": "bold",
    "dim": "dim",
    "bar": "color(74)",
    "": "",
}
Piece = tuple[str, str]  # text, style name


@dataclass(frozen=True, slots=True)
class Column:
    pieces: tuple[Piece, ...]
    width: int
    right: bool = False


class Canvas:
    """Collects lines. `width` None never wraps; `ascii` spells or escapes everything above 127."""

    def __init__(self, width: int | None, colour: bool, ascii: bool) -> None:
        self.width = None if width is None else max(NARROWEST, min(width, WIDEST))
        self.colour = colour
        self.ascii = ascii
        self._lines: list[Text] = []
        self._console = Console(
            file=io.StringIO(),
            width=self.width or 10_000,
            color_system="256" if colour else None,
            force_terminal=colour,
            no_color=not colour,
            markup=False,
            emoji=False,
            highlight=False,
            legacy_windows=False,
            _environ={},
        )

    def blank(self) -> None:
        """An empty line, never two in a row and never the first."""
        if self._lines and self._lines[-1].plain:
            self._lines.append(Text())

    def rule(self) -> None:
        """A line across, to part findings; nothing in a pipe."""
        if self._lines and self.width is not None:
            self.blank()
            self.put(("─" * min(self.width, 100), "dim"))

    def put(
        self, *pieces: Piece, indent: int = 0, hang: int | None = None, first: str = "", whole: bool = False
    ) -> None:
        """One statement; further lines are indented by `hang` (default: as the first line).

        `first` is a label before the text, which then starts at `hang`. `whole` is never wrapped: the
        terminal may break it, but copying it gives one line.
        """
        text = self.text(pieces)
        hang = indent if hang is None else hang
        lead = Text(" " * indent) + Text(self._spell(first), STYLES["dim"])
        if first:
            lead.append(" " * max(1, hang - len(lead)))
        if self.width is None or whole:
            self._lines.append(lead + text)
            return
        body = self.wrap(text, self.width - max(hang, len(lead)))
        for i, line in enumerate(body):
            self._lines.append((lead if i == 0 else Text(" " * hang)) + line)

    def columns(self, cells: list[Column], indent: int = 0, gap: int = 2) -> None:
        """Cells side by side, each wrapped in its own width. Only for a canvas that has a width."""
        wrapped = [self.wrap(self.text(c.pieces), c.width) for c in cells]
        for row in range(max(len(w) for w in wrapped)):
            line = Text(" " * indent)
            for i, (cell, lines) in enumerate(zip(cells, wrapped, strict=True)):
                part = lines[row].copy() if row < len(lines) else Text()
                room = " " * max(0, cell.width - part.cell_len)
                line.append(" " * gap if i else "")
                line.append_text(Text(room) + part if cell.right else part + Text(room))
            line.rstrip()
            self._lines.append(line)

    def text(self, pieces: tuple[Piece, ...]) -> Text:
        out = Text()
        for words, style in pieces:
            out.append(self._spell(words), STYLES[style])
        return out

    def length(self, words: str) -> int:
        return Text(self._spell(words)).cell_len

    def render(self) -> str:
        while self._lines and not self._lines[-1].plain:
            self._lines.pop()
        for line in self._lines:
            line.rstrip()
        if not self.colour:
            return "".join(line.plain + "\n" for line in self._lines)
        for line in self._lines:
            self._console.print(line, no_wrap=True, overflow="ignore", crop=False, soft_wrap=True)
        file = self._console.file
        assert isinstance(file, io.StringIO)
        return file.getvalue()

    def wrap(self, text: Text, width: int) -> list[Text]:
        if not text.plain:
            return [Text()]
        lines = list(text.wrap(self._console, max(8, width), overflow="fold"))
        for line in lines:
            line.rstrip()
        return lines

    def _spell(self, words: str) -> str:
        return ascii_only(words) if self.ascii else words
