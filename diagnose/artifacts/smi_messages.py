"""Sentences that nvidia-smi prints in place of output: no driver, no GPU, a GPU it cannot open."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from diagnose.artifacts.devices import bus_id_of

_SENTENCES = (
    "nvidia-smi has failed because",
    "no devices were found",
    "failed to initialize nvml",
)
# `… for GPU1: 0000:34:00.0: Unknown Error`, `… for GPU0000:08:00.0`, `… for GPU 0000:34:00.0: …`
_LOST = re.compile(
    r"Unable to determine the device handle for GPU ?"
    r"(?:([0-9]{1,3}): ?)?([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])?(?=[:\s]|$)"
)
_LONG = 400


@dataclass(frozen=True, slots=True)
class Message:
    text: str
    lost: bool = False
    gpu: int | None = None
    bus_id: str | None = None


def mostly_messages(texts: Sequence[str]) -> bool:
    """Such a sentence leads the section or is most of it: in the middle of a log it is that log's."""
    head = [text for text in texts if text.strip()]
    said = sum(1 for text in head if message_of(text))
    return any(message_of(text) for text in head[:3]) or 2 * said > len(head)


def message_of(text: str) -> Message | None:
    """The sentence a line is, None for any other line."""
    said = text.strip()
    if len(said) > _LONG:
        return None
    if match := _LOST.match(said):
        index, bus = match.groups()
        return Message(
            said, True, None if index is None else int(index), None if bus is None else bus_id_of(bus)
        )  # fmt: skip
    if said.startswith("Unable to determine the device handle for GPU"):
        return Message(said, True)
    return Message(said) if said.lower().startswith(_SENTENCES) else None
