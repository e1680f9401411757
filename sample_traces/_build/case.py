"""What a sample folder is: its files, the expected verdicts, and the numbers measured on the built trace."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .trace import Trace

SIGNATURES = (
    "fp8-unsupported-gpu",
    "async-pool-growth",
    "fp8-cast-storm",
    "um-prefetch-stall",
    "nvlink-absent",
    "offload-pcie-bound",
)
TRACE = "trace.sqlite"
Verdict = str | list[str]
Facts = list[dict[str, Any]]
Measure = Callable[[Path], tuple[Facts, Facts]]


@dataclass
class Case:
    """One folder. `expect` holds the signature it is about and whatever differs from `others`."""

    folder: str
    why: str
    expect: dict[str, Verdict]
    others: dict[str, Verdict]
    trace: Trace | None = None
    texts: dict[str, str] = field(default_factory=dict)
    measure: Measure | None = None

    def verdicts(self) -> dict[str, Verdict]:
        """The expected verdict of every signature, in a fixed order."""
        merged = {**self.others, **self.expect}
        return {name: merged[name] for name in SIGNATURES}

    def write(self, root: Path) -> None:
        """Write the artifacts, measure the trace, write expected.json."""
        place = root / self.folder
        place.mkdir(parents=True, exist_ok=True)
        for name, text in self.texts.items():
            (place / name).write_text(text, encoding="utf-8", newline="\n")
        expected: dict[str, Any] = {"expect": self.verdicts(), "why": self.why, "schema": None}
        if self.trace is not None:
            self.trace.finish(place / TRACE)
            expected["schema"] = self.trace.version
            exact, about = self.measure(place / TRACE) if self.measure else ([], [])
            expected["measured"] = exact
            if about:
                expected["about"] = about
        text = json.dumps(expected, indent=1, ensure_ascii=False) + "\n"
        (place / "expected.json").write_text(text, encoding="utf-8", newline="\n")


def trace_only(cc: tuple[int, int]) -> dict[str, Verdict]:
    """Verdicts of a readable trace of one GPU in which nothing is wrong."""
    return {
        "fp8-unsupported-gpu": "ruled_out" if cc >= (8, 9) else "absent",
        "async-pool-growth": "ruled_out",
        "fp8-cast-storm": "ruled_out",
        "um-prefetch-stall": "ruled_out",
        # No topology in a trace: cannot tell; a reader may also say that one GPU has nobody to link to.
        "nvlink-absent": ["cannot_tell", "absent"],
        "offload-pcie-bound": "absent",
    }


def text_only() -> dict[str, Verdict]:
    """Verdicts when there is no trace and no text that decides."""
    return dict.fromkeys(SIGNATURES, "cannot_tell")
