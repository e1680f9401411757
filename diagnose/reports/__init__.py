"""One file a report format. `FORMATS` is the list; a writer is imported when it is first used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from diagnose.findings import Report


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """How to print. `width` None means a pipe: one line a statement, nothing wrapped.

    `command` is the command that made the report, shell-quoted; hints extend it.
    """

    width: int | None = None
    colour: bool = False
    ascii: bool = False
    verbose: bool = False
    command: str = "diagnose"


@dataclass(frozen=True, slots=True)
class Format:
    """A report format. `render` returns the whole report with a final newline."""

    name: str
    render: Callable[[Report, RenderOptions], str]
    media: str
    extension: str


def _lazy(module: str) -> Callable[[Report, RenderOptions], str]:
    def render(report: Report, options: RenderOptions) -> str:
        text: str = import_module(f"diagnose.reports.{module}").render(report, options)
        return text

    return render


FORMATS: dict[str, Format] = {
    "text": Format("text", _lazy("text"), "text/plain", ".txt"),
    "md": Format("md", _lazy("markdown"), "text/markdown", ".md"),
    "json": Format("json", _lazy("json"), "application/json", ".json"),
}
