"""What a fact or a finding is about: the run, a device, a process, or a process on a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Grain = Literal["run", "device", "process", "process_device"]
GRAINS: tuple[Grain, ...] = ("run", "device", "process", "process_device")

# Which grains a signature of a given scope may read: its own and every coarser one.
COARSER: dict[Grain, tuple[Grain, ...]] = {
    "run": ("run",),
    "device": ("device", "run"),
    "process": ("process", "run"),
    "process_device": ("process_device", "device", "process", "run"),
}


@dataclass(frozen=True, slots=True, order=True)
class Scope:
    """`device` is the CUDA ordinal, `pid` the process id; None means "not restricted"."""

    device: int | None = None
    pid: int | None = None

    def at(self, grain: Grain) -> Scope:
        """This scope seen at a coarser grain (drops what that grain does not hold)."""
        return Scope(
            self.device if grain in ("device", "process_device") else None,
            self.pid if grain in ("process", "process_device") else None,
        )


RUN = Scope()
