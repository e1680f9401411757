"""`diagnose PATH…` without a command name is the hidden command `run`: put its name in."""

from __future__ import annotations

from collections.abc import Collection, Sequence

RUN = "run"
HELP = {"--help", "-h"}


def insert(
    args: Sequence[str],
    *,
    commands: Collection[str],
    value_options: Collection[str],
    root_options: Collection[str],
) -> list[str]:
    """`args` with a command name in front, where there is anything for a command to do.

    `value_options` are the options that take a value (`-o`, `--width`), so that a value before the
    first path is not mistaken for one. Options before a command name are moved behind it. Arguments
    that are nothing but `root_options` (`--install-completion`) stay as they are, and `--help`
    without a command name is the help of the whole program.
    """
    place = first_word(args, value_options)
    end = list(args).index("--") if "--" in args else len(args)
    if (place is None or args[place] not in commands) and HELP & set(args[:end]):
        return ["--help"]
    if place is None:
        return list(args) if all(a in root_options for a in args) else [RUN, *args]
    if args[place] in commands and "--" not in args[:place]:
        return [args[place], *args[:place], *args[place + 1 :]]
    return [RUN, *args]


def first_word(args: Sequence[str], value_options: Collection[str]) -> int | None:
    """Index of the first argument that is neither an option nor an option's value; None if none is."""
    i = 0
    while i < len(args):
        arg = args[i]
        if arg == "--":
            return i + 1 if i + 1 < len(args) else None
        if arg == "-" or not arg.startswith("-"):
            return i
        i += 2 if _takes_next(arg, value_options) else 1
    return None


def _takes_next(arg: str, value_options: Collection[str]) -> bool:
    if arg.startswith("--"):
        return arg in value_options  # `--width=80` is not: its value came along
    for n, letter in enumerate(arg[1:], start=1):  # `-qf md`, `-fmd`
        if f"-{letter}" in value_options:
            return n == len(arg) - 1
    return False
