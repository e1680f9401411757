"""`diagnose PATH…`: judge one case and write its report."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from diagnose.cli import codes, inputs, options, output, streams
from diagnose.errors import UsageError
from diagnose.settings import Settings

if TYPE_CHECKING:
    from diagnose.findings import Report


def command(
    paths: options.Paths,
    format_: Annotated[
        list[str] | None,
        typer.Option("--format", "-f", metavar="FORMAT", help="Report format; repeatable, with one -o each."),
    ] = None,
    output_: Annotated[
        list[str] | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where the report goes; - is stdout."),
    ] = None,
    fail_on: Annotated[
        Literal["low", "medium", "high", "critical"] | None,
        typer.Option("--fail-on", help="Lowest severity that gives exit code 1 [default: medium]."),
    ] = None,
    min_verdict: Annotated[
        Literal["probable", "confirmed"] | None,
        typer.Option("--min-verdict", help="Weakest verdict that gives exit code 1 [default: probable]."),
    ] = None,
    exit_zero: Annotated[
        bool | None, typer.Option("--exit-zero/--no-exit-zero", help="Exit with 0 where it would be 1.")
    ] = None,
    signatures: options.Signatures = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="ID", help="Judge this signature only; repeatable.")
    ] = None,
    thresholds: options.Thresholds = None,
    hash_: Annotated[
        bool | None, typer.Option("--hash/--no-hash", help="Give the SHA-256 of each input.")
    ] = None,
    config: options.Config = None,
    width: options.Width = None,
    color: Annotated[
        bool | None, typer.Option("--color/--no-color", help="Colours in the text report.")
    ] = None,
    ascii_: options.Ascii = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="More detail in the text report.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No text report and no messages: only the exit code.")
    ] = False,
) -> Callable[[], int]:
    """Judge PATH... as one case and report what is wrong, why, and what to do."""
    flags: dict[str, object] = {
        "fail_on": fail_on,
        "min_verdict": min_verdict,
        "exit_zero": exit_zero,
        "signatures": signatures,
        "only": only,
        "hash": hash_,
        "width": width,
        "color": None if color is None else "always" if color else "never",
        "ascii": ascii_,
        "verbose": verbose or None,
        "quiet": quiet or None,
    }

    def job() -> int:
        settings = options.resolve(flags, config=config, inputs=paths, thresholds=thresholds)
        return run(paths, settings, format_ or [], output_ or [])

    return job


def run(paths: Sequence[Path], settings: Settings, formats: Sequence[str], targets: Sequence[str]) -> int:
    """Judge, write every report, and give the exit code. Files are written before stdout."""
    from diagnose.cli import app, progress

    pairs = pair(formats, targets, settings)
    inputs.check(paths, app.command().commands)
    output.refuse_inputs(targets, paths)
    line = progress.ProgressLine(quiet=settings.quiet)
    with inputs.spooled(paths) as (real, spool):
        from diagnose import judge

        try:
            report = judge.judge(real, options.judge_options(settings), line)
        finally:
            line.close()
    report = inputs.unspooled(report, spool)
    output.refuse_inputs(targets, [Path(i.path) for i in report.inputs if i.readable])
    if not settings.quiet:
        _warn(report)
    rendered = [(target, name, _render(report, name, target, settings, paths)) for name, target in pairs]
    for target, _, text in rendered:
        if target != output.STDOUT:
            output.to_file(target, text)
    for target, name, text in rendered:
        if target == output.STDOUT:
            output.to_stdout(text, utf8=name != "text")
    if not settings.quiet and pairs and all(target != output.STDOUT for _, target in pairs):
        counts = ", ".join(f"{n} {v.replace('_', ' ')}" for v, n in report.summary().items() if n)
        streams.say(f"wrote {', '.join(t for _, t in pairs)}: {counts or 'nothing judged'}")
    return codes.of_report(
        report, fail_on=settings.fail_on, min_verdict=settings.min_verdict, exit_zero=settings.exit_zero
    )


def pair(formats: Sequence[str], targets: Sequence[str], settings: Settings) -> list[tuple[str, str]]:
    """(format, target) pairs: the first -f belongs to the first -o, and so on. Raises UsageError.

    -o alone takes the format from the file's suffix, -f alone goes to stdout. Nothing at all is the
    configured format on stdout, unless it is to be quiet.
    """
    if not formats and not targets:
        return [] if settings.quiet else [(_known(settings.format, "format"), output.STDOUT)]
    if not targets and len(formats) == 1:
        targets = [output.STDOUT]
    if not formats:
        formats = [_by_suffix(t, settings) for t in targets]
    if len(formats) != len(targets):
        hint = "give each -f its -o, for example: -f md -o ticket.md -f json -o - (- is stdout)"
        raise UsageError(f"{len(formats)} times -f, but {len(targets)} times -o", hint=hint)
    twice = {t for t in targets if list(targets).count(t) > 1}
    if twice:
        raise UsageError(f"-o {min(twice)} is given twice")
    return [(_known(f, "-f"), t) for f, t in zip(formats, targets, strict=True)]


def _by_suffix(target: str, settings: Settings) -> str:
    if target == output.STDOUT:
        return settings.format
    from diagnose.reports import FORMATS

    suffix = Path(target).suffix.lower()
    for name, form in FORMATS.items():
        if form.extension == suffix:
            return name
    raise UsageError(f"-o {target}: the suffix tells no format", hint="name it with -f")


def _known(name: str, place: str) -> str:
    from diagnose.reports import FORMATS

    if name not in FORMATS:
        raise UsageError(f"{place} {name}: no such format", hint="formats: " + ", ".join(FORMATS))
    return name


def _render(report: Report, name: str, target: str, settings: Settings, paths: Sequence[Path]) -> str:
    from diagnose.reports import FORMATS, RenderOptions

    if target == output.STDOUT:
        look = streams.look(sys.stdout, settings)
    else:
        look = streams.Look(settings.color == "always", settings.ascii, settings.width)
    command = " ".join(["diagnose", *(shlex.quote(str(p)) for p in paths)])
    return FORMATS[name].render(
        report,
        RenderOptions(
            width=look.width, colour=look.colour, ascii=look.ascii, verbose=settings.verbose, command=command
        ),
    )


def _warn(report: Report) -> None:
    for item in report.inputs:
        for problem in item.problems:
            streams.say(f"{'warning' if item.readable else 'error'}: {item.path}: {problem}")
        if not item.readable and not item.problems:
            streams.say(f"error: {item.path}: cannot be read")
