"""Artifacts that are recognised but not read yet, so that `inspect` can say what a file is.

Each entry of `OTHERS` names a kind, what it is in words, a test on content, and, where the text says who
the GPUs are, a function that gives `devices` rows. A real reader for one of these kinds is a module of its
own beside this one: take the entry out of `OTHERS`, put the reader at the same place in `text.READERS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from diagnose.artifacts import identity
from diagnose.artifacts.base import Line, Row, Section
from diagnose.artifacts.gpu_lines import gpu_line
from diagnose.artifacts.identity_csv import from_query
from diagnose.artifacts.starts import is_query_header, start_kind
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


def _starts(kind: str) -> Callable[[Section], bool]:
    return lambda section: any(start_kind(text) == kind for text in _sample(section))


def _only_gpu_lines(section: Section) -> bool:
    """`GPU n: name (UUID: …)` (and MIG children) and nothing else: -L, or `nvlink` without rows."""
    texts = [t for t in _sample(section) if t.strip() and t != section.command]
    headings = [g for t in texts if (g := gpu_line(t)) is not None and g[2]]
    children = sum(1 for t in texts if re.match(r"\s*MIG .*\(UUID:", t))
    return bool(headings) and len(headings) + children >= 0.8 * len(texts)


def _proc(section: Section) -> bool:
    texts = _sample(section)
    return any(t.lstrip().startswith("Model:") for t in texts) and any("Bus Location:" in t for t in texts)


def _headless_query(section: Section) -> bool:
    row = re.compile(r"\s*[0-9]{1,3}, (?:NVIDIA|Tesla|GeForce|Quadro) [^,]{2,60}, ")
    texts = [t for t in _sample(section) if t.strip()]
    return bool(texts) and all(row.match(t) for t in texts)


def _query(section: Section) -> bool:
    return any(is_query_header(text) for text in _sample(section)) or _headless_query(section)


def _nothing(section: Section) -> list[Row]:  # noqa: ARG001 - most of these outputs name no GPU
    return []


@dataclass(slots=True)
class OtherReader:
    """Recognises one kind, gives the GPUs' identity, and leaves all lines to the text patterns."""

    kind: str
    what: str
    test: Callable[[Section], bool]
    devices: Callable[[Section], list[Row]] = _nothing
    complete: bool = False  # True: the identity is all there is in it

    def sniff(self, section: Section) -> bool:
        return self.test(section)

    def read(self, section: Section) -> TextParsed:
        rows = self.devices(section)
        tables = {"devices": rows} if rows else {}
        problems = []
        unread = [line for line in section.lines if not self._is_read(line)]
        if not self.complete:
            number = section.lines[0].number if section.lines else 1
            problems.append(f"line {number}: {self.what}: {_NOT_READ}")
        return TextParsed(self.kind, tables, problems, len(rows), unread)

    def _is_read(self, line: Line) -> bool:
        return self.complete and gpu_line(line.text) is not None


_FRAGMENT = r"^\s+(?:GPU Link Info|FB Memory Usage|Clocks (?:Event|Throttle) Reasons|Fabric)\s*$|^Fabric\s*$"
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
_NO_DRIVER = (
    r"^(?:NVIDIA-SMI has failed because|No devices were found|Unable to determine the device handle for GPU)"
)
_DMESG = r"NVRM: |^\[ *\d+\.\d{6}\] (?:pci|nvidia|NVRM|mlx5_core)|available PCIe bandwidth"

XML = OtherReader("xml", "nvidia-smi -q -x", _starts("xml"), identity.from_xml)
SMI_Q = OtherReader(
    "smi_q", "nvidia-smi -q", lambda s: _starts("smi_q")(s) or _lines(_FRAGMENT)(s), identity.from_smi_q
)
SMI_TABLE = OtherReader(
    "smi_table",
    "nvidia-smi table",
    lambda s: _starts("smi_table")(s) or _lines(_NO_DRIVER)(s),
    identity.from_smi_table,
)
PMON = OtherReader("pmon", "nvidia-smi pmon", _starts("pmon"))
SMI_L = OtherReader("smi_L", "nvidia-smi -L", _only_gpu_lines, identity.from_gpu_lines, complete=True)
QUERY_GPU = OtherReader("query_gpu", "nvidia-smi --query-gpu", _query, from_query)
IB = OtherReader("ib", "InfiniBand port output", _lines(_IB))
LSPCI = OtherReader("lspci", "lspci", _lines(_LSPCI))
PROC = OtherReader("proc", "/proc/driver/nvidia/gpus information", _proc, identity.from_proc)
DMESG = OtherReader("dmesg", "kernel log", _lines(_DMESG))
NCCL = OtherReader("nccl", "NCCL or watchdog log", _lines(_NCCL))
VERSIONS = OtherReader("versions", "software versions", _lines(_VERSIONS), identity.from_gpu_lines)
