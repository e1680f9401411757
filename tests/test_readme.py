"""Every command of the README runs, and the outputs that it shows are the real ones."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "sample_traces" / "nvlink-absent" / "confirmed-with-trace"
BLOCK = re.compile(r"```console\n(.*?)```", re.S)


def blocks(page: str) -> list[tuple[str, str]]:
    """(command, output shown) of every console block; a block of several commands shows no output."""
    found = []
    for body in BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
        lines = body.splitlines(keepends=True)
        commands = [line[2:].split("   #")[0].strip() for line in lines if line.startswith("$ ")]
        output = "".join(line for line in lines if not line.startswith("$ "))
        found += [(command, output if len(commands) == 1 else "") for command in commands]
    return found


COMMANDS = [(c, o) for c, o in blocks("README.md") if not c.startswith("pip install")]


def test_the_readme_has_two_commands_for_a_fresh_machine_and_a_real_run() -> None:
    everything = [c for c, _ in blocks("README.md")]
    assert sum("pip install" in c for c in everything) == 2
    assert any(output for _, output in COMMANDS)


@pytest.mark.parametrize(("command", "shown"), COMMANDS, ids=[c for c, _ in COMMANDS])
def test_commands_run_and_outputs_are_real(command: str, shown: str, tmp_path: Path) -> None:
    work = tmp_path / "work"
    shutil.copytree(ROOT / "sample_traces", work / "sample_traces", ignore=shutil.ignore_patterns("_build"))
    shutil.copy(SAMPLE / "trace.sqlite", work / "trace.sqlite")
    for path in SAMPLE.iterdir():
        if path.suffix in (".log", ".txt"):
            shutil.copy(path, work / path.name)
    shutil.copytree(SAMPLE, work / "FOLDER", ignore=shutil.ignore_patterns("expected.json"))
    for name in ("dmon.log", "topo.txt"):
        if not (work / name).exists():
            shutil.copy(next(p for p in SAMPLE.iterdir() if p.suffix in (".log", ".txt")), work / name)
    program = tmp_path / "bin"
    program.mkdir()
    script = program / "diagnose"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m diagnose "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("DIAGNOSE_", "COLUMNS"))}
    environment |= {"PATH": f"{program}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    done = subprocess.run(
        command,
        shell=True,
        cwd=work,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    if shown:
        assert done.stdout == shown
