"""From paths to a report: collect the case, measure what the signatures ask for, judge, rank."""

from diagnose.judge.inspecting import InspectedInput, inspect
from diagnose.judge.options import JudgeOptions, load_signatures
from diagnose.judge.run import facts, judge

__all__ = ["InspectedInput", "JudgeOptions", "facts", "inspect", "judge", "load_signatures"]
