"""`diagnose check [FILE…]`: are the signature files well formed, and do their inline cases hold?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from diagnose.cli import codes, options, output, streams
from diagnose.errors import SignatureError, SignatureErrors

NAME = "check"


def command(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="Signature files or folders; none: all that are in use."),
    ] = None,
    signatures: options.Signatures = None,
    config: options.Config = None,
) -> Callable[[], int]:
    """Check signature files: schema, expressions, inline cases."""

    def job() -> int:
        settings = options.resolve({"signatures": signatures}, config=config)
        output.to_stdout(check(files or [], settings.signatures))
        return codes.OK

    return job


def check(files: Sequence[Path], folders: Sequence[Path]) -> str:
    """Check `files`, or without any all signatures in use. Raises SignatureErrors with every fault.

    A file is loaded beside the signatures in use, as it will be when it is used: only so are a name
    that is taken and a reference to nothing seen.
    """
    from diagnose import judge
    from diagnose.engine.check import check as faults_of
    from diagnose.engine.load import bundled_folder

    chosen = [f.resolve() for f in files]
    in_use = [f.resolve() for f in (bundled_folder(), *folders)]
    extra = [f for f in files if not _within(f.resolve(), in_use)]
    loaded = judge.load_signatures(judge.JudgeOptions(signature_folders=(*folders, *extra)))
    checked = [s for s in loaded if not chosen or _within(s.path.resolve(), chosen)]
    for warning in loaded.warnings:
        if not files or any(warning.startswith(str(s.path)) for s in checked):
            streams.say(f"warning: {warning}")
    faults: list[SignatureError] = list(faults_of(checked))
    if faults:
        raise SignatureErrors(faults)
    cases = sum(len(s.file.cases) for s in checked)
    return f"no fault; signatures: {len(checked)}, inline cases: {cases}"


def _within(path: Path, places: Sequence[Path]) -> bool:
    return any(path == place or path.parent == place for place in places)
