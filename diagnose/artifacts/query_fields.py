"""Header of a `--query-…` CSV: field names under one spelling, their units, and which cell is which."""

from __future__ import annotations

import re
from dataclasses import dataclass

from diagnose.artifacts.smi_cells import is_unknown
from diagnose.artifacts.smi_readings import COLUMNS
from diagnose.artifacts.starts import is_query_header

# Aliases that headers written by hand or by compute-apps queries use (nvidia-smi --help-query-gpu).
_ALIASES = {
    "gpu_name": "name",
    "gpu_bus_id": "pci.bus_id",
    "gpu_uuid": "uuid",
    "gpu_serial": "serial",
    "gpu_index": "index",
    "used_memory": "used_gpu_memory",
    "clocks.gr": "clocks.current.graphics",
    "clocks.sm": "clocks.current.sm",
    "clocks.mem": "clocks.current.memory",
    "clocks.current.mem": "clocks.current.memory",
    "clocks.max.mem": "clocks.max.memory",
    "clocks.max.gr": "clocks.max.graphics",
}
_ALONE = re.compile(r"(?:utilization|memory|power|clocks)\.[a-z_.]{2,40} \[(?:%|MiB|W|MHz)\]\Z")
_FIELD = re.compile(r"([a-zA-Z][\w.]*)(?: \[([^\]]{1,12})\])?\Z")
# A reading without its unit could be anything. Temperatures have none in any query: degrees Celsius.
_UNITS = {name: unit for _, unit, names in COLUMNS for name in names if unit != "C"}
_UNITS |= {f"clocks.{w}.{what}": "MHz" for w in ("current", "max") for what in ("graphics", "sm", "memory")}
_UNITS["used_gpu_memory"] = "MiB"
_CELSIUS = frozenset(("temperature.gpu", "temperature.memory"))


@dataclass(frozen=True, slots=True)
class Header:
    """`names`: --query-gpu field of each cell; `units`: what the header says, empty for none."""

    names: tuple[str, ...]
    units: tuple[str, ...]

    def fit(self, cells: list[str]) -> list[str] | None:
        """The cells, one a field; None for a row of another size. Commas in a process name are put back."""
        spare = len(cells) - len(self.names)
        if spare > 0 and self.names.count("process_name") == 1:
            at = self.names.index("process_name")
            cells = [*cells[:at], ", ".join(cells[at : at + spare + 1]), *cells[at + spare + 1 :]]
        return cells if len(cells) == len(self.names) and any(cells) else None

    def needs_unit(self, name: str, unit: str, cell: str) -> bool:
        """True for a number that should have a unit and has none."""
        if unit or name not in _UNITS:
            return False
        return cell[:1].isdigit() and not cell.endswith(_UNITS[name])

    def is_whole(self, cell: str) -> bool:
        """Whether a last cell without a line break behind it can have lost nothing."""
        unit = self.units[-1]
        return (bool(unit) and cell.endswith(f" {unit}")) or (cell.endswith("]") and is_unknown(cell))


def header_of(text: str) -> Header | None:
    """The header a line is, None for any other line. One field alone counts only with its unit."""
    body = text.strip()
    if not is_query_header(body) and not _ALONE.match(body):
        return None
    names, units = [], []
    for told in body.split(","):
        match = _FIELD.match(told.strip())
        name, unit = (match.group(1).lower(), match.group(2) or "") if match else ("", "")
        name = name.replace("clocks_throttle_reasons", "clocks_event_reasons")
        name = _ALIASES.get(name, name)
        names.append(name)
        units.append("C" if name in _CELSIUS and not unit else unit)
    return Header(tuple(names), tuple(units))
