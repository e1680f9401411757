"""`diagnose config`: every setting, its value, and where the value comes from."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from diagnose.cli import codes, options, output, page, streams
from diagnose.settings import HELP, KINDS, Settings

NAME = "config"


def command(
    config: options.Config = None,
    format_: options.TextOrJson = "text",
    width: options.Width = None,
) -> Callable[[], int]:
    """Print every setting with its value and its origin."""

    def job() -> int:
        settings = options.resolve({"width": width}, config=config)
        as_json = format_ == "json"
        output.to_stdout(to_json(settings) if as_json else to_text(settings), utf8=as_json)
        return codes.OK

    return job


def rows(settings: Settings) -> list[tuple[str, Any, str, str]]:
    """(setting, value, origin, help); one row for each replaced threshold."""
    out: list[tuple[str, Any, str, str]] = []
    for name, kind in KINDS.items():
        value: Any = getattr(settings, name)
        if kind == "thresholds":
            out += [
                (key, value[signature][limit], settings.origins[key], HELP[name])
                for signature in sorted(value)
                for limit in sorted(value[signature])
                for key in [f"thresholds.{signature}.{limit}"]
            ]
            if value:
                continue
        if kind in ("paths", "texts"):
            value = [str(v) for v in value]
        out.append((name, value, settings.origins[name], HELP[name]))
    return out


def to_json(settings: Settings) -> str:
    listed = [dict(zip(("name", "value", "origin", "help"), row, strict=True)) for row in rows(settings)]
    return json.dumps({"schema": "diagnose.config/1", "settings": listed}, indent=2, ensure_ascii=False)


def to_text(settings: Settings) -> str:
    look = streams.look(sys.stdout, settings)
    shown = [(name, _shown(value), origin, text) for name, value, origin, text in rows(settings)]
    return "\n".join(page.table(("setting", "value", "from", "meaning"), shown, look.width))


def _shown(value: Any) -> str:
    if value is None:
        return "automatic"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(value) or "none"
    if isinstance(value, dict):
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)
