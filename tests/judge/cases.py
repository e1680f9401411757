"""Shared by the tests that judge whole cases: the sample folders and the corpus of real traces."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

from diagnose.findings import Report, Verdict

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_traces"
CORPUS = Path(os.environ["DIAGNOSE_CORPUS"]) if os.environ.get("DIAGNOSE_CORPUS") else None

# The strongest word of several GPUs or processes speaks for a signature.
ORDER: tuple[Verdict, ...] = ("confirmed", "probable", "cannot_tell", "ruled_out", "absent")


def sample_folders() -> list[Path]:
    return sorted(path.parent for path in SAMPLES.glob("*/*/expected.json"))


def expected(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "expected.json").read_text(encoding="utf-8")))


def verdicts(report: Report) -> dict[str, Verdict]:
    """Signature → its strongest verdict over all scopes."""
    found: dict[str, Verdict] = {}
    for finding in report.findings:
        now = found.get(finding.signature, "absent")
        found[finding.signature] = min(now, finding.verdict, key=ORDER.index)
    return found


def same(verdict: str, wanted: str | list[str]) -> bool:
    """`absent` and `ruled_out` are both an honest no; an empty word means anything but confirmed."""
    words = [wanted] if isinstance(wanted, str) else wanted
    if words == [""]:
        return verdict != "confirmed"
    alike = {"absent": "no", "ruled_out": "no"}
    return alike.get(verdict, verdict) in {alike.get(word, word) for word in words}


def corpus_rows() -> list[dict[str, str]]:
    """Rows of the corpus manifest, one per real trace; empty without the corpus."""
    if CORPUS is None:
        return []
    with (CORPUS / "corpus" / "MANIFEST.tsv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))
