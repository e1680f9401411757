"""Values and templates as people read them. An unknown value prints as "unknown"."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping

from diagnose.engine.tree import Kind

Scalar = float | bool | str | None
UNKNOWN = "unknown"
_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
_SPEC = re.compile(r",?(?:\.[0-9]{1,2})?[fge%]?\Z")
_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))
_SIZES = ((1024.0**4, "TiB"), (1024.0**3, "GiB"), (1024.0**2, "MiB"), (1024.0, "KiB"))
_RATES = {"gb_s": "GB/s", "mb_per_s": "MB/s"}


def fields(template: str) -> list[tuple[str, str]]:
    """(name, format) of every `{…}` in `template`; ValueError for anything but plain names and formats.

    Allowed formats: none (the value by its unit), or for numbers `,` `.N` and one of f, g, e, %.
    """
    out: list[tuple[str, str]] = []
    try:
        parsed = list(string.Formatter().parse(template))
    except ValueError as error:
        raise ValueError(f"braces do not match ({error}): write {{{{ and }}}} for plain braces") from None
    for _, name, spec, conversion in parsed:
        if name is None:
            continue
        if not _NAME.match(name) or conversion:
            shown = name + (f"!{conversion}" if conversion else "")
            raise ValueError(f"{{{shown}}} is not a plain name: write {{{{ and }}}} for plain braces")
        if not _SPEC.match(spec or ""):
            raise ValueError(f"the format ':{spec}' of {{{name}}} is not allowed: for example :,  :.1f  :.0%")
        out.append((name, spec or ""))
    return out


def fill(template: str, values: Mapping[str, Scalar], units: Mapping[str, str]) -> str:
    """`template` with its fields filled in; the template must have passed `fields`."""
    out: list[str] = []
    for literal, name, spec, _ in string.Formatter().parse(template):
        out.append(literal)
        if name is not None:
            out.append(_formatted(values.get(name), spec or "", units.get(name, "")))
    return "".join(out)


def _formatted(value: Scalar, spec: str, unit: str) -> str:
    if value is None or isinstance(value, bool | str) or not spec:
        return show(value, unit)
    if not spec.endswith(("f", "g", "e", "%")) and "." not in spec and float(value).is_integer():
        return format(int(value), spec)
    text = format(float(value), spec)
    if spec.endswith("%") and 0 < value < 1 and text == format(1.0, spec):
        return ">99%" if "." not in spec or ".0" in spec else f">{0.999:.1%}"  # not all of it
    return text


def show(value: Scalar, unit: str) -> str:
    """The value in the unit a person would use: 0.42 ratio → 42.0%, 1.5e9 ns → 1.50 s, flags → yes, no."""
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value if value else "(empty)"
    if unit == "ratio":
        return _ratio(value)
    if unit == "ns":
        return _scaled(value, _TIMES, "ns")
    if unit == "bytes":
        return _scaled(value, _SIZES, "bytes")
    if unit == "percent":
        return f"{_plain(value)}%"
    return f"{_plain(value)} {_RATES[unit]}" if unit in _RATES else _plain(value)


def _ratio(value: float) -> str:
    # A share cannot exceed 1; a ratio above that reads better as a factor.
    if abs(value) > 1:
        return f"{value:.3g}"
    return f"{value * 100:.2g}%" if 0 < abs(value) < 0.001 else f"{value:.1%}"


def _scaled(value: float, steps: tuple[tuple[float, str], ...], unit: str) -> str:
    for size, word in steps:
        if abs(value) >= size:
            scaled = value / size
            return f"{scaled:,.0f} {word}" if abs(scaled) >= 100 else f"{scaled:.3g} {word}"
    return f"{_plain(value)} {unit}"


def _plain(value: float) -> str:
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.1f}" if 1000 <= abs(value) < 1e15 else f"{value:.4g}"


def kind_accepts(kind: Kind, spec: str) -> bool:
    """Number formats need numbers."""
    return kind == "number" or not spec
