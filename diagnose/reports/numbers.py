"""Numbers for people: durations, sizes, rates, shares and counts, chosen by the unit's name.

Upper bounds are rounded up (`up=True`), so that "at most" stays true after rounding. A limit of a
signature is printed exactly, never rounded. Nothing here prints an exponent or a NaN.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal

from diagnose.findings import Scalar

UNKNOWN = "unknown"
_WIDE = Context(prec=400)  # the largest float has 309 digits

Units = tuple[tuple[int, str], ...]
_TIME: Units = ((1, "ns"), (10**3, "µs"), (10**6, "ms"), (10**9, "s"))
_BINARY: Units = ((1, "B"), (2**10, "KiB"), (2**20, "MiB"), (2**30, "GiB"), (2**40, "TiB"))
_DECIMAL: Units = ((1, "B"), (10**3, "kB"), (10**6, "MB"), (10**9, "GB"), (10**12, "TB"))
_SUFFIX = {"gb_s": " GB/s", "mb_per_s": " MB/s", "percent": "%"}


def finite(value: float | None) -> float | None:
    """The number, or None for None, NaN and the infinities."""
    return None if value is None or not math.isfinite(value) else value


def significant(value: float, digits: int = 3, *, up: bool = False) -> str:
    """Decimal text with `digits` significant digits; digits before the point are never rounded away."""
    return f"{_rounded(Decimal(repr(value)), digits, up):,f}"


def exact(value: float) -> str:
    """The shortest decimal text that gives `value` back: 0.05, 100, 1.5."""
    number = Decimal(repr(value))
    return f"{_plain(number):,f}"


def duration(ns: float, digits: int = 3, *, up: bool = False) -> str:
    """Nanoseconds as ns, µs, ms or s; from ten minutes on as minutes, from two hours on as hours."""
    if finite(ns) is None:
        return UNKNOWN
    rounding = math.ceil if up else round
    if abs(ns) >= 7200e9:
        minutes = int(rounding(ns / 60e9))
        return f"{minutes // 60:,} h {minutes % 60:02d} min"
    if abs(ns) >= 600e9:
        seconds = int(rounding(ns / 1e9))
        return f"{seconds // 60} min {seconds % 60:02d} s"
    return _scaled(ns, _TIME, digits, up, 1000) if ns else "0 s"


def moment(ns: int) -> str:
    """A time of the trace's own clock in seconds with six decimals, as integers so that none is lost."""
    micros = (abs(ns) + 500) // 1000
    return f"{'-' if ns < 0 and micros else ''}{micros // 10**6}.{micros % 10**6:06d}"


def size(count: float, digits: int = 3, *, decimal: bool = False, up: bool = False) -> str:
    """Bytes in binary units (KiB, MiB, GiB) or, with `decimal`, in kB, MB, GB."""
    if finite(count) is None:
        return UNKNOWN
    if abs(count) < 1000 and count == int(count):
        return f"{int(count)} B"
    return _scaled(count, _DECIMAL if decimal else _BINARY, digits, up, 1000 if decimal else 1024)


def percent(ratio: float, decimals: int = 1, *, up: bool = False) -> str:
    """A share as percent. Below 1 % two significant digits; a share below one never prints as 100 %."""
    if finite(ratio) is None:
        return UNKNOWN
    value = Decimal(repr(ratio)) * 100
    if value == 0:
        return "0%"
    if abs(value) < 1:
        return f"{_rounded(value, 2, up):f}%"
    rounded = value.quantize(Decimal(1).scaleb(-decimals), ROUND_CEILING if up else ROUND_HALF_EVEN, _WIDE)
    if value < 100 <= rounded and not up:
        return f">{Decimal(100) - Decimal(1).scaleb(-decimals)}%"
    return f"{rounded:,f}%" if rounded != 100 else "100%"


def count(value: float) -> str:
    """A count with thousands separators; a mean count keeps three significant digits."""
    if finite(value) is None:
        return UNKNOWN
    return f"{int(value):,}" if value == int(value) else significant(value)


def factor(value: float) -> str:
    """A margin: ×2.57. More digits near one, so that ×1.00 is printed only for exactly one."""
    digits = 3
    while digits < 9 and value != 1 and Decimal(significant(value, digits).replace(",", "")) == 1:
        digits += 1
    return "×" + significant(value, digits)


def is_share(metric: str, value: Scalar, limits: tuple[float, ...] = ()) -> bool:
    """Whether a value of unit `ratio` reads as percent: a share by name, or nothing above one."""
    metric = metric.partition("(")[0]
    if metric.endswith("share"):
        return True
    if any(word in metric for word in ("_per_", "growth", "p99")):
        return False
    numbers = [*limits, value if isinstance(value, int | float) else 0]
    return all(abs(n) <= 1 for n in numbers)


def quantity(value: Scalar, unit: str, digits: int = 3, *, share: bool = True) -> str:
    """One value in its unit; text is returned as it is (the caller makes it safe), None as `unknown`."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if unit == "flag":
        return "yes" if value else "no"
    if unit == "ns":
        return duration(value, digits)
    if unit == "bytes":
        return size(value, digits)
    if unit == "ratio" and share:
        return percent(value, digits - 2)
    if unit == "percent":
        return percent(value / 100, digits - 2)
    if unit in _SUFFIX:
        return significant(value, digits) + _SUFFIX[unit]
    if value == int(value):
        return f"{int(value):,}"
    if unit in ("", "number", "count", "ratio", "text"):
        return significant(value, digits) if unit == "ratio" else _strip(significant(value, digits + 1))
    return f"{_strip(significant(value, digits + 1))} {unit}"


def limit(value: float, unit: str, *, share: bool = True) -> str:
    """A limit in the unit of what it limits, exact: 5%, 100, 1.5 s, 2 MiB."""
    if unit == "ratio" and share:
        return f"{_plain(Decimal(repr(value)) * 100):,f}%"
    if unit == "ns":
        return _exactly(value, _TIME)
    if unit == "bytes":
        return _exactly(value, _BINARY)
    return exact(value) + _SUFFIX.get(unit, "")


def against(value: Scalar, limits: tuple[float, ...], unit: str, *, share: bool = True) -> str:
    """The measured value with enough digits that it never reads equal to a limit that it differs from."""
    digits = 3
    text = quantity(value, unit, digits, share=share)
    if isinstance(value, bool | str) or value is None:
        return text
    near = {limit(x, unit, share=share) for x in limits if x != value}
    while digits < 9 and _strip(text) in near:
        digits += 1
        text = quantity(value, unit, digits, share=share)
    return text


def _rounded(number: Decimal, digits: int, up: bool) -> Decimal:
    for _ in range(2):  # the second pass only after a carry: 9.996 is 10.0, not 10.00
        step = Decimal(1).scaleb(min(0, number.adjusted() - digits + 1)) if number else Decimal(1)
        number = number.quantize(step, ROUND_CEILING if up else ROUND_HALF_EVEN, _WIDE)
    return number


def _scaled(value: float, units: Units, digits: int, up: bool, carry: int) -> str:
    index = max((i for i, (step, _) in enumerate(units) if abs(value) >= step), default=0)
    number = _rounded(Decimal(repr(value)) / units[index][0], digits, up)
    if abs(number) >= carry and index + 1 < len(units):
        index += 1
        number = _rounded(Decimal(repr(value)) / units[index][0], digits, up)
    whole = index == 0 and number == int(number)
    return f"{int(number):,} {units[index][1]}" if whole else f"{number:,f} {units[index][1]}"


def _exactly(value: float, units: Units) -> str:
    step, word = units[max((i for i, (step, _) in enumerate(units) if abs(value) >= step), default=0)]
    return f"{_plain(Decimal(repr(value)) / step):,f} {word}"


def _plain(number: Decimal) -> Decimal:
    """Without trailing zeros and without an exponent."""
    number = number.normalize()
    return number.quantize(Decimal(1), context=_WIDE) if number == number.to_integral() else number


def _strip(text: str) -> str:
    """Trailing zeros off the decimal part, wherever the unit stands: 8.900 → 8.9, 3.00 ms → 3 ms."""
    head, point, tail = text.partition(".")
    if not point:
        return text
    kept = tail.lstrip("0123456789")
    fraction = tail[: len(tail) - len(kept)].rstrip("0")
    return head + (f".{fraction}" if fraction else "") + kept
