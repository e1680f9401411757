"""Loads signature files: every fault of every file is collected before giving up."""

from __future__ import annotations

import importlib.resources
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from diagnose.engine.compiled import Signature, SignatureSet
from diagnose.engine.expression import did_you_mean
from diagnose.engine.faults import Collector, Fault
from diagnose.engine.signature import ID, SignatureFile, frozen
from diagnose.engine.validate import Metrics, Registries, validate
from diagnose.errors import DiagnoseError, SignatureError, SignatureErrors

_UNION_TAGS = ("float", "bool", "int", "str", "tuple[", "constrained")
MAX_BYTES = 256 * 1024
_LINE = re.compile(r"at line (\d+), column (\d+)")


def bundled_folder() -> Path:
    """The folder of the signatures that come with the package (or with the repository)."""
    installed = Path(str(importlib.resources.files("diagnose") / "_signatures"))
    beside = Path(__file__).resolve().parents[2] / "signatures"
    for folder in (installed, beside):
        if folder.is_dir():
            return folder
    raise DiagnoseError(
        "the signature files of this installation are missing", hint="install the package again"
    )


def load(
    folders: Sequence[Path],
    metrics: Metrics,
    *,
    overrides: Mapping[str, Mapping[str, float]] | None = None,
    exhibits: Metrics | None = None,
    claims: Metrics | None = None,
) -> SignatureSet:
    """All signatures of `folders` (a path may also be one `.toml` file), by id in alphabetical order.

    `metrics`, `exhibits` and `claims` are the registries a signature may call; a registry that is
    None is not checked. `overrides` replaces thresholds: signature id → name → value. A later
    folder replaces a signature only when its file says `replaces = true`.
    Raises SignatureErrors with every fault of every file.
    """
    registries = Registries(metrics, exhibits, claims)
    changes = overrides or {}
    found: dict[str, Signature] = {}
    names: dict[str, tuple[Path, frozenset[str]]] = {}
    faults: list[SignatureError] = []
    warnings: list[str] = []
    for folder in folders:
        paths, problem = _files(folder)
        if problem:
            faults.append(SignatureError(problem, where=str(folder)))
        if not paths and not problem:
            warnings.append(f"{folder}: no signature files (*.toml)")
        for path in paths:
            out, file = _read(path)
            if file is not None:
                _same_id(path, file, names, out, warnings)
                signature = validate(path.stem, file, registries, changes.get(path.stem, {}), out)
                names[path.stem] = (path, frozenset(file.thresholds))
                if signature is not None:
                    found[path.stem] = signature
            faults.extend(out.faults)
    if not faults:
        # With a file that did not load, a missing name would be a consequence, not a fault.
        faults.extend(_override_faults(changes, names))
        warnings.extend(_unknown_references(found, metrics))
    if faults:
        raise SignatureErrors(faults)
    return SignatureSet({k: found[k] for k in sorted(found)}, tuple(warnings))


def _files(folder: Path) -> tuple[list[Path], str]:
    if folder.is_file():
        return [folder], ""
    if not folder.is_dir():
        return [], "no such folder or file"
    try:
        return sorted(p for p in folder.iterdir() if p.suffix == ".toml" and p.is_file()), ""
    except OSError as error:
        return [], f"cannot be read: {error.strerror}"


def _read(path: Path) -> tuple[Collector, SignatureFile | None]:
    empty = Collector(path, "", {})
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            empty.add((), f"the file is larger than {MAX_BYTES // 1024} kB")
            return empty, None
        text = raw.decode("utf-8")
        data = tomllib.loads(text)
    except OSError as error:
        empty.add((), f"cannot be read: {error.strerror}")
        return empty, None
    except UnicodeDecodeError:
        empty.add((), "not UTF-8 text")
        return empty, None
    except RecursionError:
        empty.add((), "nested too deeply")
        return empty, None
    except ValueError as error:
        at = _LINE.search(str(error))
        message = _LINE.sub("", str(error)).replace("()", "").strip()
        line = int(at[1]) if at else 1
        empty.faults.append(Fault(f"not valid TOML: {message}", path=path, line=line))
        return empty, None
    out = Collector(path, text, data)
    if not re.match(ID, path.stem):
        out.add((), f"the file name '{path.stem}' is no signature id: lower-case words joined by '-'")
        return out, None
    try:
        return out, SignatureFile.model_validate(frozen(data))
    except ValidationError as error:
        _structure(error, out)
        return out, None


def _structure(error: ValidationError, out: Collector) -> None:
    """pydantic's findings in our words."""
    for item in error.errors(include_url=False):
        kind, key = item["type"], str(item["loc"][-1]) if item["loc"] else ""
        # A union adds the tried type to the path; the place is what matters.
        loc = tuple(p for p in item["loc"] if p != "[key]")
        if len(loc) > 1 and str(loc[-1]).startswith(_UNION_TAGS):
            loc = loc[:-1]
        if kind == "missing":
            out.add(loc, f"the key {key} is missing")
        elif kind == "extra_forbidden":
            out.add(loc, f"unknown key {key}", hint=did_you_mean(key, _known_keys(loc)))
        elif kind == "literal_error":
            out.add(loc, f"'{item['input']}' is not one of {item['ctx']['expected']}")
        elif kind == "value_error":
            out.add(loc, str(item["ctx"]["error"]))
        elif kind == "string_pattern_mismatch":
            out.add(loc, f"'{item['input']}' does not have the form {item['ctx']['pattern']}")
        else:
            out.add(loc, item["msg"].replace("Input should", "the value should"))


def _known_keys(loc: Sequence[str | int]) -> list[str]:
    """Keys that the table at `loc` may have, for the hint about a misspelt one."""
    model: Any = SignatureFile
    for part in loc[:-1]:
        if isinstance(part, int):
            continue
        field = next((f for n, f in model.model_fields.items() if part in (n, f.alias)), None)
        models = [a for a in _arguments(field.annotation if field else None) if hasattr(a, "model_fields")]
        if not models:
            return []
        model = models[0]
    return [f.alias or n for n, f in model.model_fields.items()]


def _arguments(annotation: Any) -> list[Any]:
    arguments = getattr(annotation, "__args__", None)
    return [annotation] if not arguments else [x for a in arguments for x in _arguments(a)]


def _same_id(
    path: Path,
    file: SignatureFile,
    names: Mapping[str, tuple[Path, frozenset[str]]],
    out: Collector,
    warnings: list[str],
) -> None:
    if path.stem in names and not file.replaces:
        out.add(
            ("replaces",),
            f"the signature {path.stem} is already loaded from {names[path.stem][0]}",
            hint="rename the file, or write replaces = true to use this one instead",
        )
    if file.replaces and path.stem not in names:
        warnings.append(f"{path}: replaces = true, but there is no other {path.stem}")


def _override_faults(
    changes: Mapping[str, Mapping[str, float]], names: Mapping[str, tuple[Path, frozenset[str]]]
) -> list[SignatureError]:
    faults = []
    for signature_id, values in changes.items():
        where = f"configuration, thresholds.{signature_id}"
        if signature_id not in names:
            faults.append(
                SignatureError("no such signature", where=where, hint=did_you_mean(signature_id, names))
            )
            continue
        known = names[signature_id][1]
        for name in values:
            if name not in known:
                hint = did_you_mean(name, known) or f"it has {', '.join(sorted(known)) or 'no thresholds'}"
                faults.append(SignatureError("no such threshold", where=f"{where}.{name}", hint=hint))
    return faults


def _unknown_references(found: Mapping[str, Signature], metrics: Metrics) -> list[str]:
    """`see`, `explains` and [needs] may name what is not (yet) there: said, but no fault."""
    tables = {table for metric in metrics.values() for table in metric.reads}
    out = []
    for signature in found.values():
        file = signature.file
        for key, ids in (("explains", file.explains), ("see", tuple(r.see for r in file.rule_outs if r.see))):
            out += [f"{signature.path}: {key} names {i}, which is not loaded" for i in ids if i not in found]
        for table in (*file.needs.any_of, *file.needs.helpful):
            if table not in tables:
                out.append(f"{signature.path}: no metric reads the table {table} of [needs]")
    return out
