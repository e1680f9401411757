"""Settings: what they are, where a value may come from, and which place wins.

Order, highest first: command-line flags, environment `DIAGNOSE_*`, the file of `--config`, the
nearest `diagnose.toml` or `pyproject.toml` with a `[tool.diagnose]` table from the current folder
upward, `diagnose.toml` in the user's configuration folder, the default. Each value keeps its origin.

A file that lies inside an input folder is never obeyed: evidence may come from anyone.
"""

from __future__ import annotations

import difflib
import math
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from diagnose.errors import ConfigError

FILE_NAME = "diagnose.toml"
ENV_PREFIX = "DIAGNOSE_"
MIN_WIDTH = 40
Thresholds = Mapping[str, Mapping[str, float]]

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")


def _setting(default: Any, kind: str, help_: str, *choices: str) -> Any:
    return field(default=default, metadata={"kind": kind, "help": help_, "choices": choices})


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting with its effective value; `origins` tells where each value comes from.

    `origins` also has one entry `thresholds.SIGNATURE.NAME` for each overridden threshold.
    `notes` are remarks for the user (a file that was not obeyed, a variable that looks misspelt).
    """

    format: str = _setting("text", "text", "report format when -f is not given")
    fail_on: str = _setting(
        "medium", "choice", "lowest severity that gives exit code 1", "low", "medium", "high", "critical"
    )
    min_verdict: str = _setting(
        "probable", "choice", "weakest verdict that gives exit code 1", "probable", "confirmed"
    )
    exit_zero: bool = _setting(False, "flag", "give 0 where the exit code would be 1")
    signatures: tuple[Path, ...] = _setting((), "paths", "folders with more signatures")
    only: tuple[str, ...] = _setting((), "texts", "judge these signatures only")
    width: int | None = _setting(None, "width", "columns of text output")
    color: str = _setting("auto", "choice", "colours on the terminal", "auto", "always", "never")
    ascii: bool = _setting(False, "flag", "plain ASCII text output")
    verbose: bool = _setting(False, "flag", "more detail in the text report")
    quiet: bool = _setting(False, "flag", "no text report, no messages: only the exit code")
    hash: bool = _setting(True, "flag", "print the SHA-256 of each input")
    thresholds: Thresholds = field(
        default_factory=dict,
        metadata={"kind": "thresholds", "help": "thresholds of signatures, replaced", "choices": ()},
    )
    origins: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


KINDS: dict[str, str] = {f.name: f.metadata["kind"] for f in fields(Settings) if f.metadata}
HELP: dict[str, str] = {f.name: f.metadata["help"] for f in fields(Settings) if f.metadata}
CHOICES: dict[str, tuple[str, ...]] = {f.name: f.metadata["choices"] for f in fields(Settings) if f.metadata}


def resolve(
    flags: Mapping[str, object] | None = None,
    *,
    config: Path | None = None,
    inputs: Sequence[Path] = (),
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
    user_file: Path | None = None,
) -> Settings:
    """Merge all places into one `Settings`, value by value (thresholds one by one).

    `flags` holds what was given on the command line (None: not given). `inputs` are the paths to be
    judged; configuration found inside one that is a folder is not obeyed. Raises ConfigError with
    the file (or variable) and the key.
    """
    environ = os.environ if environ is None else environ
    cwd = Path.cwd() if cwd is None else cwd
    notes: list[str] = []
    layers: list[tuple[str, dict[str, Any]]] = []

    given = {k: v for k, v in (flags or {}).items() if v is not None and v != () and v != []}
    layers.append(("command line", _checked(given, "command line", cwd)))
    env_layers, env_notes = _from_environment(environ, cwd)
    layers += env_layers
    notes += env_notes
    if config is None and environ.get("DIAGNOSE_CONFIG"):
        config = Path(environ["DIAGNOSE_CONFIG"])
    if config is not None:
        config = cwd / config.expanduser()
        layers.append((str(config), _from_file(config, must_exist=True)))
    found, skipped = _nearest(cwd, inputs)
    notes += [f"{p} lies inside an input folder and is not obeyed; use it with --config" for p in skipped]
    if found is not None:
        layers.append((str(found), _from_file(found)))
    user = _user_file() if user_file is None else user_file
    if user.is_file():
        layers.append((str(user), _from_file(user)))
    return _merge(layers, notes)


def _merge(layers: list[tuple[str, dict[str, Any]]], notes: list[str]) -> Settings:
    values: dict[str, Any] = {}
    origins = dict.fromkeys(KINDS, "default")
    thresholds: dict[str, dict[str, float]] = {}
    for origin, layer in reversed(layers):  # lowest first, so that the highest is written last
        for key, value in layer.items():
            origins[key] = origin
            if key == "thresholds":
                for signature, limits in value.items():
                    thresholds.setdefault(signature, {}).update(limits)
                    origins |= {f"thresholds.{signature}.{name}": origin for name in limits}
            else:
                values[key] = value
    return Settings(**values, thresholds=thresholds, origins=origins, notes=tuple(notes))


def _nearest(cwd: Path, inputs: Sequence[Path]) -> tuple[Path | None, list[Path]]:
    """The configuration file nearest above `cwd`, and those passed over inside input folders."""
    folders = [p.resolve() for p in inputs if p.is_dir()]
    here = cwd.resolve()
    skipped: list[Path] = []
    for folder in (here, *here.parents):
        for path in (folder / FILE_NAME, folder / "pyproject.toml"):
            if not path.is_file() or (path.name == "pyproject.toml" and not _has_table(path)):
                continue
            if any(folder == f or f in folder.parents for f in folders):
                skipped.append(path)
                continue
            return path, skipped
    return None, skipped


def _has_table(path: Path) -> bool:
    try:
        text = path.read_text(encoding="utf-8")
        return "diagnose" in tomllib.loads(text).get("tool", {})
    except tomllib.TOMLDecodeError:
        # Other tools own this file: a fault in it is ours only when it speaks of us.
        return "[tool.diagnose" in text
    except (OSError, UnicodeDecodeError, AttributeError, TypeError):
        return False


def _from_file(path: Path, *, must_exist: bool = False) -> dict[str, Any]:
    try:
        data = tomllib.loads(path.read_bytes().decode("utf-8"))
    except tomllib.TOMLDecodeError as exc:
        raise ConfigError(f"not valid TOML: {exc}", where=str(path)) from exc
    except UnicodeDecodeError as exc:
        raise ConfigError("not UTF-8 text", where=str(path)) from exc
    except OSError as exc:
        hint = "--config takes the path of a TOML file" if must_exist else ""
        raise ConfigError(exc.strerror or str(exc), where=str(path), hint=hint) from exc
    prefix = ""
    if path.name == "pyproject.toml":
        prefix = "tool.diagnose."
        data = data.get("tool", {}).get("diagnose", {})
        if not isinstance(data, dict):
            raise ConfigError("tool.diagnose must be a table", where=str(path))
    renamed: dict[str, Any] = {}
    for key, value in data.items():
        name = key.replace("-", "_")
        if name in renamed:
            raise ConfigError(f"{prefix}{key} is given twice", where=str(path))
        renamed[name] = value
    return _checked(renamed, str(path), path.parent, prefix)


def _from_environment(
    environ: Mapping[str, str], cwd: Path
) -> tuple[list[tuple[str, dict[str, Any]]], list[str]]:
    layers: list[tuple[str, dict[str, Any]]] = []
    notes: list[str] = []
    known = {ENV_PREFIX + name.upper(): name for name in KINDS}
    for variable, text in sorted(environ.items()):
        if not variable.startswith(ENV_PREFIX) or not text:
            continue
        name = known.get(variable)
        if name is not None:
            value = _from_text(name, text, variable)
            layers.append((f"environment {variable}", _checked({name: value}, variable, cwd)))
        elif variable != "DIAGNOSE_CONFIG":
            # Other programs may use the prefix too, so only a near miss is worth a word.
            close = difflib.get_close_matches(variable, known, n=1, cutoff=0.85)
            notes += [f"{variable} is not a setting; did you mean {c}?" for c in close]
    return layers, notes


def _from_text(name: str, text: str, where: str) -> object:
    """An environment variable's text as the type that its setting has."""
    kind = KINDS[name]
    if kind == "flag":
        if text.lower() in _TRUE + _FALSE:
            return text.lower() in _TRUE
        raise ConfigError(f"{text!r} is neither yes nor no", where=where, hint="use 1 or 0")
    if kind == "width":
        return int(text) if text.isascii() and text.isdigit() else text
    if kind == "paths":
        return [part for part in text.split(os.pathsep) if part]
    if kind == "texts":
        return [part.strip() for part in text.split(",") if part.strip()]
    if kind == "thresholds":
        return parse_thresholds([part.strip() for part in text.split(",") if part.strip()], where)
    return text


def parse_thresholds(texts: Sequence[str], where: str = "--set") -> dict[str, dict[str, float]]:
    """`signature.threshold=value` texts as {signature: {threshold: value}}. Raises ConfigError."""
    out: dict[str, dict[str, float]] = {}
    for text in texts:
        key, equals, number = text.partition("=")
        signature, dot, name = key.strip().rpartition(".")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not (equals and dot and signature and name and math.isfinite(value)):
            hint = "write SIGNATURE.THRESHOLD=NUMBER, for example fp8-cast-storm.min_follow=0.6"
            raise ConfigError(f"{text!r} does not set a threshold", where=where, hint=hint)
        out.setdefault(signature, {})[name] = value
    return out


def _checked(layer: Mapping[str, object], where: str, base: Path, prefix: str = "") -> dict[str, Any]:
    """The layer with every key known and every value of the right type."""
    out: dict[str, Any] = {}
    for key, value in layer.items():
        if key not in KINDS:
            close = difflib.get_close_matches(key, KINDS, n=1)
            hint = f"did you mean {close[0]}?" if close else "`diagnose config` lists the settings"
            raise ConfigError(f"{prefix}{key} is not a setting", where=where, hint=hint)
        out[key] = _value(key, value, f"{prefix}{key}", where, base)
    return out


def _value(key: str, value: object, label: str, where: str, base: Path) -> Any:
    kind = KINDS[key]

    def wrong(wanted: str) -> ConfigError:
        return ConfigError(f"{label} = {value!r}: must be {wanted}", where=where)

    if kind == "flag":
        if not isinstance(value, bool):
            raise wrong("true or false")
    elif kind == "choice":
        if value not in CHOICES[key]:
            raise wrong("one of " + ", ".join(CHOICES[key]))
    elif kind == "text":
        if not isinstance(value, str) or not value:
            raise wrong("a text")
    elif kind == "width":
        if not isinstance(value, int) or isinstance(value, bool) or value < MIN_WIDTH:
            raise wrong(f"a whole number of at least {MIN_WIDTH}")
    elif kind in ("texts", "paths"):
        items = list(_texts(value, wrong))
        return tuple(base / Path(i).expanduser() for i in items) if kind == "paths" else tuple(items)
    elif kind == "thresholds":
        return _limits(value, label, where)
    return value


def _texts(value: object, wrong: Any) -> Iterator[str]:
    if not isinstance(value, list | tuple):
        raise wrong("a list of texts")
    for item in value:
        if not isinstance(item, str | Path) or not str(item):
            raise wrong("a list of texts")
        yield str(item)


def _limits(value: object, label: str, where: str) -> dict[str, dict[str, float]]:
    out: dict[str, dict[str, float]] = {}
    if not isinstance(value, Mapping):
        raise ConfigError(f"{label} must be a table of signatures", where=where)
    for signature, limits in value.items():
        if not isinstance(limits, Mapping):
            hint = f"[{label}.{signature}], then one line a threshold: name = number"
            raise ConfigError(f"{label}.{signature} must be a table", where=where, hint=hint)
        for name, limit in limits.items():
            out.setdefault(signature, {})[name] = _limit(limit, f"{label}.{signature}.{name}", where)
    return out


def _limit(value: object, label: str, where: str) -> float:
    number = math.nan
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:  # an integer beyond any float
            number = math.inf
    if not math.isfinite(number):
        raise ConfigError(f"{label} = {value!r}: must be a number", where=where)
    return number


def _user_file() -> Path:
    from platformdirs import user_config_path

    return user_config_path("diagnose", appauthor=False) / FILE_NAME
