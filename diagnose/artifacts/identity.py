"""Who the GPUs are, from outputs whose other values are not read yet: rows of `devices`."""

from __future__ import annotations

from diagnose.artifacts.base import Row, Section
from diagnose.artifacts.devices import DeviceRows, name_of
from diagnose.artifacts.gpu_lines import gpu_line


def from_gpu_lines(section: Section) -> list[Row]:
    """`nvidia-smi -L` and the list in collect_env: index and name."""
    devices = DeviceRows(section.input)
    for line in section.lines:
        if heading := gpu_line(line.text):
            devices.add(line.number, gpu=heading[0], name=name_of(heading[1]))
    return devices.rows
