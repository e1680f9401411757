"""Artifacts that are recognised but not read yet, so that `inspect` can say what a file is.

Each entry below names a kind, what it is in words, a test on content, and, where the text says who
the GPUs are, a function that gives `devices` rows. A real reader for one of these kinds is a module of its
own beside this one: take the entry out here, put the reader at the same place in `text.READERS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from diagnose.artifacts import identity
from diagnose.artifacts.base import Row, Section
from diagnose.artifacts.unread import TextParsed

_SAMPLE = 2000
_NOT_READ = "recognised, not read yet beyond GPU names and known messages"
_LONG = 20_000


def _sample(section: Section) -> list[str]:
    """The first lines, and some of all others: enough to name a log of any length."""
    lines = section.lines
    step = max(1, (len(lines) - _SAMPLE // 2) // (_SAMPLE // 2))
    some = lines[: _SAMPLE // 2] + lines[_SAMPLE // 2 :: step]
    return [line.text for line in some if len(line.text) <= _LONG]


def _lines(pattern: str, least: int = 1) -> Callable[[Section], bool]:
    """A test: at least so many of the section's lines match."""
    compiled = re.compile(pattern)

    def test(section: Section) -> bool:
        hits = 0
        for text in _sample(section):
            hits += compiled.search(text) is not None
            if hits >= least:
                return True
        return False

    return test


def _nothing(section: Section) -> list[Row]:  # noqa: ARG001 - most of these outputs name no GPU
    return []


@dataclass(slots=True)
class OtherReader:
    """Recognises one kind, gives the GPUs' identity, and leaves all lines to the text patterns."""

    kind: str
    what: str
    test: Callable[[Section], bool]
    devices: Callable[[Section], list[Row]] = _nothing
    by_patterns: bool = False  # True: the text patterns read what signatures ask of it

    def sniff(self, section: Section) -> bool:
        return self.test(section)

    def read(self, section: Section) -> TextParsed:
        rows = self.devices(section)
        tables = {"devices": rows} if rows else {}
        problems = []
        if not self.by_patterns:
            number = section.lines[0].number if section.lines else 1
            problems.append(f"line {number}: {self.what}: {_NOT_READ}")
        return TextParsed(self.kind, tables, problems, len(rows), list(section.lines))


_IB = (
    r"^\s*(?:CA '|Infiniband device '|# Port (?:counters|info):|CA/RT PortInfo)|==\(\s*\d+X"
    r"|LinkWidthActive:\.|^\S+ port \d+ ==> \S+ \((?:Up|Down)\)|^Physical state\s+: LinkUp"
)
_LSPCI = (
    r"^\s*(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] .*(?:NVIDIA|Mellanox)"
    r"|^\s*(?:LnkCap|LnkSta|ACSCtl|ACSCap):\s"
)
_VERSIONS = (
    r"^PyTorch version\s*:|^nvcc: NVIDIA|^Cuda compilation tools, release|^NVIDIA-SMI version\s+:"
    r"|^Package\s+Version\s*$|^torch(?:==| @ |\s+\d+\.\d+)|^vllm(?:==| @ )"
)
_NCCL = r"\bNCCL (?:INFO|WARN)\b|^NCCL version \d|Watchdog caught collective operation timeout"
_DMESG = r"NVRM: |^\[ *\d+\.\d{6}\] (?:pci|nvidia|NVRM|mlx5_core)|available PCIe bandwidth"

IB = OtherReader("ib", "InfiniBand port output", _lines(_IB))
LSPCI = OtherReader("lspci", "lspci", _lines(_LSPCI))
DMESG = OtherReader("dmesg", "kernel log", _lines(_DMESG))
NCCL = OtherReader("nccl", "NCCL or watchdog log", _lines(_NCCL), by_patterns=True)
VERSIONS = OtherReader("versions", "software versions", _lines(_VERSIONS), identity.from_gpu_lines)
