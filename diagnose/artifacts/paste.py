"""Clean a pasted or captured text and cut it into sections, one for each command's output.

Cleaning takes off what terminals, web pages, log collectors and launchers add to lines, and
keeps what stood in the file as `Line.raw`. Line numbers are those of `\\n` in the file.
Leading blanks and TABs stay: empty cells of a topology matrix are data.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from diagnose.artifacts.base import Line, Section
from diagnose.artifacts.prefixes import common_prefixes, unprefix
from diagnose.artifacts.prompts import command_of
from diagnose.artifacts.starts import start_kind


class Unterminated(Line):
    """The last line of a file that does not end in a line break: its last word may be cut."""

    __slots__ = ()


# ECMA-48 control sequences (colours, cursor, clear screen), OSC titles, two-byte escapes.
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[()][0-9A-B]|[@-Z\\-_])")
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});")
_INVISIBLE = str.maketrans(dict.fromkeys("\0\ufeff\u200b\x07\x1b")) | str.maketrans({"\xa0": " "})
_FENCE = re.compile(r"^\s*(?:```|~~~|</?(?:pre|code|details)>\s*$)")
_RULER = re.compile(r"^\s*_{20,}\s*$")  # nvidia-bug-report.sh puts such a line between its sections
# Blank lines, rulers and the date that stands above nvidia-smi's table.
_SCRAP = re.compile(
    r"^(?:[\s+=|_-]*|\s*[A-Z][a-z]{2} [A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d(?: [A-Z]+)? \d{4}\s*)$"
)


def clean(text: str) -> list[Line]:
    """Lines of a decoded file, without codes, entities and shared prefixes; fences stay as lines."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if "\n" not in text:
        text = text.replace("\r", "\n")
    raws = text.split("\n")
    terminated = raws[-1] == ""
    if terminated:
        raws.pop()
    tidy = _tidy(text).split("\n")
    prefixes = common_prefixes(tidy)
    lines: list[Line] = []
    for number, (raw, now) in enumerate(zip(raws, tidy, strict=False), start=1):
        # A progress bar writes one line many times, with a bare carriage return in between.
        parts = ([p for p in now.split("\r") if p] or [""]) if "\r" in now else (now,)
        lines.extend(Line(number, unprefix(part, prefixes), raw) for part in parts)
    if not terminated and lines:
        last = lines[-1]
        lines[-1] = Unterminated(last.number, last.text, last.raw)
    return lines


def _tidy(text: str) -> str:
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if "&" in text:
        text = _ENTITY.sub(lambda m: " ".join(html.unescape(m.group()).splitlines()) or " ", text)
    if "\x08" in text:
        text = "\n".join(_overstrike(line) if "\x08" in line else line for line in text.split("\n"))
    if any(chr(code) in text for code in _INVISIBLE):
        text = text.translate(_INVISIBLE)
    return text


def _overstrike(line: str) -> str:
    """Apply backspaces, as a terminal recording holds them where somebody corrected a command."""
    kept: list[str] = []
    for char in line:
        if char != "\x08":
            kept.append(char)
        elif kept:
            kept.pop()
    return "".join(kept)


def split(lines: Iterable[Line], input_index: int = 0) -> list[Section]:
    """Cut at prompts, `watch` headers, fences, rulers, and where another recognised artifact begins.

    A prompt line is the first line of its section; its text is the command alone. Fences and
    rulers belong to no section. Sections without a word are left out.
    """
    sections: list[Section] = []
    current = Section(input_index, [])
    for line in lines:
        command = command_of(line.text)
        if command is not None:
            sections.append(current)
            kind = Unterminated if isinstance(line, Unterminated) else Line
            current = Section(input_index, [kind(line.number, command, line.raw)], command)
        elif _is_boundary(line.text):
            sections.append(current)
            current = Section(input_index, [])
        else:
            current.lines.append(line)
    sections.append(current)
    found = [part for section in sections for part in _at_starts(_without_prefixes(section))]
    return [s for s in found if not all(_SCRAP.match(line.text) for line in s.lines)]


def _is_boundary(text: str) -> bool:
    return ("```" in text or "~~~" in text or "<" in text or "____" in text) and bool(
        _FENCE.match(text) or _RULER.match(text)
    )


def _without_prefixes(section: Section) -> Section:
    """Prefixes shared by one section only: a ticket whose last part came through a log collector."""
    body = section.lines[1:] if section.command else section.lines
    prefixes = common_prefixes([line.text for line in body])
    if not prefixes:
        return section
    stripped = [type(line)(line.number, unprefix(line.text, prefixes), line.raw) for line in body]
    return Section(section.input, section.lines[: len(section.lines) - len(body)] + stripped, section.command)


def _at_starts(section: Section) -> list[Section]:
    """Cut where another kind of artifact begins. What stands above the first one is its own section."""
    parts: list[Section] = []
    held: list[Line] = []
    now = ""
    for line in section.lines:
        kind = start_kind(line.text)
        if kind and kind != now:
            tail = _scraps_at_end(held)
            before = held[: len(held) - tail]
            if any(line.text != section.command for line in before):
                parts.append(Section(section.input, before, section.command))
                held = held[len(before) :]
            now = kind
        held.append(line)
    parts.append(Section(section.input, held, section.command))
    return parts


def _scraps_at_end(lines: list[Line]) -> int:
    count = 0
    while count < len(lines) and _SCRAP.match(lines[-1 - count].text):
        count += 1
    return count
