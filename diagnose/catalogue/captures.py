"""Which command collects what is missing: `capture_for("kernels.graph")`."""

from __future__ import annotations

from functools import cache

from diagnose.catalogue import load
from diagnose.findings import Capture


@cache
def all_captures() -> dict[str, Capture]:
    """Every entry of `captures.toml` by key; older spellings of options are part of the note."""
    found = {}
    for key, entry in load.data("captures.toml")["capture"].items():
        parts = [entry.get("note", ""), f"Older: {entry['older']}." if "older" in entry else ""]
        found[key] = Capture(key, entry["command"], " ".join(part for part in parts if part))
    return found


def capture_for(missing: str) -> Capture | None:
    """How to collect a table (`kernels`) or a column (`allocations.pool_size`, `kernels.graph`).

    A column without a command of its own falls back to its table. The answer carries `missing` as it was
    asked. None when nothing is known: never a guess.
    """
    aliases: dict[str, str] = load.data("captures.toml")["alias"]
    key = missing
    while key:
        target = aliases.get(key, key)
        found = all_captures().get(target)
        if found is not None:
            return Capture(missing, found.command, found.note)
        key = key.rpartition(".")[0]
    return None
