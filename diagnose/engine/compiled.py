"""A signature ready to be judged: its file, its checked conditions, its metric calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

from diagnose.engine.expression import Expression
from diagnose.engine.program import Program
from diagnose.engine.signature import ParamValue, SignatureFile
from diagnose.engine.tree import FALSE, NULL, TRUE, Case, Coalesce, Kind, Logic, Name, Node, Not
from diagnose.findings import VERDICTS, Threshold


class ParamLike(Protocol):
    """A parameter of a metric: `type` is "text" or "number"; `choices` empty: any value."""

    @property
    def type(self) -> str: ...
    @property
    def required(self) -> bool: ...
    @property
    def choices(self) -> tuple[str, ...]: ...


class MetricLike(Protocol):
    """What the engine needs to know about a metric: never how it is measured."""

    @property
    def name(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def kind(self) -> Kind: ...
    @property
    def grains(self) -> tuple[str, ...]: ...
    @property
    def reads(self) -> tuple[str, ...]: ...
    @property
    def params(self) -> Mapping[str, ParamLike]: ...


@dataclass(frozen=True, slots=True)
class Call:
    """A metric (or exhibit, or claim) with the parameters that the signature gives."""

    metric: str
    params: Mapping[str, ParamValue]
    unit: str = ""
    kind: Kind = "number"
    reads: tuple[str, ...] = ()


@dataclass(frozen=True)
class Signature:
    """One loaded signature. `calls` holds the facts by name; `conditions` every checked expression,
    under the keys made by `step_key`, `way_key` and so on.
    """

    id: str
    path: Path
    file: SignatureFile
    thresholds: Mapping[str, Threshold]
    calls: Mapping[str, Call]
    exhibits: tuple[Call, ...]
    claims: Call | None
    conditions: Mapping[str, Expression]

    @cached_property
    def kinds(self) -> dict[str, Kind]:
        """Type of every name a step may use: facts, then thresholds."""
        return {**{n: c.kind for n, c in self.calls.items()}, **dict.fromkeys(self.thresholds, "number")}

    @cached_property
    def program(self) -> Program:
        """Steps, ways, rule-outs, verdicts and impact, compiled once."""
        program = Program(self.kinds)
        for step in self.file.steps:
            for way in step.ways:
                program.add(way_key(step.id, way.id), self.conditions[way_key(step.id, way.id)].root)
            if step.ways:
                decisive = [way_key(step.id, w.id) for w in step.ways if w.decisive]
                program.add(step.id, ways_tree([way_key(step.id, w.id) for w in step.ways], decisive))
            else:
                program.add(step.id, self.conditions[step.id].root)
        for rule_out in self.file.rule_outs:
            program.add(rule_out.id, self.conditions[rule_out.id].root)
        # For verdicts, a gate about identity that is unknown counts as true.
        rename: dict[str, str] = {}
        for step in self.file.steps:
            if step.identity:
                rename[step.id] = f"{step.id}!"
                program.add(rename[step.id], Coalesce((Name(step.id, "flag"), TRUE), "flag"))
        for i in range(len(self.file.verdicts)):
            program.add(verdict_key(i), self.conditions[verdict_key(i)].root, rename)
        for key in ("lost_ns", "lost_bytes"):
            if impact_key(key) in self.conditions:
                program.add(impact_key(key), self.conditions[impact_key(key)].root)
        return program

    @cached_property
    def notes_program(self) -> Program:
        """Notes may also ask for the verdict word, so they run after it is known."""
        flags = [s.id for s in self.file.steps] + [r.id for r in self.file.rule_outs] + list(VERDICTS)
        program = Program({**self.kinds, **dict.fromkeys(flags, "flag")})
        for i in range(len(self.file.notes)):
            program.add(note_key(i), self.conditions[note_key(i)].root)
        return program


@dataclass(frozen=True)
class SignatureSet:
    """All loaded signatures by id, and remarks that are no faults."""

    by_id: Mapping[str, Signature]
    warnings: tuple[str, ...] = field(default=())

    def __iter__(self) -> Iterator[Signature]:
        return iter(self.by_id.values())

    def __len__(self) -> int:
        return len(self.by_id)

    def __getitem__(self, signature_id: str) -> Signature:
        return self.by_id[signature_id]


def way_key(step: str, way: str) -> str:
    return f"{step}.{way}"


def verdict_key(i: int) -> str:
    return f"verdict {i}"


def note_key(i: int) -> str:
    return f"note {i}"


def impact_key(name: str) -> str:
    return f"impact {name}"


def ways_tree(ways: list[str], decisive: list[str]) -> Node:
    """Any way true: true. Else any decisive way false: false. Else unknown."""
    branches: list[tuple[Node, Node]] = [(_any([Name(w, "flag") for w in ways]), TRUE)]
    if decisive:
        branches.append((_any([Not(Name(w, "flag")) for w in decisive]), FALSE))
    return Case(tuple(branches), NULL, "flag")


def _any(parts: list[Name] | list[Not]) -> Node:
    return parts[0] if len(parts) == 1 else Logic("OR", tuple(parts))
