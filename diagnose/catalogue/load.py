"""Reads the data files of this package and turns their patterns into linear regular expressions.

Patterns are data, so they run only on the Rust engine behind polars: no look-around, linear time.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

# A pattern longer than this is refused: the engine's compiled size grows with it.
MAX_PATTERN = 4_096


@cache
def data(name: str) -> dict[str, Any]:
    """The parsed TOML file `name` of this package. Read once; callers must not change it."""
    return tomllib.loads(files(__package__).joinpath(name).read_text(encoding="utf-8"))


def any_of(patterns: Iterable[str], *, any_case: bool = False) -> str:
    """One expression that matches where any of `patterns` does.

    Raises ValueError when it is empty (it would match every text) or too long.
    """
    joined = "|".join(patterns)
    if not joined:
        raise ValueError("no pattern given: it would match every text")
    if len(joined) > MAX_PATTERN:
        raise ValueError(f"pattern of {len(joined)} characters; at most {MAX_PATTERN} are allowed")
    return f"(?i){joined}" if any_case else joined
