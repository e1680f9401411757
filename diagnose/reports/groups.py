"""Findings of one signature and verdict on several devices or processes, told once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from diagnose.findings import SEVERITIES, Finding, ScopeRef, Severity, Verdict
from diagnose.reports.names import visible

_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Group:
    """Members in rank order; `lead` (the costliest) is told in full, the others by their cost."""

    members: tuple[Finding, ...]

    @property
    def lead(self) -> Finding:
        return max(self.members, key=lambda f: (f.lost_ns or 0.0, f.lost_bytes or 0.0))

    @property
    def others(self) -> tuple[Finding, ...]:
        lead = self.lead
        return tuple(f for f in self.members if f is not lead)

    @property
    def severity(self) -> Severity:
        return min((f.severity for f in self.members), key=SEVERITIES.index)

    @property
    def verdict(self) -> Verdict:
        return self.members[0].verdict

    @property
    def where(self) -> str:
        return where([f.scope for f in self.members])


def grouped(findings: Iterable[Finding]) -> tuple[Group, ...]:
    """Groups in the order of their first member; findings of other variants are not merged."""
    found: dict[tuple[str, str, str], list[Finding]] = {}
    for f in findings:
        found.setdefault((f.signature, f.verdict, f.variant), []).append(f)
    return tuple(Group(tuple(members)) for members in found.values())


def split(findings: tuple[Finding, ...]) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """(findings told on their own, findings folded under one of those); neither holds other verdicts."""
    told = {f.signature for f in findings if f.is_finding and not f.folded_under}
    folded = tuple(f for f in findings if f.is_finding and f.folded_under in told and f.folded_under)
    return tuple(f for f in findings if f.is_finding and f not in folded), folded


def where(scopes: list[ScopeRef]) -> str:
    """`GPU 0 and GPU 1, NVIDIA H100 80GB HBM3`; at most four are named."""
    names = {s.device_name for s in scopes}
    if all(s.device is not None and s.pid is None for s in scopes):
        numbers = sorted({s.device for s in scopes if s.device is not None})
        shared = f", {names.pop()}" if len(names) == 1 and names != {""} and len(scopes) > 1 else ""
        if len(scopes) > 1 and (shared or names == {""}):
            return visible(_devices(numbers) + shared)
    return visible(_list([s.label for s in scopes]))


def _devices(numbers: list[int]) -> str:
    if len(numbers) > 2 and numbers[-1] - numbers[0] + 1 == len(numbers):
        return f"GPU {numbers[0]} to GPU {numbers[-1]}"
    return _list([f"GPU {n}" for n in numbers])


def _list(words: list[str]) -> str:
    if len(words) > _SHOWN:
        return f"{', '.join(words[:_SHOWN])} and {len(words) - _SHOWN} more"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
