"""Help pages, and what starting the program costs."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from diagnose.cli import app, codes, main

# What a help page needs none of.
FORBIDDEN = {
    "polars",
    "numpy",
    "pydantic",
    "rich",
    "jinja2",
    "altair",
    "dask",
    "pyarrow",
    "pandas",
    "sqlite3",
}
COMMANDS = ["inspect", "list", "explain", "check", "facts", "sample", "config"]
BUDGET_S = 0.25


def python(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *args], capture_output=True, text=True, timeout=120, check=False)


def imported_by(*args: str) -> set[str]:
    done = python("-X", "importtime", "-m", "diagnose", *args)
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines}


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["facts", "--help"], []], ids=" ".join)
def test_a_help_page_imports_no_heavy_module(args):
    # On the way to a command's help typer converts the root's options, and loads pydantic for that.
    forbidden = FORBIDDEN - {"pydantic"} if args[:1] == ["facts"] else FORBIDDEN
    names = imported_by(*args)
    assert "diagnose.cli" in names
    assert {n.split(".")[0] for n in names} & forbidden == set()


def test_the_package_and_its_records_import_the_standard_library_only():
    code = (
        "import sys; before = set(sys.modules); import diagnose.cli, diagnose.errors, "
        "diagnose.findings, diagnose.scope, diagnose.settings; "
        "print(*{m.split('.')[0] for m in set(sys.modules) - before} - set(sys.stdlib_module_names))"
    )
    assert python("-c", code).stdout.split() == ["diagnose"]


def test_help_starts_within_its_budget():
    """Best of several runs. A slow or busy machine gets more, by what a bare interpreter takes there."""

    def best(*args: str) -> float:
        times = []
        for _ in range(5):
            start = time.perf_counter()
            python(*args)
            times.append(time.perf_counter() - start)
        return min(times)

    bare = best("-c", "import argparse, dataclasses, inspect, pathlib, subprocess, typing")
    # That line takes 0.05 s where the budget was set, so the budget is five times as long.
    assert best("-m", "diagnose", "--help") < max(BUDGET_S, 5 * bare)


def test_the_root_help_shows_the_main_job_the_commands_and_the_exit_codes(capsys):
    assert main(["--help"]) == codes.OK
    page = capsys.readouterr().out
    assert page.startswith("Usage: diagnose [OPTIONS] PATH... | COMMAND")
    options = [opt for p in app.command().commands["run"].params for opt in p.opts if opt.startswith("--")]
    assert "--format" in options
    for word in [*options, "--debug", "--version", "--install-completion"]:
        assert f"{word} " in page or f"{word},\n" in page or f"{word}\n" in page, word
    for name in COMMANDS:
        assert f"\n  {name}" in page
    for code in ("0", "1", "2", "3", "70", "74", "130", "141", "143"):
        assert f"\n  {code} " in page
    assert "\n  run " not in page
    assert "..." not in page.partition("Commands:")[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help_page(capsys, name):
    assert main([name, "--help"]) == codes.OK
    assert capsys.readouterr().out.startswith(f"Usage: diagnose {name} ")


@pytest.mark.parametrize("args", [["case.sqlite", "--help"], ["-h"], ["-f", "md", "-h"]], ids=" ".join)
def test_help_without_a_command_is_the_root_help(capsys, args):
    assert main(args) == codes.OK
    assert "Commands:" in capsys.readouterr().out


def test_no_private_option_takes_a_value_in_one_command_and_none_in_another():
    """The default command is found by skipping option values, so an option must mean one thing."""
    kinds: dict[str, set[bool]] = {}
    for sub in app.command().commands.values():
        for p in sub.params:
            for opt in p.opts if p.param_type_name == "option" else []:
                kinds.setdefault(opt, set()).add(bool(p.is_flag))
    assert [opt for opt, seen in kinds.items() if len(seen) > 1] == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_lists_the_commands(shell, monkeypatch, capsys):
    monkeypatch.setenv("_DIAGNOSE_COMPLETE", f"complete_{shell}")
    monkeypatch.setenv("COMP_WORDS", "diagnose ")
    monkeypatch.setenv("COMP_CWORD", "1")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "diagnose ")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    assert main([]) == 0
    assert "explain" in capsys.readouterr().out
