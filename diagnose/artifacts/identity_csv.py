"""Who the GPUs are, from `nvidia-smi --query-gpu=… --format=csv` (and the compute-apps query)."""

from __future__ import annotations

import re

from diagnose.artifacts.base import Row, Section
from diagnose.artifacts.devices import DeviceRows, bus_id_of, mebibytes, name_of
from diagnose.artifacts.starts import is_query_header

_CC = re.compile(r"[0-9]{1,2}\.[0-9]\Z")
_DRIVER = re.compile(r"[0-9]{3}(?:\.[0-9]{1,4}){1,2}\Z")
_GPU = re.compile(r"[0-9]{1,3}\Z")
_NAMES = {"gpu_name": "name", "gpu_bus_id": "pci.bus_id", "gpu_uuid": "uuid", "gpu_index": "index"}
_WANTED = frozenset(("index", "name", "pci.bus_id", "uuid", "compute_cap", "memory.total", "driver_version"))


def from_query(section: Section) -> list[Row]:
    """One row for each GPU the cells tell apart (index, bus id or UUID; the UUID itself is not kept).

    nvidia-smi prints canonical field names whatever alias was asked; loops print the header again.
    """
    devices = DeviceRows(section.input)
    columns: dict[str, int] = {}
    size = 0
    in_mebibytes = False
    for line in section.lines:
        text = line.text.strip()
        if is_query_header(text):
            fields = [f.strip() for f in text.split(",")]
            names = [_NAMES.get(f.split(" ")[0], f.split(" ")[0]) for f in fields]
            columns = {name: at for at, name in enumerate(names) if name in _WANTED}
            in_mebibytes = "memory.total [MiB]" in fields
            size = len(fields)
            continue
        cells = [cell.strip() for cell in text.split(",")]
        if not columns or len(cells) != size:
            continue
        told = {name: cells[at] for name, at in columns.items()}
        name, bus = name_of(told.get("name", "")), bus_id_of(told.get("pci.bus_id", ""))
        cc, driver = told.get("compute_cap", ""), told.get("driver_version", "")
        memory = told.get("memory.total", "")
        if not in_mebibytes and "MiB" not in memory:
            memory = ""
        row = {
            "gpu": int(told["index"]) if _GPU.match(told.get("index", "")) else None,
            "cc": cc if _CC.match(cc) else None,
            "driver": driver if _DRIVER.match(driver) else None,
        }
        if name or bus or row["cc"]:
            devices.add(
                line.number,
                gpu=row["gpu"] if isinstance(row["gpu"], int) else None,
                name=name,
                bus_id=bus,
                cc=row["cc"] if isinstance(row["cc"], str) else None,
                memory_bytes=mebibytes(memory),
                driver=row["driver"] if isinstance(row["driver"], str) else None,
                key=told.get("uuid", ""),
            )
    return devices.rows
