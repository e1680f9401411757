"""What a condition asks of each value it reads: the "asked" column of every report.

Only the flat part of a condition is put into words (comparisons joined by AND or OR); anything with
arithmetic, CASE or a negated group is shown as it stands in the signature, with its limits filled in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from diagnose.findings import Fact, Threshold
from diagnose.reports import numbers
from diagnose.reports.names import clip, visible

_TOKEN = re.compile(r"'[^']*'|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|\w+|<=|>=|<>|!=|[-+*/=<>(),.]|\S")
_JOIN = re.compile(r"\b(AND|OR)\b", re.IGNORECASE)
_FLIP = {">": "<", "<": ">", ">=": "<=", "<=": ">=", "=": "=", "<>": "<>", "!=": "!="}
_SIGN = {">": ">", "<": "<", ">=": "≥", "<=": "≤", "=": "=", "<>": "≠", "!=": "≠"}
_TEXT_LIMIT = 300


@dataclass(frozen=True, slots=True)
class Measured:
    """One value of a step, in words. `asked` is empty when nothing is asked of it alone.

    `read` tells whether the condition reads the value at all (a sentence may quote others).
    """

    name: str
    value: str
    parts: str = ""
    asked: str = ""
    source: str = ""
    metric: str = ""
    known: bool = True
    read: bool = True


def measured(when: str, facts: tuple[Fact, ...], thresholds: tuple[Threshold, ...]) -> tuple[Measured, ...]:
    """The values of one condition in the order of its facts, each beside what is asked of it."""
    limits = {t.name: t.value for t in thresholds}
    words_read = set(_TOKEN.findall(when))
    ours = {t.name for t in thresholds if t.overridden}
    joins = {j.upper() for j in _JOIN.findall(when)}
    glue = " or " if joins == {"OR"} else " and " if "OR" not in joins else "; "
    wanted = _wanted(when, {f.name: f for f in facts}, limits)
    out = []
    for fact in facts:
        asked = wanted.get(fact.name, [])
        values = tuple(v for _, v, _ in asked if v is not None)
        share = numbers.is_share(fact.metric or fact.name, fact.value, values)
        words = [_ask(sign, value, text, fact.unit, share) for sign, value, text in asked]
        changed = " (limit set by configuration)" if any(_reads(text, ours) for _, _, text in asked) else ""
        out.append(
            Measured(
                name=_short(fact.name),
                value=_value(fact, values, share),
                parts=_parts(fact, share),
                asked=_short(glue.join(dict.fromkeys(words)) + changed),
                source=_short(fact.source),
                metric=_short(fact.metric),
                known=fact.value is not None,
                read=fact.name in words_read,
            )
        )
    return tuple(out)


def _short(words: str) -> str:
    return clip(visible(words), _TEXT_LIMIT)


def _value(fact: Fact, limits: tuple[float, ...], share: bool) -> str:
    if fact.value is None:
        return f"unknown: {_short(fact.why_unknown)}" if fact.why_unknown else numbers.UNKNOWN
    return _short(numbers.against(fact.value, limits, fact.unit, share=share))


def _parts(fact: Fact, share: bool) -> str:
    """What the value was made of, or the bounds between which it lies when detail had to be dropped."""
    if fact.low is not None and fact.high is not None and fact.low != fact.high:
        low, high = (numbers.quantity(x, fact.unit, share=share) for x in (fact.low, fact.high))
        return f"{low} to {high}"
    if fact.numerator is None or fact.denominator is None:
        return ""
    top, bottom = (numbers.quantity(x, fact.parts_unit) for x in (fact.numerator, fact.denominator))
    return f"{top} of {bottom}" if share and fact.unit == "ratio" else f"{top} / {bottom}"


def _ask(sign: str, value: float | None, text: str, unit: str, share: bool) -> str:
    if value is None:
        return text
    if unit == "flag":
        return "yes" if value else "no"
    return f"{sign} {numbers.limit(value, unit, share=share)}"


def _reads(text: str, names: set[str]) -> bool:
    return bool(names) and any(word in names for word in re.findall(r"\w+", text))


def _wanted(
    when: str, facts: dict[str, Fact], limits: dict[str, float]
) -> dict[str, list[tuple[str, float | None, str]]]:
    """fact → [(sign, limit or None, text)]; the text keeps the limit's name."""
    out: dict[str, list[tuple[str, float | None, str]]] = {}
    for clause in _clauses(when):
        tokens = _TOKEN.findall(clause)
        found = _comparison(tokens, facts, limits)
        if found:
            name, sign, value, text = found
            out.setdefault(name, []).append((sign, value, text))
        else:
            named = next((t for t in tokens if t in facts), None)
            if named and len(tokens) > 1:
                out.setdefault(named, []).append(("", None, _filled(tokens, limits)))
    return out


def _clauses(when: str) -> list[str]:
    """Parts between AND and OR without their outer brackets; one part if the condition is not flat."""
    if re.search(r"\b(CASE|BETWEEN)\b|\bNOT\s*\(", when, re.IGNORECASE):
        return [when.strip()]
    parts = _JOIN.split(when)[::2]
    return [_bare(part) for part in parts] if all(_level(_bare(p)) for p in parts) else [when.strip()]


def _bare(part: str) -> str:
    part = part.strip()
    while part.startswith("(") and part.count("(") > part.count(")"):
        part = part[1:].strip()
    while part.endswith(")") and part.count(")") > part.count("("):
        part = part[:-1].strip()
    while part.startswith("(") and part.endswith(")") and _level(part[1:-1]):
        part = part[1:-1].strip()
    return part


def _level(part: str) -> bool:
    depth = 0
    for ch in part:
        depth += (ch == "(") - (ch == ")")
        if depth < 0:
            return False
    return depth == 0


def _comparison(
    tokens: list[str], facts: dict[str, Fact], limits: dict[str, float]
) -> tuple[str, str, float | None, str] | None:
    if len(tokens) == 1 and tokens[0] in facts:
        return tokens[0], "=", 1.0, ""
    if len(tokens) == 2 and tokens[0].upper() == "NOT" and tokens[1] in facts:
        return tokens[1], "=", 0.0, ""
    upper = [t.upper() for t in tokens[1:]]
    if tokens and tokens[0] in facts and upper in (["IS", "NULL"], ["IS", "NOT", "NULL"]):
        return tokens[0], "", None, "not known" if len(upper) == 2 else "known"
    if [t.upper() for t in tokens[:2]] == ["COALESCE", "("] and tokens[3:4] == [","] and tokens[5:6] == [")"]:
        tokens = [tokens[2], *tokens[6:]]  # an unknown value counts as the given one; the limit is the same
    if len(tokens) != 3 or tokens[1] not in _FLIP:
        return None
    left, sign, right = tokens
    if left not in facts:
        left, sign, right = right, _FLIP[sign], left
    if left not in facts:
        return None
    if right in limits:
        return left, _SIGN[sign], limits[right], right
    if re.fullmatch(r"\d+(\.\d+)?([eE][-+]?\d+)?", right):
        return left, _SIGN[sign], float(right), ""
    return left, "", None, f"{_SIGN[sign]} {right}"


def _filled(tokens: list[str], limits: dict[str, float]) -> str:
    words = [numbers.exact(limits[t]) if t in limits else _SIGN.get(t, t) for t in tokens]
    text = re.sub(r"\s+([,)])", r"\1", re.sub(r"\(\s+", "(", " ".join(words)))
    return re.sub(r"(?i)\b(coalesce|nullif) \(", r"\1(", text)
