"""`diagnose explain ID`: one signature as a page."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from diagnose.cli import codes, options, output, streams
from diagnose.errors import UsageError

NAME = "explain"


def command(
    signature: Annotated[str, typer.Argument(metavar="ID", help="A signature; `diagnose list` names them.")],
    signatures: options.Signatures = None,
    thresholds: options.Thresholds = None,
    config: options.Config = None,
    width: options.Width = None,
) -> Callable[[], int]:
    """Show one signature as a page: evidence, look-alikes, remedies."""

    def job() -> int:
        from diagnose import judge
        from diagnose.cli import signature_page

        flags: dict[str, object] = {"signatures": signatures, "width": width}
        settings = options.resolve(flags, config=config, thresholds=thresholds)
        loaded = judge.load_signatures(options.judge_options(settings, every=True))
        if signature not in loaded.by_id:
            close = difflib.get_close_matches(signature, loaded.by_id, n=3)
            hint = f"did you mean {' or '.join(close)}?" if close else "`diagnose list` names the signatures"
            raise UsageError(f"there is no signature {signature}", hint=hint)
        look = streams.look(sys.stdout, settings)
        output.to_stdout("\n".join(signature_page.lines(loaded[signature], look.width)))
        return codes.OK

    return job
