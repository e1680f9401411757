"""One line on stderr that says how far a long run is."""

from __future__ import annotations

import sys
import time

from diagnose.cli import streams

AFTER_S = 2.0
EVERY_S = 0.2


class ProgressLine:
    """Called with what is being done and, where it is known, how much of how much is done.

    Silent in the first two seconds and when stderr is not a terminal. `close` wipes the line.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._on = streams.is_tty(sys.stderr) and not quiet
        self._start = time.monotonic()
        self._last = 0.0
        self._shown = 0

    def __call__(self, what: str, done: float = 0, total: float = 0) -> None:
        now = time.monotonic()
        if not self._on or now - self._start < AFTER_S or now - self._last < EVERY_S:
            return
        self._last = now
        share = f" {min(done / total, 1.0):.0%}" if done and total else ""
        self._draw(streams.clean(f"{what}{share}").replace("\n", " ")[:79])

    def close(self) -> None:
        if self._shown:
            self._draw("")

    def _draw(self, text: str) -> None:
        try:
            sys.stderr.write("\r" + text.ljust(self._shown) + ("" if text else "\r"))
            sys.stderr.flush()
        except (OSError, ValueError):
            self._on = False
        self._shown = len(text)
