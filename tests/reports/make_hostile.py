"""Hostile text in every field that can carry data, and the list of all hand-made reports."""

from __future__ import annotations

from dataclasses import replace

from reports_make import cast_storm, confirmed, healthy, other, probable, trace, undecided

from diagnose.findings import (
    Capture,
    CoverageNote,
    Device,
    Exhibit,
    ExhibitRow,
    Fact,
    Input,
    Remedy,
    Report,
    ScopeRef,
    Step,
    TimeShare,
)

EVIL = [
    "<script>alert(1)</script>",
    "[/red][bold]x",
    "a|b|c",
    "`tick` ``two``",
    "x" * 20_000,
    "\x1b[31mred\x1b[0m\x9b2J",
    "\u202eesrever\u200b\u2066",
    ":x: :boom:",
    "two\nlines\r\n### Heading",
    "@everyone see #123 and https://example.com/?q=1 or www.example.com",
    "*star* _under_ ~~gone~~ $x^2$ ![i](https://example.com/i.png) <!-- c -->",
    "</details>\\",
]


def hostile() -> Report:
    """Untrusted text in every field that can carry data from a trace, a log or a path."""
    rows = tuple(
        ExhibitRow(i * 10**9, 1000, e, 0, 7, api_call=e, range_path=e, detail=e) for i, e in enumerate(EVIL)
    )
    lines = tuple(ExhibitRow(0, 0, e, input=0, line=3) for e in EVIL)
    every = " ".join(EVIL)
    f = replace(
        cast_storm(),
        summary=every,
        notes=tuple(EVIL),
        reason=every,
        scope=ScopeRef("device", 0, every, every),
        exhibits=(Exhibit("t " + every, rows), Exhibit("l", lines)),
        steps=tuple(
            Step(
                "s",
                "cause",
                "cause",
                True,
                e,
                "t = 'x' AND u",
                (Fact("t", e, "text", source=e), Fact("u", None, why_unknown=e)),
            )
            for e in EVIL
        ),
        captures=tuple(Capture(e, e, e) for e in EVIL),
        flips=tuple(EVIL),
        remedies=tuple(Remedy(e, e + "v", e, e, "javascript:alert(1)") for e in EVIL),
    )
    inputs = tuple(Input(e, e, "ab" * 32, 1, 1, (e,)) for e in EVIL)
    bars = tuple(TimeShare(0, e, e, 1, 10, 0.1, e) for e in EVIL)
    notes = tuple(CoverageNote("warning", e, e) for e in EVIL)
    rest = tuple(
        other("x-" + str(i), "cannot_tell", e, missing=(e,), captures=(Capture(e, e, e),))
        for i, e in enumerate(EVIL)
    )
    tr = trace(product=every, driver=every, devices=(Device(0, every, every, every, used=True),))
    return Report("0.1.0", inputs, tr, (f, *rest), notes, bars, nearest_miss=every)


ALL = {
    "confirmed": confirmed,
    "probable": probable,
    "undecided": undecided,
    "healthy": healthy,
    "hostile": hostile,
}
