"""One header of `nvidia-smi dmon`: which token of a data row is which column."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from diagnose.artifacts.starts import dmon_names

# Drivers of the 384 era print one temperature column, `temp`; it is the GPU's, later called `gtemp`.
_OLD_NAMES = {"temp": "gtemp"}
# GPM columns print their source before the unit: `GPM:%`, `GPM:MiB/s`.
_GPM = "GPM:"
_NULLS = frozenset(("-", "N/A", "[N/A]"))
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,9})?\Z")
_EPOCH = re.compile(r"\s*([0-9]{10}(?:\.[0-9]{1,9})?)[,;:]?\s+(?=\S)")


class Cells(dict[str, float | None]):
    """Token → value, parsed once a spelling. An unknown cell is None; no number is a ValueError."""

    def __missing__(self, token: str) -> float | None:
        bare = token.strip()
        if bare in _NULLS:
            value = None
        elif _NUMBER.match(bare):
            value = float(bare)
        else:
            raise ValueError(token)
        self[token] = value
        return value


@dataclass(slots=True)
class Layout:
    """`columns`: (token position, column name, unit) of every value column; `size`: tokens in a row."""

    csv: bool
    size: int
    gpu: int
    date: int | None
    time: int | None
    columns: list[tuple[int, str, str]]
    positions: list[int] = field(default_factory=list)
    twice: tuple[str, ...] = ()

    def tokens(self, text: str) -> list[str]:
        """Cells of a row: split at commas or at runs of blanks, never by position."""
        if not self.csv:
            return text.split()
        cells = [cell.strip() for cell in text.split(",")]
        return cells[:-1] if cells and not cells[-1] else cells

    def with_units(self, text: str) -> bool:
        """Take the units row (`# Idx W C …`) under the header. False when the line is none."""
        body = text.strip()
        if not body.startswith("#"):
            return False
        units = self.tokens(body[1:])
        if "Idx" not in units:
            return False
        if len(units) == self.size:
            self.columns = [(at, name, units[at].removeprefix(_GPM)) for at, name, _ in self.columns]
        return True


def layout_of(text: str) -> Layout | None:
    """The layout a header line declares, None for any other line.

    A name that occurs twice cannot be told apart and is left out (`twice`).
    """
    names = dmon_names(text)
    if names is None:
        return None
    names = [_OLD_NAMES.get(n, n) for n in names]
    twice = tuple(sorted({n for n in names if names.count(n) > 1}))
    columns = [
        (at, name, "")
        for at, name in enumerate(names)
        if name not in ("date", "time", "gpu") and name not in twice
    ]
    return Layout(
        csv="," in text,
        size=len(names),
        gpu=names.index("gpu"),
        date=names.index("date") if "date" in names else None,
        time=names.index("time") if "time" in names else None,
        columns=columns,
        positions=[at for at, _, _ in columns],
        twice=twice,
    )


def without_epoch(text: str) -> tuple[float | None, str]:
    """Take off a stamp in seconds since 1970 that a wrapper script wrote before the row."""
    match = _EPOCH.match(text)
    if match is None:
        return None, text
    return float(match.group(1)), text[match.end() :]


def uncommented(text: str) -> str:
    """A data row that the poster commented out too (`#   0   21 …`)."""
    body = text.lstrip()
    return body[1:] if body.startswith("#") and body[1:].lstrip()[:1].isdigit() else text
