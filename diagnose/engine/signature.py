"""The schema of a signature file: TOML in, frozen models out. Keys are those of the file.

Structure only; whether a condition can be evaluated and a metric exists is checked in `validate.py`.
The id of a signature is its file's stem.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from diagnose.engine.tokens import is_reserved
from diagnose.findings import Role, Stage, Verdict
from diagnose.scope import Grain

SCHEMA = 1
ID = r"^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$"
NAME = r"^[a-z][a-z0-9_]{0,59}$"
ParamValue = bool | int | float | str | tuple[str, ...]


def _plain(name: str) -> str:
    if is_reserved(name):
        raise ValueError(f"{name} is a reserved word: take another name")
    return name


Id = Annotated[str, Field(pattern=NAME), AfterValidator(_plain)]
SignatureId = Annotated[str, Field(pattern=ID, max_length=60)]
Text = Annotated[str, Field(min_length=1)]
Number = Annotated[float, Field(allow_inf_nan=False, ge=-1e30, le=1e30)]
Url = Annotated[str, Field(pattern=r"^https?://[^\s<>\"]+$")]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Open(BaseModel):
    """A table whose other keys are the parameters of `metric`."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    __pydantic_extra__: dict[str, ParamValue] = Field(init=False)

    metric: Text

    @property
    def params(self) -> dict[str, ParamValue]:
        return dict(self.model_extra or {})


class Needs(_Model):
    """None of `any_of` present: cannot tell. Facts may read these tables and `helpful` ones only."""

    any_of: Annotated[tuple[Text, ...], Field(min_length=1)]
    helpful: tuple[Text, ...] = ()


class ThresholdSpec(_Model):
    value: Number
    why: Text


class FactSpec(_Open):
    """A named metric with its parameters."""


class Way(_Model):
    """One way to see a step. Only a decisive way can make the step false."""

    id: Id
    when: Text
    decisive: bool = False


class StepSpec(_Model):
    """One evidence step: `when`, or alternatives (`way`). `identity`: a gate about which GPU, driver."""

    id: Id
    role: Role
    stage: Stage
    says: Text
    when: Text | None = None
    identity: bool = False
    ways: tuple[Way, ...] = Field(default=(), alias="way")

    @model_validator(mode="after")
    def _shape(self) -> Self:
        if (self.when is None) == (not self.ways):
            raise ValueError("a step has either `when` or [[step.way]] tables")
        if self.identity and self.role != "gate":
            raise ValueError("only a gate can be about identity")
        return self


class RuleOutSpec(_Model):
    """A look-alike. `if_unknown`: note lists it as unchecked, cap also lowers confirmed to probable."""

    id: Id
    when: Text
    says: Text
    see: SignatureId | None = None
    if_unknown: Literal["note", "cap"] = "note"


class VerdictSpec(_Model):
    word: Verdict = Field(alias="is")
    when: Text
    variant: str = ""


class NoteSpec(_Model):
    when: Text
    says: Text


class ClaimSpec(_Open):
    """The intervals a finding is charged for."""


class ImpactSpec(_Model):
    """`lost_ns` and `lost_bytes` are number expressions over facts; `bound` says what is bounded."""

    kind: Literal["time", "run_lost", "memory", "wrong_results"]
    lost_ns: Text | None = None
    lost_bytes: Text | None = None
    bound: str = ""
    claims: ClaimSpec | None = None


class ExhibitSpec(_Open):
    title: str = ""
    order: str = ""
    limit: Annotated[int, Field(ge=1, le=50)] = 5


class Link(_Model):
    title: Text
    url: Url


class RemedySpec(_Model):
    """`variant` empty: for every variant. `applies`: stack and versions, in words."""

    do: Text
    verify: str = ""
    variant: str = ""
    applies: str = ""
    source: Link | None = None


class SourceSpec(_Model):
    """What the source document states, and where it is wrong."""

    documented: Text
    corrections: tuple[Text, ...] = ()


class CaseSpec(_Model):
    """Facts in, verdict out. Facts not listed are unknown; `tables` defaults to all of [needs]."""

    name: Text
    expect: Verdict
    variant: str = ""
    facts: dict[str, bool | Number | str] = {}
    short_window: bool = False
    tables: tuple[Text, ...] | None = None


class SignatureFile(_Model):
    schema_: Literal[1] = Field(alias="schema")
    version: Annotated[int, Field(ge=1)]
    title: Text
    status: Literal["experimental", "stable", "deprecated"]
    scope: Grain
    length_gate: bool = True
    replaces: bool = False
    explains: tuple[SignatureId, ...] = ()
    summary: Text
    blind_spots: str = ""
    needs: Needs
    thresholds: dict[Id, ThresholdSpec] = {}
    facts: Annotated[dict[Id, FactSpec], Field(min_length=1)]
    steps: Annotated[tuple[StepSpec, ...], Field(min_length=1)] = Field(alias="step")
    rule_outs: tuple[RuleOutSpec, ...] = Field(default=(), alias="rule_out")
    verdicts: Annotated[tuple[VerdictSpec, ...], Field(min_length=1)] = Field(alias="verdict")
    notes: tuple[NoteSpec, ...] = Field(default=(), alias="note")
    impact: ImpactSpec
    exhibits: tuple[ExhibitSpec, ...] = Field(default=(), alias="exhibit")
    remedies: tuple[RemedySpec, ...] = Field(default=(), alias="remedy")
    source: SourceSpec | None = None
    cases: tuple[CaseSpec, ...] = Field(default=(), alias="case")


def frozen(value: Any) -> Any:
    """TOML lists as tuples, all the way down: the models are immutable and take no lists."""
    if isinstance(value, list):
        return tuple(frozen(v) for v in value)
    if isinstance(value, dict):
        return {k: frozen(v) for k, v in value.items()}
    return value


def json_schema() -> dict[str, Any]:
    """JSON Schema of a signature file, for editors."""
    return SignatureFile.model_json_schema(by_alias=True)
