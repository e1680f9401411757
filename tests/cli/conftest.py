"""A clean environment for every test of the command line, and ways to run it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import diagnose

FAKES = Path(__file__).with_name("fakes.py")
ROOT = Path(diagnose.__file__).parent.parent


@pytest.fixture(autouse=True)
def clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings of the person who runs the tests, an empty current folder, no terminal habits."""
    for name in list(os.environ):
        if name.startswith("DIAGNOSE_") or name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM"):
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    work = tmp_path / "work"
    home.mkdir()
    work.mkdir()
    for name in ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(work)


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """`fakes.py` with its judge and reports in place of the real ones."""
    spec = importlib.util.spec_from_file_location("diagnose_cli_fakes", FAKES)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    for short, fake in module.modules().items():
        monkeypatch.setitem(sys.modules, f"diagnose.{short}", fake)
        monkeypatch.setattr(diagnose, short, fake, raising=False)
    return module


@pytest.fixture
def case() -> Callable[..., Path]:
    """Makes an input file whose first line says what the fake judge does."""

    def make(behaviour: str, name: str = "case.txt") -> Path:
        path = Path(name)
        path.write_text(behaviour + "\n", encoding="utf-8")
        return path

    return make


@pytest.fixture
def start() -> Callable[..., subprocess.Popen[bytes]]:
    """Starts `diagnose` with the fakes in a process of its own."""

    def popen(*args: str, **options: Any) -> subprocess.Popen[bytes]:
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        return subprocess.Popen([sys.executable, str(FAKES), *args], **options)

    return popen
