"""Plain text pages: aligned columns, wrapped paragraphs. No markup, so that data cannot be eaten."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence

from diagnose.cli.streams import clean

NARROWEST = 16
GAP = 2


def table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int | None = None,
    wrapped: Sequence[int] = (-1,),
) -> list[str]:
    """Lines of a table with a header. The columns `wrapped` share what the others leave of `width`.

    Nothing is wrapped when `width` is None: a pipe gets one line a row.
    """
    cells = [[_flat(c) for c in row] for row in rows]
    widths = [max(len(r[n]) for r in [list(headers), *cells]) for n in range(len(headers))]
    if width is not None:
        _squeeze(widths, width, [n % len(headers) for n in wrapped])
    lines = [_line(headers, widths), "-" * (sum(widths) + GAP * (len(widths) - 1))]
    for row in cells:
        parts = [textwrap.wrap(c, w) or [""] for c, w in zip(row, widths, strict=True)]
        lines += [_line(line, widths) for line in itertools.zip_longest(*parts, fillvalue="")]
    return lines


def _squeeze(widths: list[int], width: int, wrapped: Sequence[int]) -> None:
    """Take from the widest of the `wrapped` columns until the table fits (or is as narrow as it gets)."""
    excess = sum(widths) + GAP * (len(widths) - 1) - width
    while excess > 0:
        widest = max(wrapped, key=lambda n: widths[n])
        if widths[widest] <= NARROWEST:
            return
        widths[widest] -= 1
        excess -= 1


def paragraph(text: str, width: int | None = None, indent: str = "", hanging: str | None = None) -> list[str]:
    """`text` with its white space folded, wrapped at `width` when there is one.

    `indent` starts the first line, `hanging` (default: the same) the others.
    """
    flat = _flat(text)
    if width is None:
        return [indent + flat]
    wrapper = textwrap.TextWrapper(
        width=max(width, len(indent) + NARROWEST),
        initial_indent=indent,
        subsequent_indent=indent if hanging is None else hanging,
        break_long_words=False,  # a URL or a command is to be copied
        break_on_hyphens=False,
    )
    return wrapper.wrap(flat) or [indent]


def _flat(text: str) -> str:
    return " ".join(clean(text).split())


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return (" " * GAP).join(c.ljust(w) for c, w in zip(cells, widths, strict=True)).rstrip()
