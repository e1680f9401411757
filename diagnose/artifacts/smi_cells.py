"""Cells that nvidia-smi prints: numbers with units, flags, stamps, and the texts that are no value."""

from __future__ import annotations

import datetime
import re
from functools import lru_cache

# Not there, not supported or not asked: None, never 0. An error text is told apart by `error_of`.
_UNKNOWN = frozenset((
    "", "-", "n/a", "none", "not supported", "not available", "requested functionality has been deprecated",
    "could not collect", "unknown",
))  # fmt: skip
_ERRORS = ("error", "requires reset", "is lost", "err!", "insufficient permissions", "not found")
_NUMBER = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)(?:\s?([A-Za-z%][A-Za-z/%]*))?\Z")
_WHOLE = re.compile(r"([0-9]{1,15})(?: ?x)?\Z")
_VERSION = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,4}){1,3})(?=[\s\[|]|\Z)")
_DEVICE_ID = re.compile(r"(?:0x)?([0-9A-Fa-f]{4})([0-9A-Fa-f]{4})\Z")

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# `Tue Jul 14 08:12:53 2026` above the table and in -q; `2026/07/14 08:12:53.353` in a query.
_DATE = re.compile(
    r"\s*(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ([A-Z][a-z]{2}) {1,2}([0-9]{1,2}) ([0-9]{2}):([0-9]{2}):([0-9]{2})"
    r"(?: [A-Z]{2,5})? ([0-9]{4})\s*\Z"
)
_STAMP = re.compile(r"([0-9]{4})/([0-9]{2})/([0-9]{2}) ([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]{1,6})?\Z")


def bare(text: str) -> str:
    """A cell without the brackets that queries put around texts in place of values."""
    text = text.strip()
    return text[1:-1].strip() if text.startswith("[") and text.endswith("]") else text


def is_unknown(text: str) -> bool:
    """True for `N/A`, `-`, `[Not Supported]`, deprecated fields and the like, and for errors."""
    return bare(text).lower() in _UNKNOWN or error_of(text) is not None


@lru_cache(4096)  # a loop prints the same cells again and again
def error_of(text: str) -> str | None:
    """`[Unknown Error]`, `[GPU requires reset]`, `ERR!`: what nvidia-smi says went wrong; None if nothing."""
    word = bare(text)
    low = word.lower()
    if low in _UNKNOWN or len(word) > 60:
        return None
    return word if low.startswith("err!") or any(low.endswith(e) for e in _ERRORS) else None


def text_of(text: str) -> str | None:
    """The cell as printed, None when it is no value."""
    return None if is_unknown(text) else text.strip()[:120]


@lru_cache(4096)
def number(text: str, unit: str) -> float | None:
    """`629.45 W` → 629.45. The unit must stand there: a cut `629` is no value."""
    match = _NUMBER.match(text.strip())
    return float(match.group(1)) if match and (match.group(2) or "") == unit else None


@lru_cache(1024)
def whole(text: str) -> int | None:
    """`16` or `16x` → 16."""
    match = _WHOLE.match(text.strip())
    return int(match.group(1)) if match else None


@lru_cache(1024)
def flag(text: str) -> bool | None:
    """`Active`, `Enabled`, `Yes` and their opposites; None for anything else."""
    low = text.strip().lower()
    if low in ("active", "enabled", "yes"):
        return True
    return False if low in ("not active", "disabled", "no") else None


@lru_cache(64)
def version(text: str) -> str | None:
    """First token of a version cell; what 610 prints behind it (`[Deprecated; …]`) is no version."""
    match = _VERSION.match(text.strip())
    return match.group(1) if match else None


def device_id(text: str) -> str | None:
    """`0x20B510DE` (device, then vendor) → `10de:20b5`, as lspci writes it."""
    match = _DEVICE_ID.match(text.strip())
    return f"{match.group(2)}:{match.group(1)}".lower() if match else None


def stamp(text: str) -> float | None:
    """Seconds since 1970 as if local time were UTC; None when the text is no date."""
    if match := _DATE.match(text):
        month, *rest, year = match.groups()
        if month not in _MONTHS:
            return None
        parts = [int(year), _MONTHS.index(month) + 1, *(int(part) for part in rest)]
        fraction = 0.0
    elif match := _STAMP.match(text.strip()):
        parts = [int(part) for part in match.groups()[:6]]
        fraction = float(match.group(7) or 0)
    else:
        return None
    try:
        year_, month_, day, hour, minute, second = parts
        moment = datetime.datetime(year_, month_, day, hour, minute, second, tzinfo=datetime.UTC)
    except ValueError:
        return None
    return moment.timestamp() + fraction
