"""`diagnose check [FILE…]`: are the signature files well formed and do their inline cases hold?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

NAME = "check"


def command(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE]...", help="Signature files; none: all that are in use."),
    ] = None,
) -> Callable[[], int]:
    """Check signature files: schema, expressions, inline cases."""

    def job() -> int:
        raise NotImplementedError(files)

    return job
