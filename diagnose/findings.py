"""What the engine concludes: frozen records that every report format renders, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Verdict = Literal["confirmed", "probable", "ruled_out", "absent", "cannot_tell"]
Severity = Literal["critical", "high", "medium", "low", "info"]
Stage = Literal["symptom", "mechanism", "cause"]
Role = Literal["gate", "cause", "effect", "support", "context"]
Scalar = float | bool | str | None

VERDICTS: tuple[Verdict, ...] = ("confirmed", "probable", "ruled_out", "absent", "cannot_tell")
SEVERITIES: tuple[Severity, ...] = ("critical", "high", "medium", "low", "info")


@dataclass(frozen=True, slots=True)
class Fact:
    """One measured value.

    `value` is None when it could not be measured; then `why_unknown` says why in one clause and
    `missing` names the tables (or `table.column`) that would have decided it. `source` is a short
    phrase for people: artifact, table, window, device or thread. `numerator`/`denominator` are
    given for shares and ratios, in `parts_unit`. `low`/`high` bound the value when the bounded
    streaming state had to drop detail.
    """

    name: str
    value: Scalar = None
    unit: str = ""
    metric: str = ""
    source: str = ""
    numerator: float | None = None
    denominator: float | None = None
    parts_unit: str = ""
    low: float | None = None
    high: float | None = None
    why_unknown: str = ""
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Threshold:
    """A named limit of a signature; `overridden` when a configuration replaced the file's value."""

    name: str
    value: float
    why: str = ""
    overridden: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One evidence step (or rule-out) of a signature, evaluated. `holds` is three-valued.

    `margin` is measured / asked for the tightest comparison of the condition (above 1 means the
    limit is passed in the direction that makes the condition true), None if not a comparison.
    """

    id: str
    role: Role
    stage: Stage
    holds: bool | None
    says: str
    when: str
    facts: tuple[Fact, ...] = ()
    thresholds: tuple[Threshold, ...] = ()
    margin: float | None = None
    way: str = ""
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleOut:
    """A look-alike that was checked. `unchecked` effect: "note" or "cap" (see signature files)."""

    id: str
    holds: bool | None
    says: str
    when: str
    see: str = ""
    if_unknown: Literal["note", "cap"] = "note"
    facts: tuple[Fact, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExhibitRow:
    """A place in the trace to look at. Times are the trace's own clock, in ns."""

    start_ns: int
    duration_ns: int
    name: str
    device: int | None = None
    stream: int | None = None
    pid: int | None = None
    tid: int | None = None
    api_call: str = ""
    range_path: str = ""
    detail: str = ""
    correlation: int | None = None
    input: int | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Exhibit:
    title: str
    rows: tuple[ExhibitRow, ...]


@dataclass(frozen=True, slots=True)
class Capture:
    """How to collect what is missing: `command` is shell-quoted and runnable."""

    missing: str
    command: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Remedy:
    do: str
    verify: str = ""
    applies: str = ""
    source: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class ScopeRef:
    """What a finding is about, in words: e.g. device 0, "NVIDIA H100 80GB HBM3", bus 0000:17:00.0."""

    kind: Literal["run", "device", "process", "process_device"]
    device: int | None = None
    device_name: str = ""
    bus_id: str = ""
    pid: int | None = None
    process: str = ""

    @property
    def label(self) -> str:
        """Short text: `GPU 0 NVIDIA H100 80GB HBM3`, `process 4711`, `the run`."""
        parts = []
        if self.device is not None:
            parts.append(f"GPU {self.device}" + (f" {self.device_name}" if self.device_name else ""))
        if self.pid is not None:
            parts.append(f"process {self.pid}")
        return ", ".join(parts) or "the run"


@dataclass(frozen=True, slots=True)
class Finding:
    """One signature judged on one scope instance, whatever the verdict.

    `lost_ns` is an upper bound of what the cause cost, after intervals charged to a finding ranked
    before it were taken out; None when nothing was measured. `nearness` (0..1) orders near misses.
    `folded_under` names the signature whose cause explains this one.
    """

    signature: str
    version: int
    title: str
    status: str
    summary: str
    scope: ScopeRef
    verdict: Verdict
    severity: Severity
    reason: str = ""
    variant: str = ""
    steps: tuple[Step, ...] = ()
    rule_outs: tuple[RuleOut, ...] = ()
    notes: tuple[str, ...] = ()
    exhibits: tuple[Exhibit, ...] = ()
    captures: tuple[Capture, ...] = ()
    missing: tuple[str, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    impact_kind: str = "time"
    lost_ns: float | None = None
    lost_bytes: float | None = None
    window_ns: float | None = None
    bound: str = ""
    explains: tuple[str, ...] = ()
    folded_under: str = ""
    flips: tuple[str, ...] = ()
    nearness: float = 0.0
    blind_spots: str = ""

    @property
    def lost_ratio(self) -> float | None:
        if self.lost_ns is None or not self.window_ns:
            return None
        return self.lost_ns / self.window_ns

    @property
    def is_finding(self) -> bool:
        return self.verdict in ("confirmed", "probable")


@dataclass(frozen=True, slots=True)
class Input:
    """One file of the case. `kind` is decided by content; `problems` are one line each."""

    path: str
    kind: str
    sha256: str
    bytes: int
    rows: int
    problems: tuple[str, ...] = ()
    readable: bool = True


@dataclass(frozen=True, slots=True)
class Device:
    device: int | None
    name: str
    bus_id: str = ""
    compute_capability: str = ""
    memory_bytes: int | None = None
    sm_count: int | None = None
    used: bool = False


@dataclass(frozen=True, slots=True)
class TraceInfo:
    """The trace as the report's head shows it. Times in ns of the trace's own clock."""

    product: str
    schema_version: str
    window_start_ns: int | None
    window_end_ns: int | None
    devices: tuple[Device, ...] = ()
    driver: str = ""
    cuda_driver: str = ""
    start_utc: str = ""
    start_local: str = ""
    kernels: int | None = None

    @property
    def window_ns(self) -> int | None:
        if self.window_start_ns is None or self.window_end_ns is None:
            return None
        return self.window_end_ns - self.window_start_ns


@dataclass(frozen=True, slots=True)
class TimeShare:
    """One row of "where GPU time went": kernels of one operation class and precision on one device."""

    device: int | None
    family: str
    precision: str
    kernels: int
    time_ns: int
    share: float
    top_kernel: str = ""


@dataclass(frozen=True, slots=True)
class CoverageNote:
    """Something that limits what can be concluded. level: note | warning."""

    level: Literal["note", "warning"]
    text: str
    capture: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """The whole answer; findings are in rank order (root cause first)."""

    tool_version: str
    inputs: tuple[Input, ...]
    trace: TraceInfo | None
    findings: tuple[Finding, ...]
    coverage: tuple[CoverageNote, ...] = ()
    breakdown: tuple[TimeShare, ...] = ()
    facts: tuple[tuple[str, Fact], ...] = field(default=(), repr=False)
    nearest_miss: str = ""
    judged: bool = True

    def summary(self) -> dict[Verdict, int]:
        """Number of signatures by their strongest verdict."""
        best: dict[str, int] = {}
        for f in self.findings:
            rank = RANK[f.verdict]
            best[f.signature] = min(best.get(f.signature, 99), rank)
        out: dict[Verdict, int] = dict.fromkeys(VERDICTS, 0)
        for rank in best.values():
            out[_BY_RANK[rank]] += 1
        return out


# The strongest word of several scope instances of one signature speaks for the signature.
_BY_RANK: tuple[Verdict, ...] = ("confirmed", "probable", "cannot_tell", "ruled_out", "absent")
RANK: dict[Verdict, int] = {v: i for i, v in enumerate(_BY_RANK)}
