"""`diagnose inspect PATH…`: what each file is, what can be judged from it, and what is missing."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from diagnose.cli import codes, inputs, options, output, page, streams

if TYPE_CHECKING:
    from diagnose.findings import Capture
    from diagnose.judge import InspectedInput

NAME = "inspect"


def command(
    paths: options.Paths,
    format_: options.TextOrJson = "text",
    config: options.Config = None,
    width: options.Width = None,
) -> Callable[[], int]:
    """Say what each file is, what it can tell, and what is missing."""

    def job() -> int:
        settings = options.resolve({"width": width}, config=config, inputs=paths)
        inputs.check(paths)
        with inputs.spooled(paths) as (real, spool):
            from diagnose import judge

            found = list(judge.inspect(real))
        shown = [
            (inputs.STDIN.name if spool and str(i.path) == str(spool) else str(i.path), i) for i in found
        ]
        if format_ == "json":
            output.to_stdout(to_json(shown), utf8=True)
        else:
            look = streams.look(sys.stdout, settings)
            output.to_stdout("\n".join(to_text(shown, look.width)))
        return codes.OK if any(i.can_judge for i in found) else codes.NOT_JUDGED

    return job


def to_json(found: Sequence[tuple[str, InspectedInput]]) -> str:
    listed = [
        {
            "path": path,
            "kind": item.kind,
            "rows": item.rows,
            "span": _plain(item.span),
            "devices": [_plain(d) for d in item.devices],
            "problems": list(item.problems),
            "can_judge": list(item.can_judge),
            "missing": [
                {"signature": signature, "missing": c.missing, "command": c.command, "note": c.note}
                for signature, c in item.missing
            ],
        }
        for path, item in found
    ]
    return json.dumps({"schema": "diagnose.inspect/1", "inputs": listed}, indent=2, ensure_ascii=False)


def to_text(found: Sequence[tuple[str, InspectedInput]], width: int | None) -> Iterator[str]:
    for path, item in found:
        rows = f", {item.rows:,} rows" if item.rows else ""
        yield from page.paragraph(f"{path}: {item.kind}{rows}", width)
        if item.span:
            yield from page.paragraph(f"covers {item.span}", width, "  ")
        if item.devices:
            yield from page.paragraph("GPUs: " + ", ".join(map(str, item.devices)), width, "  ")
        for problem in item.problems:
            yield from page.paragraph(f"problem: {problem}", width, "  ")
    yield ""
    judged = dict.fromkeys(signature for _, item in found for signature in item.can_judge)
    yield from page.paragraph(f"can be judged: {', '.join(judged) or 'nothing'}", width)
    for capture, signatures in _lacking(item for _, item in found).items():
        wanted = f"lacks {capture.missing} for {', '.join(signatures)}; collect it with:"
        yield from page.paragraph(wanted, width)
        yield f"    {streams.clean(capture.command)}"  # never wrapped: it is to be copied
        if capture.note:
            yield from page.paragraph(capture.note, width, "    ")


def _lacking(items: Iterable[InspectedInput]) -> dict[Capture, list[str]]:
    """What the files together lack, and the signatures that would use it."""
    out: dict[Capture, list[str]] = {}
    for item in items:
        for signature, capture in item.missing:
            if signature not in out.setdefault(capture, []):
                out[capture].append(signature)
    return out


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float) else str(value)
