"""Root cause first: ranks findings, folds symptoms under their cause, charges no interval twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from diagnose.engine.decide import severity
from diagnose.findings import RANK, SEVERITIES, Finding, ScopeRef

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Times: TypeAlias = npt.NDArray[np.int64]
else:
    Times = Any

Claim: TypeAlias = tuple[int | None, Times, Times]

NEAR = 0.5  # judgement: at least half of the required steps hold or nearly hold


def rank(findings: Sequence[Finding], claims: Mapping[int, Sequence[Claim]] | None = None) -> list[Finding]:
    """The findings in rank order: by measured loss, then verdict; those that are none come after.

    `claims`: index in `findings` → (device, start times, end times) of what the finding is charged
    for. An interval charged to one finding is taken out of the loss of those ranked after it; a
    cause is charged before the symptoms it explains. Severity follows the reduced loss.
    A finding named in another's `explains`, on an overlapping scope, gets `folded_under`.
    """
    out = list(findings)
    parent = _folds(out)
    charged: dict[int | None, tuple[Times, Times]] = {}
    left = sorted((i for i, f in enumerate(out) if f.is_finding), key=lambda i: _key(out[i]))
    unions = {i: _by_device(c) for i, c in (claims or {}).items()}
    original = {i: out[i] for i in left}
    order: list[int] = []
    while left:
        # The largest loss that is not yet explained by what has been charged, causes first.
        ready = [i for i in left if parent.get(i) not in left]
        best = min(ready, key=lambda i: _key(out[i]))
        left.remove(best)
        order.append(best)
        touched = unions.get(best, {})
        for device, (starts, ends) in touched.items():
            before = [charged[device]] if device in charged else []
            charged[device] = _union([*before, (starts, ends)])
        for i in left:
            if touched.keys() & unions.get(i, {}).keys():
                out[i] = _reduced(original[i], unions[i], charged)
    for i, cause in parent.items():
        out[i] = replace(out[i], folded_under=out[_root(i, parent)].signature if cause is not None else "")
    quiet = sorted((i for i, f in enumerate(out) if not f.is_finding), key=lambda i: _quiet_key(out[i]))
    return [out[i] for i in (*order, *quiet)]


def nearest_miss(findings: Iterable[Finding]) -> str:
    """One line about the absent signature that came nearest; empty when something fired or none came near."""
    listed = list(findings)
    if any(f.is_finding for f in listed):
        return ""
    near = [f for f in listed if f.verdict == "absent" and f.nearness >= NEAR]
    if not near:
        return ""
    best = max(near, key=lambda f: f.nearness)
    counted = [s for s in best.steps if s.role in ("gate", "cause", "effect")]
    holding = sum(s.holds is True for s in counted)
    why = best.flips[0] if best.flips else best.reason
    holds = f"{holding} of {len(counted)} gate, cause and effect steps hold"
    return f"{best.signature} ({best.scope.label}): {holds}; {why}"


def _key(finding: Finding) -> tuple[float, int, int, str, str]:
    loss = -1.0 if finding.lost_ns is None else finding.lost_ns
    if finding.impact_kind == "run_lost":
        # A run that was lost cost all of it, whatever was measured; a confirmed one tops the list.
        loss = float("inf") if finding.verdict == "confirmed" else max(loss, finding.window_ns or 0.0)
    return (
        -loss,
        RANK[finding.verdict],
        SEVERITIES.index(finding.severity),
        finding.signature,
        _place(finding.scope),
    )


def _quiet_key(finding: Finding) -> tuple[int, float, str, str]:
    return (RANK[finding.verdict], -finding.nearness, finding.signature, _place(finding.scope))


def _place(scope: ScopeRef) -> str:
    device = -1 if scope.device is None else scope.device
    return f"{device:>6}{-1 if scope.pid is None else scope.pid:>12}"


# -- folding -------------------------------------------------------------------------------------
def _folds(findings: Sequence[Finding]) -> dict[int, int]:
    """Index of a symptom → index of the finding that explains it; never in a circle."""
    order = sorted((i for i, f in enumerate(findings) if f.is_finding), key=lambda i: _key(findings[i]))
    parent: dict[int, int] = {}
    for cause in order:
        for symptom in order:
            if (
                symptom not in parent
                and findings[symptom].signature in findings[cause].explains
                and findings[symptom].signature != findings[cause].signature
                and overlap(findings[cause].scope, findings[symptom].scope)
                and _root(cause, parent) != symptom
            ):
                parent[symptom] = cause
    return parent


def _root(index: int, parent: Mapping[int, int]) -> int:
    while index in parent:
        index = parent[index]
    return index


def overlap(one: ScopeRef, other: ScopeRef) -> bool:
    """True unless the scopes name different devices or different processes."""
    devices = one.device is None or other.device is None or one.device == other.device
    return devices and (one.pid is None or other.pid is None or one.pid == other.pid)


# -- charging ------------------------------------------------------------------------------------
def _reduced(
    finding: Finding,
    own: Mapping[int | None, tuple[Times, Times]],
    charged: Mapping[int | None, tuple[Times, Times]],
) -> Finding:
    """The finding without what is charged already; its loss stays an upper bound.

    A loss at least as long as its intervals (a sum over streams) shrinks by the shared time. A
    shorter one may lie wholly in the rest, so only the length of the rest bounds it.
    """
    if finding.lost_ns is None:
        return finding
    length = sum(_length(*iv) for iv in own.values())
    shared = sum(_shared(iv, charged[d]) for d, iv in own.items() if d in charged)
    lost = finding.lost_ns - shared if finding.lost_ns >= length else min(finding.lost_ns, length - shared)
    lost = max(0.0, float(lost))
    word = severity(finding.impact_kind, finding.verdict, lost, finding.window_ns)
    return replace(finding, lost_ns=lost, severity=word)


def _by_device(claims: Sequence[Claim]) -> dict[int | None, tuple[Times, Times]]:
    """The union of the claimed intervals of each device."""
    by_device: dict[int | None, list[tuple[Times, Times]]] = {}
    for device, starts, ends in claims:
        by_device.setdefault(device, []).append((starts, ends))
    return {device: _union(parts) for device, parts in by_device.items()}


def _union(parts: Sequence[tuple[Times, Times]]) -> tuple[Times, Times]:
    """Sorted, disjoint intervals that cover the same time."""
    import numpy as np

    starts = np.concatenate([np.asarray(s, dtype=np.int64) for s, _ in parts])
    ends = np.concatenate([np.asarray(e, dtype=np.int64) for _, e in parts])
    kept = ends > starts
    starts, ends = starts[kept], ends[kept]
    if not len(starts):
        return starts, ends
    order = np.argsort(starts, kind="stable")
    starts, reach = starts[order], np.maximum.accumulate(ends[order])
    first = np.concatenate(([True], starts[1:] > reach[:-1]))
    last = np.concatenate((first[1:], [True]))
    return starts[first], reach[last]


def _length(starts: Times, ends: Times) -> int:
    return int((ends - starts).sum())


def _shared(one: tuple[Times, Times], other: tuple[Times, Times]) -> int:
    """Time covered by both: |A| + |B| - |A ∪ B|, both being unions already."""
    return _length(*one) + _length(*other) - _length(*_union([one, other]))
