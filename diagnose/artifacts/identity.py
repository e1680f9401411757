"""Who the GPUs are, from outputs whose other values are not read yet. Each function gives `devices` rows.

Only names, bus ids, memory sizes, compute capability and the driver are taken: verdicts need to know which
GPU they speak of even when the rest of an artifact has no reader.
"""

from __future__ import annotations

import re

from diagnose.artifacts.base import Row, Section
from diagnose.artifacts.devices import DeviceRows, bus_id_of, mebibytes, name_of
from diagnose.artifacts.gpu_lines import gpu_line

_LONG = 400  # rows of these outputs are far shorter

_TABLE_DRIVER = re.compile(r"\| NVIDIA-SMI \S+\s+(?:Driver|KMD) Version: ([0-9][0-9.]*)\s")
_TABLE_NAME = re.compile(
    r"\|\s{1,8}([0-9]{1,3})  ?(\S.{0,60}?) {1,40}(?:On|Off|WDDM|TCC|MCDM|N/A) {0,4}\| *"
    r"([0-9A-Fa-f]{4,8}:[0-9A-Fa-f:.]{7}) "
)
_TABLE_MEMORY = re.compile(r"[0-9]{1,9}MiB */ *([0-9]{1,9})MiB")


def from_smi_table(section: Section) -> list[Row]:
    """Main table: index, name (may end in `...`), bus id, and total memory from the line under it."""
    devices = DeviceRows(section.input)
    driver: str | None = None
    held: tuple[int, int, str | None, str | None] | None = None

    def put(memory: int | None) -> None:
        if held is not None:
            at, gpu, name, bus = held
            devices.add(at, gpu=gpu, name=name, bus_id=bus, memory_bytes=memory, driver=driver)

    for line in section.lines:
        text = line.text
        if len(text) > _LONG or "|" not in text:
            continue
        if match := _TABLE_DRIVER.search(text):
            driver = match.group(1)
        elif match := _TABLE_NAME.match(text.lstrip()):
            put(None)
            held = (line.number, int(match.group(1)), name_of(match.group(2)), bus_id_of(match.group(3)))
        elif held is not None and (match := _TABLE_MEMORY.search(text)):
            put(int(match.group(1)) * 1024 * 1024)
            held = None
        elif "Processes:" in text or "MIG devices:" in text:
            put(None)
            held = None
    put(None)
    return devices.rows


def from_gpu_lines(section: Section) -> list[Row]:
    """`nvidia-smi -L` and the list in collect_env: index and name."""
    devices = DeviceRows(section.input)
    for line in section.lines:
        if heading := gpu_line(line.text):
            devices.add(line.number, gpu=heading[0], name=name_of(heading[1]))
    return devices.rows


_Q_GPU = re.compile(r"\s*GPU ([0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\s*$")
_Q_LEAF = re.compile(r"(\s*)([A-Za-z][\w ./()-]{0,60}?)\s* : (.{0,200})")


def from_smi_q(section: Section) -> list[Row]:
    """`-q`: product name, bus id, framebuffer total. The index only when every attached GPU is listed:
    blocks stand in nvidia-smi's order but carry no number."""
    blocks: list[dict[str, str | int]] = []
    driver: str | None = None
    attached: int | None = None
    group = ""
    for line in section.lines:
        text = line.text
        if len(text) > _LONG:
            continue
        if match := _Q_GPU.match(text):
            blocks.append({"line": line.number, "bus": match.group(1)})
            group = ""
        elif match := _Q_LEAF.match(text):
            leaf, value = match.group(2), match.group(3).strip()
            if leaf in ("Driver Version", "KMD Version"):
                driver = driver or (value.split() or [""])[0] or None
            elif leaf == "Attached GPUs" and value.isdigit():
                attached = int(value[:6])
            elif leaf == "Product Name" and blocks:
                blocks[-1].setdefault("name", value)
            elif leaf == "Total" and group == "FB Memory Usage" and blocks:
                blocks[-1].setdefault("memory", value)
        elif text.strip():
            group = text.strip()
    numbered = attached == len(blocks)
    devices = DeviceRows(section.input)
    for index, block in enumerate(blocks):
        devices.add(
            int(block["line"]),
            gpu=index if numbered else None,
            name=name_of(str(block.get("name", ""))),
            bus_id=bus_id_of(str(block["bus"])),
            memory_bytes=mebibytes(str(block.get("memory", ""))),
            driver=driver,
        )
    return devices.rows


def from_proc(section: Section) -> list[Row]:
    """/proc/driver/nvidia/gpus/*/information: `Model` and `Bus Location`; blocks begin at `Model`.

    `Device Minor` numbers device files and is not nvidia-smi's index; `Bus Type` does not tell SXM from PCIe.
    """
    devices = DeviceRows(section.input)
    model: tuple[int, str | None] | None = None
    bus: str | None = None
    for line in section.lines:
        key, _, value = line.text.strip().partition(":")
        if key == "Model":
            if model is not None:
                devices.add(model[0], name=model[1], bus_id=bus)
            model, bus = (line.number, name_of(value)), None
        elif key == "Bus Location":
            bus = bus_id_of(value)
    if model is not None:
        devices.add(model[0], name=model[1], bus_id=bus)
    return devices.rows


_XML = re.compile(
    r"\s*<(gpu id|product_name|total|driver_version|fb_memory_usage|attached_gpus)\b[=\">]*([^<\"]{0,120})"
)


def from_xml(section: Section) -> list[Row]:
    """`-q -x`: as `-q`. The first framebuffer total of a GPU is taken unless it lies in a MIG device."""
    devices = DeviceRows(section.input)
    blocks: list[dict[str, str | int]] = []
    driver = attached = None
    in_framebuffer = in_mig = False
    for line in section.lines:
        text = line.text
        in_mig = ("<mig_device>" in text or in_mig) and "</mig_device>" not in text
        in_framebuffer = in_framebuffer and "</fb_memory_usage>" not in text
        if len(text) > _LONG or in_mig or not (match := _XML.match(text)):
            continue
        tag, value = match.groups()
        if tag == "gpu id":
            blocks.append({"line": line.number, "bus": value})
        elif tag == "driver_version":
            driver = value or None
        elif tag == "attached_gpus":
            attached = int(value) if re.fullmatch(r"[0-9]{1,4}", value) else None
        elif tag == "fb_memory_usage":
            in_framebuffer = True
        elif blocks and tag == "product_name":
            blocks[-1].setdefault("name", value)
        elif blocks and tag == "total" and in_framebuffer:
            blocks[-1].setdefault("memory", value)
    for index, block in enumerate(blocks):
        devices.add(
            int(block["line"]),
            gpu=index if attached == len(blocks) else None,
            name=name_of(str(block.get("name", ""))),
            bus_id=bus_id_of(str(block["bus"])),
            memory_bytes=mebibytes(str(block.get("memory", ""))),
            driver=driver,
        )
    return devices.rows
