"""`diagnose list`: the signatures in use, what each finds and what it reads."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from diagnose.cli import codes, options, output, page, streams

if TYPE_CHECKING:
    from diagnose.engine.compiled import Signature

NAME = "list"


def command(
    signatures: options.Signatures = None,
    format_: options.TextOrJson = "text",
    config: options.Config = None,
    width: options.Width = None,
) -> Callable[[], int]:
    """List the signatures: what each finds and what it reads."""

    def job() -> int:
        from diagnose import judge

        flags: dict[str, object] = {"signatures": signatures, "width": width}
        settings = options.resolve(flags, config=config)
        loaded = judge.load_signatures(options.judge_options(settings, every=True))
        for warning in loaded.warnings:
            if warning.startswith(tuple(map(str, settings.signatures))):  # `check` says all of them
                streams.say(f"warning: {warning}")
        if format_ == "json":
            output.to_stdout(to_json(loaded), utf8=True)
        else:
            look = streams.look(sys.stdout, settings)
            output.to_stdout("\n".join(to_text(loaded, look.width)))
        return codes.OK

    return job


def to_text(loaded: Iterable[Signature], width: int | None) -> list[str]:
    rows = [(s.id, s.file.title, reads(s), s.file.status) for s in loaded]
    return page.table(("signature", "what it finds", "reads", "status"), rows, width, wrapped=(1, 2))


def reads(signature: Signature) -> str:
    """The tables of which one must be there."""
    return " or ".join(signature.file.needs.any_of)


def to_json(loaded: Iterable[Signature]) -> str:
    listed = [
        {
            "id": s.id,
            "title": s.file.title,
            "summary": s.file.summary,
            "status": s.file.status,
            "version": s.file.version,
            "scope": s.file.scope,
            "any_of": list(s.file.needs.any_of),
            "helpful": list(s.file.needs.helpful),
            "path": str(s.path),
        }
        for s in loaded
    ]
    return json.dumps({"schema": "diagnose.list/1", "signatures": listed}, indent=2, ensure_ascii=False)
