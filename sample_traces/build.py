"""Build the sample folders: `python sample_traces/build.py [OUT]` (default: this folder).

The build is deterministic: no clock, no network, seeded noise, fixed page layout. See README.md for what
each is.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from _build.case import Case  # noqa: E402


def all_cases() -> list[Case]:
    """Every sample, in the order of the table in README.md."""
    from _build import (
        cases_casts,
        cases_fp8,
        cases_healthy,
        cases_links,
        cases_managed,
        cases_offload,
        cases_pool,
    )

    parts = (cases_fp8, cases_pool, cases_casts, cases_managed, cases_links, cases_offload, cases_healthy)
    return [case for part in parts for case in part.cases()]


def build(out: Path) -> list[Case]:
    """Write every folder below `out`."""
    found = all_cases()
    for case in found:
        case.write(out)
    return found


if __name__ == "__main__":
    build(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
