"""One GPU as -q, -q -x, the main table or a query shows it → rows of our tables.

The readers bring every value under the name that `--query-gpu` has for it, so that a fact means the same
wherever it was printed. Which MiB, which `Current`: that was settled by its full path before it came here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from diagnose.artifacts.base import Row
from diagnose.artifacts.devices import DeviceRows, bus_id_of, mebibytes, name_of
from diagnose.artifacts.smi_cells import device_id, error_of, flag, number, text_of, version, whole
from diagnose.artifacts.smi_events import event_rows
from diagnose.artifacts.smi_readings import Readings
from diagnose.artifacts.unread import place

_LINK = (
    ("gen_current", "pcie.link.gen.current"),
    ("gen_max", "pcie.link.gen.max"),
    ("gen_gpu_max", "pcie.link.gen.gpumax"),
    ("gen_host_max", "pcie.link.gen.hostmax"),
    ("width_current", "pcie.link.width.current"),
    ("width_max", "pcie.link.width.max"),
    ("replays", "pcie.replays"),
)
_FABRIC = (
    ("state", "fabric.state"),
    ("status", "fabric.status"),
    ("clique", "fabric.cliqueid"),
    ("health", "fabric.health.summary"),
)
_CLOCKS = tuple((n, f"clocks.current.{n}", f"clocks.max.{n}") for n in ("sm", "memory", "graphics"))
_ONCE = frozenset(("pcie_links", "clocks", "fabric"))
_MODELS = ("WDDM", "TCC", "MCDM")


@dataclass(slots=True)
class Process:
    line: int
    pid: int
    kind: str | None = None
    memory: str = ""
    instance: int | None = None


@dataclass(slots=True)
class Block:
    """One look at one GPU. `facts`: name of the --query-gpu field → (cell as printed, line)."""

    line: int
    bus: str | None = None
    gpu: int | None = None
    facts: dict[str, tuple[str, int]] = field(default_factory=dict)
    processes: list[Process] = field(default_factory=list)
    mig_devices: int = 0

    def cell(self, name: str) -> str:
        return self.facts.get(name, ("", 0))[0]


class SmiTables:
    """Collects the rows of one section. `problems` gets what nvidia-smi said in place of a value."""

    def __init__(self, source: int) -> None:
        self.source = source
        self.devices = DeviceRows(source)
        self.readings = Readings(source)
        self.rows: dict[str, list[Row]] = {}
        self._versions: set[tuple[str, str]] = set()
        self._said: set[tuple[object, ...]] = set()
        self._errors: dict[str, list[int]] = {}

    def software(self, name: str, cell: str, line: int) -> str | None:
        """A version, once: `driver`, `driver_cuda` (the highest CUDA it serves), `gpu_firmware`."""
        found = version(cell)
        if found is not None and (name, found) not in self._versions:
            self._versions.add((name, found))
            self._put("software", line, name=name, version=found)
        return found

    def add(self, block: Block, *, driver: str | None = None, time: float | None = None) -> None:
        for cell, line in block.facts.values():
            if (said := error_of(cell)) is not None:
                self._errors.setdefault(said, []).append(line)
        bus = bus_id_of(block.bus or block.cell("pci.bus_id"))
        self._identity(block, bus, driver)
        self.readings.add(block.facts, gpu=block.gpu, bus_id=bus, time=time)
        self._link(block, bus)
        self._clocks(block, bus)
        if events := event_rows(block.facts, self.source, block.gpu, bus):
            self.rows.setdefault("clock_events", []).extend(events)
        if lines := [block.facts[n][1] for _, n in _FABRIC if n in block.facts]:
            told = {column: text_of(block.cell(name)) for column, name in _FABRIC}
            self._put("fabric", lines[0], gpu=block.gpu, **told, bus_id=bus)
        for process in block.processes:
            self.process(process, block.gpu, bus)

    def process(self, p: Process, gpu: int | None, bus: str | None) -> None:
        self._put(
            "gpu_processes", p.line, gpu=gpu, pid=p.pid, kind=p.kind, memory_bytes=_bytes(p.memory),
            bus_id=bus, gpu_instance=p.instance, sm=None, mem=None, time=None, second=None,
        )  # fmt: skip

    def lost(self, line: int, text: str, gpu: int | None, bus: str | None) -> None:
        self._put("lost_gpus", line, gpu=gpu, bus_id=bus, text=text.strip()[:240])

    def tables(self) -> dict[str, list[Row]]:
        found = {"devices": self.devices.rows} | self.rows | self.readings.tables()
        return {name: rows for name, rows in found.items() if rows}

    def problems(self) -> list[str]:
        return [f"{place(lines)}: nvidia-smi says {said}: no value" for said, lines in self._errors.items()]

    def _identity(self, block: Block, bus: str | None, driver: str | None) -> None:
        cell = block.cell
        if not (bus or cell("name") or cell("compute_cap")):
            return
        name = None if error_of(cell("name")) else name_of(cell("name"))
        cc, part = cell("compute_cap"), text_of(cell("gpu_part_number"))
        ids = device_id(cell("pci.device_id"))
        cc_known = cc if number(cc, "") is not None and "." in cc else None
        if not (name or bus or cc_known):
            return
        mig = flag(cell("mig.mode.current"))
        model = cell("driver_model.current").strip().upper()
        self.devices.add(
            block.line,
            gpu=block.gpu,
            name=name,
            bus_id=bus,
            cc=cc_known,
            memory_bytes=_bytes(cell("memory.total")),
            driver=driver or version(cell("driver_version")),
            key=cell("uuid"),
            part_number=part,
            device_id=ids,
            uuid_seen=True if text_of(cell("uuid")) else None,
            mig=mig,
            mig_devices=block.mig_devices or None,
            ecc=flag(cell("ecc.mode.current")),
            driver_model=model if model in _MODELS else None,
        )

    def _link(self, block: Block, bus: str | None) -> None:
        facts = block.facts
        line = next((facts[name][1] for _, name in _LINK if name in facts), 0)
        if line:
            told = {column: whole(block.cell(name)) for column, name in _LINK}
            self._put("pcie_links", line, gpu=block.gpu, bus_id=bus, **told, loaded=_loaded(block))

    def _clocks(self, block: Block, bus: str | None) -> None:
        for name, now, top in _CLOCKS:
            line = (block.facts.get(now) or block.facts.get(top) or ("", 0))[1]
            if line:
                current, most = number(block.cell(now), "MHz"), number(block.cell(top), "MHz")
                self._put(
                    "clocks", line, gpu=block.gpu, name=name,
                    current_mhz=current, max_mhz=most, bus_id=bus,
                )  # fmt: skip

    def _put(self, table: str, line: int, **cells: object) -> None:
        if table in _ONCE:  # a loop says these again and again
            key = (table, *cells.values())
            if key in self._said:
                return
            self._said.add(key)
        self.rows.setdefault(table, []).append({"input": self.source, "line": line} | cells)


def not_all_shown(line: int, attached: int, shown: int) -> str:
    """The problem of an output that leaves GPUs out: position in it is no index."""
    return f"line {line}: {attached} GPUs attached, {shown} shown: their nvidia-smi index is not told"


def _bytes(cell: str) -> int | None:
    return mebibytes(cell) if "MiB" in cell else None


def _loaded(block: Block) -> bool | None:
    """Busy in the same reading. nvidia-smi itself can show 100 % on a GPU that holds nothing: unknown."""
    busy = number(block.cell("utilization.gpu"), "%")
    if busy is None or (busy > 0 and number(block.cell("memory.used"), "MiB") == 0):
        return None
    return busy > 0
