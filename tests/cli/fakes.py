"""A judge and report formats whose behaviour the input file asks for by its first line.

Run as a program it is `diagnose` with these in place: what needs a process of its own (signals,
closed pipes, full devices) is tested with that.

First line of an input: `found SEVERITY VERDICT`, `healthy`, `nothing` (not judged), `big` (a report
of megabytes: more than a pipe holds), `unreadable`, `bug`, `panic`, `interrupt`, `wait` (until a
signal), `os-error`.
"""

from __future__ import annotations

import signal
import sys
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import diagnose
from diagnose import findings
from diagnose.errors import InputError

CALLS: list[tuple[list[Path], JudgeOptions]] = []
RENDERED: list[tuple[str, RenderOptions]] = []


@dataclass(frozen=True)
class JudgeOptions:
    signature_folders: tuple[Path, ...]
    overrides: Mapping[str, Mapping[str, float]]
    only: tuple[str, ...] = ()
    hash_inputs: bool = True


@dataclass(frozen=True)
class RenderOptions:
    width: int | None
    colour: bool
    ascii: bool
    verbose: bool
    command: str


class PanicException(BaseException):
    """As pyo3 raises for a panic: no Exception."""


def judge(paths: Sequence[Path], options: JudgeOptions, _progress: Any = None) -> findings.Report:
    CALLS.append((list(paths), options))
    words = paths[0].read_text(encoding="utf-8").split()
    match words[0]:
        case "bug":
            raise RuntimeError("something is\nwrong")
        case "panic":
            raise PanicException("called `Option::unwrap()` on a `None` value")
        case "interrupt":
            raise KeyboardInterrupt
        case "os-error":
            raise OSError(5, "Input/output error")
        case "unreadable":
            raise InputError("not an export", where=str(paths[0]), hint="export it first")
        case "wait":
            print("waiting", file=sys.stderr, flush=True)
            signal.pause()
    found = (finding(words[1], words[2]),) if words[0] == "found" else ()
    inputs = tuple(findings.Input(str(p), "log", "", 0, 0) for p in paths)
    title = "x" * 4_000_000 if words[0] == "big" else ""
    return findings.Report("0", inputs, None, found, nearest_miss=title, judged=words[0] != "nothing")


def finding(severity: Any, verdict: Any) -> findings.Finding:
    scope = findings.ScopeRef("run")
    return findings.Finding("some-chain", 1, "Title", "stable", "Summary.", scope, verdict, severity)


class Format:
    def __init__(self, name: str) -> None:
        self.name = name
        self.extension = {"text": ".txt", "junit": ".xml"}.get(name, f".{name}")

    def render(self, report: findings.Report, options: RenderOptions) -> str:
        RENDERED.append((self.name, options))
        return f"{self.name} report ✔ {report.inputs[0].path} {report.nearest_miss}"


def modules() -> dict[str, types.ModuleType]:
    fake_judge = types.ModuleType("diagnose.judge")
    vars(fake_judge).update(judge=judge, JudgeOptions=JudgeOptions)
    fake_reports = types.ModuleType("diagnose.reports")
    formats = {n: Format(n) for n in ("text", "md", "html", "json", "junit")}
    vars(fake_reports).update(FORMATS=formats, RenderOptions=RenderOptions)
    return {"judge": fake_judge, "reports": fake_reports}


if __name__ == "__main__":
    from diagnose.cli import main

    for short, module in modules().items():
        sys.modules[f"diagnose.{short}"] = module
        setattr(diagnose, short, module)
    sys.exit(main())
