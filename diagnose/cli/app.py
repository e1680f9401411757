"""The typer application: it parses arguments into a job and does no work itself."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from diagnose.cli import (
    check,
    codes,
    config,
    default_command,
    explain,
    facts,
    inspect_,
    list_,
    run,
    sample,
    streams,
)

COMPLETION = "_DIAGNOSE_COMPLETE"  # set by the shell functions that --install-completion writes
Job = Callable[[], int]

HELP = """
Find the root cause in what was kept of a GPU incident: an exported Nsight Systems trace
(.sqlite), nvidia-smi logs, topology and NVLink output, other log text. One PATH is a file
or a folder; all of them together are one case. Files are recognised by content.

A path that is named like a command is given as ./list.
"""


class Group(TyperGroup):
    """The root: its help page shows the main job's options, then the commands."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return ["[OPTIONS] PATH... | COMMAND [ARGS]..."]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        main_job = self.commands[default_command.RUN]
        rows = [p.get_help_record(ctx) for p in [*main_job.params, *self.get_params(ctx)]]
        with formatter.section("Options"):
            formatter.write_dl([r for r in rows if r is not None and r[0].startswith("-")])
        self.format_commands(ctx, formatter)
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), meaning) for code, meaning in codes.MEANINGS.items()])


def _root(
    version: Annotated[bool, typer.Option("--version", "-V", help="Print the version and exit.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Print a traceback with an error.")] = False,
) -> None:
    """Both are taken by `diagnose.cli.main` before parsing; they stand here for the help page."""


@functools.cache
def command() -> Any:
    """The parsed tree of commands, built once."""
    app = typer.Typer(
        cls=Group,
        name="diagnose",
        help=HELP,
        # Plain help: rich would triple the start-up time and cut lines in logs.
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        pretty_exceptions_show_locals=False,
        context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100},
    )
    app.callback()(_root)
    app.command(default_command.RUN, hidden=True)(run.command)
    for module in (inspect_, list_, explain, check, facts, sample, config):
        app.command(module.NAME)(module.command)
    return get_command(app)


def parse(args: Sequence[str]) -> Job | int:
    """The job that `args` ask for, or an exit code when everything is said (help, usage error)."""
    group = command()
    takes_value = {
        opt
        for sub in group.commands.values()
        for p in sub.params
        if p.param_type_name == "option" and not p.is_flag and not p.count
        for opt in p.opts
    }
    roots = {opt for p in group.params for opt in p.opts} | {"--help", "-h"}
    if not args and COMPLETION not in os.environ:
        # On stderr with exit code 2: an empty `diagnose $FILES` must not look like "nothing found".
        streams.say(group.get_help(typer.Context(group, info_name="diagnose")))
        return codes.USAGE
    full = default_command.insert(
        args, commands=group.commands, value_options=takes_value, root_options=roots
    )
    try:
        result: Job | int | None = group.main(full, prog_name="diagnose", standalone_mode=False)
    except typer.TyperException as exc:
        word = full[0] if full[0] in group.commands and full[0] != default_command.RUN else ""
        streams.error(
            exc.format_message().replace("Value error, ", ""), f"diagnose {word} --help".replace("  ", " ")
        )
        _hint_at_path(args)
        return codes.USAGE
    return codes.OK if result is None else result


def _hint_at_path(args: Sequence[str]) -> None:
    """`diagnose run` in a folder that holds a folder `run`: say how to name it."""
    word = args[0] if args else ""
    if word in command().commands and Path(word).exists():
        streams.say(f"  hint: {word} is a command; the path of that name is ./{word}")
