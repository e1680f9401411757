"""GPUs of the samples: the facts TARGET_INFO_GPU holds, and the rates the timelines use.

Limits (shared memory, registers, warps) are those real exports print for the same chip or, for H100, L40S
and GH200, the values of the CUDA programming guide's compute-capability table. Memory sizes are what CUDA
reports (they vary a little from board to board, so nothing should compare them exactly).
"""

from __future__ import annotations

from dataclasses import dataclass

ZERO_UUID = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True)
class Gpu:
    """One GPU model."""

    name: str
    chip: str
    cc: tuple[int, int]
    sms: int
    memory: int
    bandwidth: int  # bytes/s
    clock: int  # Hz
    l2: int
    shared_optin: int
    shared_sm: int
    warps: int
    blocks: int
    engines: int


A100_SXM = Gpu(
    "NVIDIA A100-SXM4-80GB",
    "GA100",
    (8, 0),
    108,
    85095874560,
    2039040000000,
    1410000000,
    41943040,
    166912,
    167936,
    64,
    32,
    3,
)
A100_PCIE = Gpu(
    "NVIDIA A100 80GB PCIe",
    "GA100",
    (8, 0),
    108,
    85094694912,
    1935360000000,
    1410000000,
    41943040,
    166912,
    167936,
    64,
    32,
    3,
)
H100 = Gpu(
    "NVIDIA H100 80GB HBM3",
    "GH100",
    (9, 0),
    132,
    85029158912,
    3352320000000,
    1980000000,
    52428800,
    232448,
    233472,
    64,
    32,
    3,
)
GH200 = Gpu(
    "NVIDIA GH200 480GB",
    "GH100",
    (9, 0),
    132,
    102005473280,
    4022784000000,
    1980000000,
    62914560,
    232448,
    233472,
    64,
    32,
    3,
)
L40S = Gpu(
    "NVIDIA L40S",
    "AD102",
    (8, 9),
    142,
    47697362944,
    864096000000,
    2520000000,
    100663296,
    101376,
    102400,
    48,
    24,
    2,
)
T4 = Gpu(
    "Tesla T4", "TU104", (7, 5), 40, 15637086208, 320064000000, 1590000000, 4194304, 65536, 65536, 32, 16, 3
)


def bus_id(ordinal: int) -> str:
    """A plain bus location, one root per GPU."""
    return f"0000:{(0x17, 0x3B, 0x86, 0xAF)[ordinal % 4]:02x}:00.0"


def info_row(gpu: Gpu, ordinal: int, vm: int) -> dict[str, object]:
    """The TARGET_INFO_GPU row (the shape with compute capability)."""
    return {
        "vmId": vm,
        "id": ordinal,
        "name": gpu.name,
        "busLocation": bus_id(ordinal),
        "isDiscrete": 1,
        "l2CacheSize": gpu.l2,
        "totalMemory": gpu.memory,
        "memoryBandwidth": gpu.bandwidth,
        "clockRate": gpu.clock,
        "smCount": gpu.sms,
        "pwGpuId": ordinal,
        "uuid": ZERO_UUID,
        "luid": 0,
        "chipName": gpu.chip,
        "cuDevice": ordinal,
        "ctxswDevPath": "",
        "ctrlDevPath": "",
        "revision": 161,
        "nodeMask": 0,
        "constantMemory": 65536,
        "maxIPC": 4,
        "maxRegistersPerBlock": 65536,
        "maxShmemPerBlock": 49152,
        "maxShmemPerBlockOptin": gpu.shared_optin,
        "maxShmemPerSm": gpu.shared_sm,
        "maxRegistersPerSm": 65536,
        "threadsPerWarp": 32,
        "asyncEngines": gpu.engines,
        "maxWarpsPerSm": gpu.warps,
        "maxBlocksPerSm": gpu.blocks,
        "maxThreadsPerBlock": 1024,
        "maxBlockDimX": 1024,
        "maxBlockDimY": 1024,
        "maxBlockDimZ": 64,
        "maxGridDimX": 2147483647,
        "maxGridDimY": 65535,
        "maxGridDimZ": 65535,
        "computeMajor": gpu.cc[0],
        "computeMinor": gpu.cc[1],
        "smMajor": gpu.cc[0],
        "smMinor": gpu.cc[1],
    }
