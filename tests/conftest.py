"""Says what the tests ran on: how many real traces and text artifacts, or that there are none."""

from __future__ import annotations

import os
from pathlib import Path


def pytest_report_header() -> str:
    folder = os.environ.get("DIAGNOSE_CORPUS")
    if not folder:
        return "DIAGNOSE_CORPUS is not set: no real traces, shipped samples only"
    traces = len(list(Path(folder).glob("corpus/nsys/*.sqlite")))
    texts = sum(1 for path in Path(folder).glob("samples/*/*") if path.is_file())
    return f"DIAGNOSE_CORPUS: {traces} real traces, {texts} text artifacts"
