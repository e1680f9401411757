"""Options that several commands share, and the settings and judge options they lead to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from diagnose.settings import Settings

if TYPE_CHECKING:
    from diagnose.judge import JudgeOptions

Paths = Annotated[
    list[Path], typer.Argument(metavar="PATH", help="Files and folders; - is log text on stdin.")
]
Signatures = Annotated[
    list[Path] | None,
    typer.Option("--signatures", metavar="DIR", help="Use the signatures in DIR too; repeatable."),
]
Config = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Read settings from this TOML file.")
]
Thresholds = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SIGNATURE.THRESHOLD=VALUE", help="Replace a threshold; repeatable."),
]
Width = Annotated[int | None, typer.Option("--width", metavar="COLUMNS", help="Wrap text at this width.")]
Ascii = Annotated[bool | None, typer.Option("--ascii/--no-ascii", help="Draw with ASCII only.")]
TextOrJson = Annotated[Literal["text", "json"], typer.Option("--format", "-f", help="Output format.")]


def resolve(
    flags: dict[str, object],
    *,
    config: Path | None = None,
    inputs: Sequence[Path] = (),
    thresholds: Sequence[str] | None = None,
) -> Settings:
    """Settings with `flags` on top; remarks about them go to stderr unless it is to be quiet."""
    from diagnose import settings
    from diagnose.cli import streams

    if thresholds:
        flags = flags | {"thresholds": settings.parse_thresholds(thresholds)}
    resolved = settings.resolve(flags, config=config, inputs=inputs)
    if not resolved.quiet:
        for note in resolved.notes:
            streams.say(f"warning: {note}")
    return resolved


def judge_options(settings: Settings, *, every: bool = False) -> JudgeOptions:
    """What the judge is told; `every`: all signatures, whatever the setting `only` says."""
    from diagnose.judge import JudgeOptions

    return JudgeOptions(
        signature_folders=settings.signatures,
        overrides=settings.thresholds,
        only=() if every else settings.only,
        hash_inputs=settings.hash,
    )
