from __future__ import annotations

from pathlib import Path

import pytest

from diagnose.cli import app, codes, default_command, main

pytestmark = pytest.mark.usefixtures("fakes")
COMMANDS = {"run", "list", "explain", "facts"}
VALUES = {"-f", "--format", "-o", "--output", "--signatures", "--fail-on", "--width"}
ROOTS = {"--install-completion", "--show-completion", "--version"}


def insert(*args: str) -> list[str]:
    return default_command.insert(args, commands=COMMANDS, value_options=VALUES, root_options=ROOTS)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["a.sqlite"], ["run", "a.sqlite"]),
        (["list"], ["list"]),
        (["run", "a.sqlite"], ["run", "a.sqlite"]),
        (["./list"], ["run", "./list"]),
        (["a.sqlite", "list"], ["run", "a.sqlite", "list"]),
        (["--", "list"], ["run", "--", "list"]),
        (["-"], ["run", "-"]),
        (["-q", "-"], ["run", "-q", "-"]),
        # a value before the first path is no command and no path
        (["-f", "list", "a"], ["run", "-f", "list", "a"]),
        (["-o", "list", "a"], ["run", "-o", "list", "a"]),
        (["--signatures", "facts", "a"], ["run", "--signatures", "facts", "a"]),
        (["--fail-on", "high", "list"], ["list", "--fail-on", "high"]),
        (["--width=80", "list"], ["list", "--width=80"]),
        (["-fmd", "list"], ["list", "-fmd"]),
        (["-qf", "md", "list"], ["list", "-qf", "md"]),
        (["-q", "list"], ["list", "-q"]),
        (["-f", "json", "facts", "a"], ["facts", "-f", "json", "a"]),
        # nothing but options
        (["--install-completion"], ["--install-completion"]),
        (["-f", "md"], ["run", "-f", "md"]),
        (["--help"], ["--help"]),
        (["a.sqlite", "--help"], ["--help"]),
        (["list", "--help"], ["list", "--help"]),
        (["--help", "list"], ["list", "--help"]),
        (["--", "--help"], ["run", "--", "--help"]),
    ],
)
def test_insert(args, expected):
    assert insert(*args) == expected


OPTION_CASES = [
    ["-f", "md"],
    ["-fmd"],
    ["--format=md"],
    ["-o", "list.md"],
    ["-f", "md", "-o", "list"],
    ["--signatures", "facts"],
    ["--fail-on", "low"],
    ["--min-verdict", "confirmed"],
    ["--width", "100"],
    ["--config", "list.toml"],
    ["--set", "some-chain.limit=3"],
    ["--only", "explain"],
    ["-q"],
    ["-v"],
    ["-qv"],
    ["--no-color"],
    ["--ascii"],
    ["--no-hash"],
    ["--exit-zero"],
]


@pytest.mark.parametrize("options", OPTION_CASES, ids=" ".join)
@pytest.mark.parametrize("place", ["before", "after"])
def test_every_option_works_on_both_sides_of_the_path(fakes, case, options, place):
    Path("list.toml").write_text("ascii = true\n")
    path = str(case("healthy"))
    assert main([*options, path] if place == "before" else [path, *options]) == codes.OK
    assert fakes.CALLS[0][0] == [Path("case.txt")]


def test_every_value_option_of_run_is_known_to_the_insertion():
    """No option of the main job can swallow the first path: each one that takes a value is tried."""
    for param in app.command().commands["run"].params:
        tried = [o for o in OPTION_CASES if any(o[0].split("=")[0][: len(p)] == p for p in param.opts)]
        secondary = [o for o in OPTION_CASES if o[0] in param.secondary_opts]
        assert tried or secondary or param.name == "paths", param.opts


def test_a_path_named_like_a_command_needs_its_folder(case, capsys):
    case("found critical confirmed", "facts")
    assert main(["./facts"]) == codes.FOUND
    assert main(["facts"]) == codes.USAGE
    assert "the path of that name is ./facts" in capsys.readouterr().err


def test_several_paths_are_one_case(fakes, case):
    case("healthy", "a")
    case("healthy", "b")
    assert main(["a", "-q", "b"]) == codes.OK
    assert fakes.CALLS[0][0] == [Path("a"), Path("b")]
