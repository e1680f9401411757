"""stdout and stderr: colour, characters, width, and messages that never become an error themselves."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

from diagnose.settings import MIN_WIDTH, Settings

# What text reports draw with: ticks, bars, sparklines, rules.
_DRAWN = "✔✘→≥×·─█▏▁▇"


@dataclass(frozen=True, slots=True)
class Look:
    """How text output may look on one stream. `width` is None when lines must not be wrapped."""

    colour: bool
    ascii: bool
    width: int | None


PLAIN = Look(colour=False, ascii=False, width=None)


def look(stream: TextIO | None, settings: Settings, environ: Mapping[str, str] | None = None) -> Look:
    """The look of `stream`; an explicit setting is stronger than the environment's conventions."""
    environ = os.environ if environ is None else environ
    tty = is_tty(stream)
    return Look(
        colour=_colour(settings.color, tty, environ),
        ascii=settings.ascii or not _can_draw(stream),
        width=settings.width or _columns(environ) or (_terminal_width(stream) if tty else None),
    )


def is_tty(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def _colour(setting: str, tty: bool, environ: Mapping[str, str]) -> bool:
    if setting != "auto":
        return setting == "always"
    if environ.get("NO_COLOR"):  # an empty value does not count: no-color.org
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return tty and environ.get("TERM") != "dumb"


def _can_draw(stream: TextIO | None) -> bool:
    try:
        _DRAWN.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _columns(environ: Mapping[str, str]) -> int | None:
    text = environ.get("COLUMNS", "")
    if not (text.isascii() and text.isdigit()) or int(text) == 0:
        return None
    return max(int(text), MIN_WIDTH)


def _terminal_width(stream: TextIO | None) -> int | None:
    try:
        return max(os.get_terminal_size(stream.fileno()).columns, MIN_WIDTH) if stream else None
    except (OSError, ValueError):
        return None


def clean(text: str) -> str:
    """`text` without control characters: a file name must not move the cursor or change colours."""
    return "".join(c if c in "\n\t" or (ord(c) >= 32 and not 127 <= ord(c) < 160) else "�" for c in text)


def say(text: str) -> None:
    """One message on stderr. A reader that has left must not cost the result on stdout."""
    if sys.stderr is None:
        return
    try:
        print(clean(text), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        discard(sys.stderr)


def error(message: str, hint: str = "", excerpt: str = "") -> None:
    """What is wrong, the lines at fault, and what to do about it."""
    say(f"error: {message}")
    if excerpt:
        say(excerpt.rstrip("\n"))
    if hint:
        say(f"  hint: {hint}")


def discard(stream: TextIO | None) -> None:
    """Send what is still buffered for `stream` to nowhere, so that Python's own flush at exit is silent."""
    try:
        if stream is not None:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, stream.fileno())
            os.close(null)
    except (OSError, ValueError):
        pass
