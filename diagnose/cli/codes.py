"""Exit codes, and which one a report gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diagnose.findings import Report

OK = 0
FOUND = 1
USAGE = 2
NOT_JUDGED = 3
INTERNAL = 70  # EX_SOFTWARE of sysexits.h
OUTPUT = 74  # EX_IOERR of sysexits.h
INTERRUPTED = 130  # 128 + SIGINT
BROKEN_PIPE = 141  # 128 + SIGPIPE; never 1: a closed pipe must not be mistaken for a finding
TERMINATED = 143  # 128 + SIGTERM

MEANINGS: dict[int, str] = {
    OK: "judged, and nothing at or above the bar (--fail-on, --min-verdict)",
    FOUND: "something at or above the bar was found",
    USAGE: "usage, configuration or signature error",
    NOT_JUDGED: "nothing could be judged",
    INTERNAL: "internal error",
    OUTPUT: "the result could not be written",
    INTERRUPTED: "interrupted",
    BROKEN_PIPE: "the reader closed the pipe",
    TERMINATED: "terminated",
}


def of_report(report: Report, *, fail_on: str, min_verdict: str, exit_zero: bool) -> int:
    """0, 1 or 3. A finding at the bar counts even when nothing else could be judged."""
    from diagnose.findings import RANK, SEVERITIES

    at_least = SEVERITIES.index(fail_on)
    weakest = RANK[min_verdict]  # type: ignore[index]
    for finding in report.findings:
        if (
            finding.is_finding
            and RANK[finding.verdict] <= weakest
            and SEVERITIES.index(finding.severity) <= at_least
        ):
            return OK if exit_zero else FOUND
    return OK if report.judged else NOT_JUDGED
