"""Where `nvidia-smi -q` and `-q -x` keep each value: full path → the --query-gpu field it is.

The same leaf (`Total`, `Current`) stands in many groups, so a leaf alone decides nothing. Paths are lower
case: `Ecc Mode` became `ECC Mode`, `Gpu` became `GPU`. Both spellings of what 535 renamed are here
(throttle → event reasons, power readings → GPU power readings), and the groups that 610 put around power
limits.
"""

from __future__ import annotations

from diagnose.artifacts.smi_events import COUNTERS, PREFIX, reason_of

Path = tuple[str, ...]

_Q = {
    "product name": "name",
    "gpu uuid": "uuid",
    "gpu part number": "gpu_part_number",
    "mig mode/current": "mig.mode.current",
    "driver model/current": "driver_model.current",
    "ecc mode/current": "ecc.mode.current",
    "gsp firmware version": "gpu_firmware",
    "pci/device id": "pci.device_id",
    "pci/bus id": "pci.bus_id",
    "pci/replays since reset": "pcie.replays",
    "pci/tx throughput": "pcie.tx",
    "pci/rx throughput": "pcie.rx",
    "gpu link info/pcie generation/max": "pcie.link.gen.max",
    "gpu link info/pcie generation/current": "pcie.link.gen.current",
    "gpu link info/pcie generation/device max": "pcie.link.gen.gpumax",
    "gpu link info/pcie generation/host max": "pcie.link.gen.hostmax",
    "gpu link info/link width/max": "pcie.link.width.max",
    "gpu link info/link width/current": "pcie.link.width.current",
    "fb memory usage/total": "memory.total",
    "fb memory usage/reserved": "memory.reserved",
    "fb memory usage/used": "memory.used",
    "fb memory usage/free": "memory.free",
    "utilization/gpu": "utilization.gpu",
    "utilization/memory": "utilization.memory",
    "utilization/encoder": "utilization.encoder",
    "utilization/decoder": "utilization.decoder",
    "utilization/jpeg": "utilization.jpeg",
    "utilization/ofa": "utilization.ofa",
    "temperature/gpu current temp": "temperature.gpu",
    "temperature/memory current temp": "temperature.memory",
    "clocks/graphics": "clocks.current.graphics",
    "clocks/sm": "clocks.current.sm",
    "clocks/memory": "clocks.current.memory",
    "max clocks/graphics": "clocks.max.graphics",
    "max clocks/sm": "clocks.max.sm",
    "max clocks/memory": "clocks.max.memory",
    "fabric/state": "fabric.state",
    "fabric/status": "fabric.status",
    "fabric/cliqueid": "fabric.cliqueid",
    "fabric/health/summary": "fabric.health.summary",
}
for _group in ("power readings", "gpu power readings"):
    _Q |= {
        f"{_group}/power draw": "power.draw",
        f"{_group}/average power draw": "power.draw.average",
        f"{_group}/instantaneous power draw": "power.draw.instant",
        f"{_group}/power limit": "power.limit",
        f"{_group}/current power limit": "power.limit",
        f"{_group}/gpu ceiling power limit/current power limit": "power.limit",
    }

_X = {
    "product_name": "name",
    "uuid": "uuid",
    "gpu_part_number": "gpu_part_number",
    "mig_mode/current_mig": "mig.mode.current",
    "driver_model/current_dm": "driver_model.current",
    "ecc_mode/current_ecc": "ecc.mode.current",
    "gsp_firmware_version": "gpu_firmware",
    "pci/pci_device_id": "pci.device_id",
    "pci/pci_bus_id": "pci.bus_id",
    "pci/replay_counter": "pcie.replays",
    "pci/tx_util": "pcie.tx",
    "pci/rx_util": "pcie.rx",
    "pci/pci_gpu_link_info/pcie_gen/max_link_gen": "pcie.link.gen.max",
    "pci/pci_gpu_link_info/pcie_gen/current_link_gen": "pcie.link.gen.current",
    "pci/pci_gpu_link_info/pcie_gen/max_device_link_gen": "pcie.link.gen.gpumax",
    "pci/pci_gpu_link_info/pcie_gen/max_host_link_gen": "pcie.link.gen.hostmax",
    "pci/pci_gpu_link_info/link_widths/max_link_width": "pcie.link.width.max",
    "pci/pci_gpu_link_info/link_widths/current_link_width": "pcie.link.width.current",
    "fb_memory_usage/total": "memory.total",
    "fb_memory_usage/reserved": "memory.reserved",
    "fb_memory_usage/used": "memory.used",
    "fb_memory_usage/free": "memory.free",
    "utilization/gpu_util": "utilization.gpu",
    "utilization/memory_util": "utilization.memory",
    "utilization/encoder_util": "utilization.encoder",
    "utilization/decoder_util": "utilization.decoder",
    "utilization/jpeg_util": "utilization.jpeg",
    "utilization/ofa_util": "utilization.ofa",
    "temperature/gpu_temp": "temperature.gpu",
    "temperature/memory_temp": "temperature.memory",
    "clocks/graphics_clock": "clocks.current.graphics",
    "clocks/sm_clock": "clocks.current.sm",
    "clocks/mem_clock": "clocks.current.memory",
    "max_clocks/graphics_clock": "clocks.max.graphics",
    "max_clocks/sm_clock": "clocks.max.sm",
    "max_clocks/mem_clock": "clocks.max.memory",
    "fabric/state": "fabric.state",
    "fabric/status": "fabric.status",
    "fabric/cliqueid": "fabric.cliqueid",
    "fabric/health/summary": "fabric.health.summary",
}
for _group in ("power_readings", "gpu_power_readings"):
    _X |= {
        f"{_group}/power_draw": "power.draw",
        f"{_group}/average_power_draw": "power.draw.average",
        f"{_group}/instant_power_draw": "power.draw.instant",
        f"{_group}/power_limit": "power.limit",
        f"{_group}/current_power_limit": "power.limit",
        f"{_group}/gpu_ceiling_power_limit/current_power_limit": "power.limit",
    }

_Q_EVENTS = ("clocks event reasons", "clocks throttle reasons")
_Q_COUNTERS = ("clocks event reasons counters", "clocks throttle reasons counters")
_X_EVENTS = ("clocks_event_reasons", "clocks_throttle_reasons")
_X_COUNTERS = ("clocks_event_reasons_counters", "clocks_throttle_reasons_counters")
# Groups that stand for a known place even where a fragment does not show what is above them.
_ROOTS = frozenset(p.split("/")[0] for p in _Q if "/" in p) | frozenset(_Q_EVENTS + _Q_COUNTERS)
GROUPS = _ROOTS | {"pcie generation", "link width", "health"}


def field_of_q(path: Path) -> str | None:
    """The field a path of -q leads to; fragments may begin at any group that says where it belongs."""
    if "mig device" in path:
        return None
    if path[:1] == ("pci",) and path[1:2] == ("gpu link info",):
        path = path[1:]
    return _event(path, _Q_EVENTS, _Q_COUNTERS) or _Q.get("/".join(path))


def field_of_xml(path: Path) -> str | None:
    """The field a path below <gpu> leads to."""
    return _event(path, _X_EVENTS, _X_COUNTERS) or _X.get("/".join(path))


def _event(path: Path, events: Path, counters: Path) -> str | None:
    if len(path) < 2:
        return None
    if path[0] in events:
        return PREFIX + reason_of(path[-1])
    return COUNTERS + reason_of(path[-1]) if path[0] in counters else None
