"""/proc/driver/nvidia/gpus/*/information: model, bus location and firmware of each GPU.

`cat */information` puts nothing between the files: a block begins at `Model:`. `Device Minor` numbers
device files and is not nvidia-smi's index; `Bus Type` says PCIe (or PCI) for SXM modules too and is left
alone.
"""

from __future__ import annotations

from diagnose.artifacts.base import Line, Section
from diagnose.artifacts.devices import bus_id_of
from diagnose.artifacts.smi_tables import Block, SmiTables
from diagnose.artifacts.unread import TextParsed

# Keys of nv-procfs.c in the open kernel modules, and `Blacklisted` of older drivers.
_KEYS = frozenset((
    "Model", "IRQ", "GPU UUID", "Video BIOS", "Bus Type", "DMA Size", "DMA Mask", "Bus Location",
    "Device Minor", "GPU Firmware", "GPU Excluded", "Blacklisted",
))  # fmt: skip
_MOST = 20_000
_LONG = 400


class ProcReader:
    kind = "proc"

    def sniff(self, section: Section) -> bool:
        texts = [line.text for line in section.lines[:_MOST] if len(line.text) <= _LONG]
        keys = {text.strip().partition(":")[0] for text in texts}
        return "Model" in keys and "Bus Location" in keys

    def read(self, section: Section) -> TextParsed:
        """`Parsed.rows` counts blocks."""
        blocks: list[Block] = []
        orphans: list[int] = []
        unread: list[Line] = []
        tables = SmiTables(section.input)
        for line in section.lines:
            key, colon, value = line.text.strip().partition(":")
            if not colon or key not in _KEYS or len(line.text) > _LONG:
                if line.text.strip() and line.text != section.command:
                    unread.append(line)
            elif key == "Model":
                blocks.append(Block(line.number))
                blocks[-1].facts["name"] = (value.strip(), line.number)
            elif not blocks:
                orphans.append(line.number)
            elif key == "Bus Location":
                blocks[-1].bus = blocks[-1].bus or value.strip()
            elif key == "GPU UUID":
                blocks[-1].facts["uuid"] = (value.strip(), line.number)
            elif key == "GPU Firmware":
                tables.software("gpu_firmware", value, line.number)
        problems = [f"line {n}: stands above any Model line, not read" for n in orphans[:1]]
        for block in blocks:
            if bus_id_of(block.bus or "") is None:
                problems.append(f"line {block.line}: no readable bus location for this GPU")
            tables.add(block)
        return TextParsed(self.kind, tables.tables(), problems + tables.problems(), len(blocks), unread)


READERS = (ProcReader(),)
