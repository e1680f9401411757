"""Rows of table `devices`: who the GPUs are, as far as one artifact says."""

from __future__ import annotations

import re
from typing import Any

from diagnose.artifacts.base import Row
from diagnose.tables import TABLES

_BUS = re.compile(r"(?:([0-9A-Fa-f]{4,8}):)?([0-9A-Fa-f]{2}):([0-9A-Fa-f]{2})\.([0-9A-Fa-f])\Z")
_NAME_WORD = re.compile(r"[A-Za-z0-9]")


class DeviceRows:
    """Collects rows without saying one thing twice. A cell nobody told is None.

    `gpu` is nvidia-smi's index and is given only where the artifact prints it or its order proves it.
    A name can end in `...` where nvidia-smi's table cut it. Two GPUs that an artifact does not tell apart
    (no index, bus id or `key`) give one row: the number of rows is not the number of GPUs.
    """

    def __init__(self, source: int) -> None:
        self.rows: list[Row] = []
        self._source = source
        self._seen: dict[tuple[Any, ...], Row] = {}

    def add(
        self,
        line: int,
        *,
        gpu: int | None = None,
        name: str | None = None,
        bus_id: str | None = None,
        cc: str | None = None,
        memory_bytes: int | None = None,
        driver: str | None = None,
        key: str = "",
        **more: str | int | None,
    ) -> Row:
        """Add a row, or give back the equal one that is already there. `more`: other columns of the table."""
        told: Row = dict.fromkeys(c for c in TABLES["devices"] if c not in ("input", "line"))
        told |= {"gpu": gpu, "name": name, "bus_id": bus_id, "cc": cc, "memory_bytes": memory_bytes}
        told |= {"driver": driver} | more
        identity = (key, *told.values())
        row = self._seen.get(identity)
        if row is None:
            row = {"input": self._source, "line": line} | told
            # Only what the table has: `driver` is filled as soon as the table gets that column.
            row = {name: row[name] for name in TABLES["devices"] if name in row}
            self._seen[identity] = row
            self.rows.append(row)
        return row


def bus_id_of(text: str) -> str | None:
    """`00000000:1B:00.0` or `1b:00.0` → `0000:1b:00.0`; None when it is no bus id.

    nvidia-smi prints eight digits of domain, the kernel four; a domain above ffff keeps eight.
    """
    match = _BUS.match(text.strip())
    if match is None:
        return None
    domain, bus, device, function = match.groups()
    number = int(domain or "0", 16)
    return f"{number:04x}:{bus}:{device}.{function}".lower()


def name_of(text: str) -> str | None:
    """A product name, or None for an empty or refused cell (`N/A`, `[Unknown Error]`)."""
    name = text.strip()
    if not name or name.startswith("[") or name.upper() == "N/A" or not _NAME_WORD.search(name):
        return None
    return name[:120]


def mebibytes(text: str) -> int | None:
    """`81559 MiB` (or `81559` where the header says the unit) in bytes; None for anything else."""
    match = re.match(r"\s*([0-9]{1,9})(?: MiB)?\s*\Z", text)
    return int(match.group(1)) * 1024 * 1024 if match else None
