"""Clock event (throttle) reasons under one set of names, whatever the output calls them."""

from __future__ import annotations

import re

from diagnose.artifacts.base import Row
from diagnose.artifacts.smi_cells import flag, number
from diagnose.artifacts.smi_readings import Facts

PREFIX = "clocks_event_reasons."
COUNTERS = "clocks_event_reasons_counters."

# -q, -q -x and --query-gpu spell some reasons differently; 535 renamed "throttle" to "event".
_ALIASES = {
    "idle": "gpu_idle",
    "display_clocks_setting": "display_clock_setting",
    "sw_power_capping": "sw_power_cap",
    "hw_power_braking": "hw_power_brake_slowdown",
    "hw_power_brake": "hw_power_brake_slowdown",
    "sw_therm_slowdown": "sw_thermal_slowdown",
    "hw_therm_slowdown": "hw_thermal_slowdown",
}
# Bits of nvmlClocksEventReasons (nvml.h), which `clocks_event_reasons.active` prints as one number.
_BITS = (
    "gpu_idle",
    "applications_clocks_setting",
    "sw_power_cap",
    "hw_slowdown",
    "sync_boost",
    "sw_thermal_slowdown",
    "hw_thermal_slowdown",
    "hw_power_brake_slowdown",
    "display_clock_setting",
)
_MASK = re.compile(r"0x([0-9A-Fa-f]{1,16})\Z")


def reason_of(label: str) -> str:
    """`SW Power Cap`, `clocks_throttle_reason_sw_power_cap` → `sw_power_cap`."""
    slug = re.sub(r"[^a-z0-9]+", "_", label.strip().lower()).strip("_")
    slug = re.sub(r"^clocks_(?:event|throttle)_reasons?_(?:counters_)?", "", slug)
    return _ALIASES.get(slug, slug)


def event_rows(facts: Facts, source: int, gpu: int | None, bus_id: str | None) -> list[Row]:
    """`clock_events` rows of one GPU: one a reason, its flag and its cumulative time beside it."""
    if not any(name.startswith("clocks_event") for name in facts):
        return []
    told: dict[str, tuple[bool | None, int]] = {}
    counted: dict[str, tuple[int | None, int]] = {}
    for name, (cell, line) in facts.items():
        if name.startswith(PREFIX) and name[len(PREFIX) :] not in ("active", "supported"):
            told[reason_of(name[len(PREFIX) :])] = (flag(cell), line)
        elif name.startswith(COUNTERS):
            value = number(cell, "us")
            counted[reason_of(name[len(COUNTERS) :])] = (None if value is None else int(value), line)
    if not told:
        told = _from_mask(facts)
    rows = []
    for reason in dict.fromkeys((*told, *counted)):
        active, line = told.get(reason, (None, 0))
        counter, counter_line = counted.get(reason, (None, 0))
        place: Row = {"input": source, "line": line or counter_line, "gpu": gpu}
        rows.append(
            place | {"reason": reason, "active": active, "bus_id": bus_id, "counter_us": counter}
        )  # fmt: skip
    return rows


def _from_mask(facts: Facts) -> dict[str, tuple[bool | None, int]]:
    cell, line = facts.get(PREFIX + "active", ("", 0))
    match = _MASK.match(cell)
    if match is None:
        return {}
    active = int(match.group(1), 16)
    known = _MASK.match(facts.get(PREFIX + "supported", ("", 0))[0])
    supported = int(known.group(1), 16) if known else (1 << len(_BITS)) - 1
    return {
        name: (bool(active >> bit & 1) if supported >> bit & 1 else None, line)
        for bit, name in enumerate(_BITS)
    }
