"""What is known of each NVIDIA GPU, found by the names and ids that tools print.

The data is in `gpus.toml` with a source for every field. A field listed there as `unsourced` is never given
out as a fact: `Gpu.fact(field)` is None for it, as for a field the file does not have.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from diagnose.catalogue import load

Form = Literal["SXM", "PCIe", ""]

_MIG = re.compile(r"\s+MIG\s+\S*\s*$", re.IGNORECASE)
_BLANKS = re.compile(r"\s+")
_HEX_ID = re.compile(r"[0-9a-f]{4}")


@dataclass(frozen=True, slots=True)
class Gpu:
    """One card. `raw` is the whole entry, unsourced fields included: read facts through `fact`."""

    id: str
    names: tuple[str, ...]
    pci_device_ids: tuple[str, ...]
    sources: tuple[str, ...]
    unsourced: tuple[str, ...]
    doubts: tuple[str, ...]
    note: str
    raw: Mapping[str, Any]

    def fact(self, field: str) -> Any | None:
        """The sourced value of `field` or `field.key` (`nvlink.kind`, `dense_tflops.fp16`), else None.

        A whole table is given without its unsourced keys. Units are in the field names: `mem_bw_gbs` and
        `nvlink.total_gbs` in 1e9 bytes/s (both directions of all links), `dense_tflops` in 1e12 operations/s.
        """
        if "*" in self.unsourced or field in self.unsourced:
            return None
        head, _, key = field.partition(".")
        if head in self.unsourced or head not in self.raw:
            return None
        value = self.raw[head]
        if key:
            return value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, Mapping):
            return {k: v for k, v in value.items() if f"{head}.{k}" not in self.unsourced} or None
        return value

    @property
    def form(self) -> Form:
        """`SXM` (any generation), `PCIe`, or empty for superchips, systems on a chip and the unknown."""
        text = self.fact("form") or ""
        return "SXM" if text.startswith("SXM") else "PCIe" if text == "PCIe" else ""


@cache
def all_gpus() -> tuple[Gpu, ...]:
    """Every card of the file, in its order (oldest architecture first)."""
    return tuple(
        Gpu(
            id=entry["id"],
            names=tuple(entry["names"]),
            pci_device_ids=tuple(entry["pci_device_ids"]),
            sources=tuple(entry["sources"]),
            unsourced=tuple(entry.get("unsourced", ())),
            doubts=tuple(entry.get("doubts", ())),
            note=entry.get("note", ""),
            raw=MappingProxyType(entry),
        )
        for entry in load.data("gpus.toml")["gpu"]
    )


def plain(name: str) -> str:
    """The form in which names are compared: no vendor, no MIG suffix, one blank between words, lower case."""
    short = _MIG.sub("", _BLANKS.sub(" ", name).strip()).casefold()
    return short.removeprefix("nvidia ")


def is_mig(name: str) -> bool:
    """True for a MIG slice (`NVIDIA A30 MIG 2g.12gb`): the card's memory and SM count are not the slice's."""
    return bool(_MIG.search(name))


@cache
def _by_name() -> dict[str, tuple[Gpu, ...]]:
    index: dict[str, list[Gpu]] = {}
    for gpu in all_gpus():
        for name in dict.fromkeys(plain(n) for n in gpu.names):
            index.setdefault(name, []).append(gpu)
    return {name: tuple(found) for name, found in index.items()}


def candidates(name: str) -> tuple[Gpu, ...]:
    """Every card that `name` can mean.

    Several Orin modules share one name, and the table of nvidia-smi cuts long ones (`Tesla V100-PCIE...`).
    """
    wanted = plain(name)
    if wanted.endswith("..."):
        start = wanted.removesuffix("...").rstrip()
        found = (
            gpu for known, gpus in _by_name().items() if start and known.startswith(start) for gpu in gpus
        )
        return tuple({gpu.id: gpu for gpu in found}.values())
    return _by_name().get(wanted, ())


def find(name: str) -> Gpu | None:
    """The card called `name` by nvidia-smi or nsys; None when unknown or when the name fits several cards."""
    found = candidates(name)
    return found[0] if len(found) == 1 else None


def by_device_id(text: str) -> Gpu | None:
    """The card with a PCI device id, None if unknown or shared by two cards.

    Spellings: `20b5`, `0x20B510DE` (nvidia-smi: device, then vendor), `10de:20b5` (lspci).
    """
    digits = text.strip().casefold().removeprefix("0x").removeprefix("10de:")
    if len(digits) == 8 and digits.endswith("10de"):
        digits = digits[:4]
    if not _HEX_ID.fullmatch(digits):
        return None
    found = [gpu for gpu in all_gpus() if digits in gpu.pci_device_ids]
    return found[0] if len(found) == 1 else None


def agreed(name: str, field: str) -> Any | None:
    """`fact(field)` when every card that `name` can mean has the same one, else None."""
    values = [gpu.fact(field) for gpu in candidates(name)]
    return values[0] if values and all(v == values[0] for v in values) else None


def form(name: str) -> Form:
    """Form factor of the card called `name`: "NVIDIA H100 80GB HBM3" is SXM, though it does not say so.

    A name that is not in the file is read for the words SXM, PCIe or NVL. An SXM name proves the form factor,
    not that NVLink is connected.
    """
    found = candidates(name)
    if found:
        forms = {gpu.form for gpu in found}
        return forms.pop() if len(forms) == 1 else ""
    words = plain(name)
    if "sxm" in words:
        return "SXM"
    return "PCIe" if "pcie" in words or words.endswith(" nvl") else ""


def nvlink_kind(name: str) -> str:
    """`none`, `bridge`, `mesh`, `nvswitch`, … as `gpus.toml` explains; empty when no source tells."""
    return agreed(name, "nvlink.kind") or ""


def compute_capability(name: str) -> str:
    """`8.9` for the card called `name`; empty when unknown."""
    return agreed(name, "cc") or ""


def pcie_gb_s(generation: int, width: int) -> float | None:
    """One direction of a PCIe link in 1e9 bytes/s, after line coding, before protocol overhead; else None."""
    value = load.data("gpus.toml")["pcie"].get(f"gen{generation}", {}).get(f"x{width}")
    return None if value is None else float(value)


def min_compute_capability(precision: str) -> str:
    """First compute capability with tensor-core instructions for `precision`: `fp8` → `8.9`; else empty."""
    return str(load.data("gpus.toml")["precision"].get(precision, {}).get("min_cc", ""))
