"""nvlink-absent: an expected NVLink that is not there."""

from __future__ import annotations

from pathlib import Path

from . import texts
from .case import Case, Facts, Verdict, text_only, trace_only
from .devices import A100_PCIE
from .kernels import K
from .measure import Measured
from .timeline import HTOD, MS, US
from .trace import Trace

SIGNATURE = "nvlink-absent"
PCIE, SXM = "NVIDIA A100 80GB PCIe", "NVIDIA A100-SXM4-80GB"
BARE = [
    ["X", "NODE", "SYS", "SYS"],
    ["NODE", "X", "SYS", "SYS"],
    ["SYS", "SYS", "X", "NODE"],
    ["SYS", "SYS", "NODE", "X"],
]
BRIDGED = [
    ["X", "NV12", "SYS", "SYS"],
    ["NV12", "X", "SYS", "SYS"],
    ["SYS", "SYS", "X", "NV12"],
    ["SYS", "SYS", "NV12", "X"],
]
FULL = [["X" if i == j else "NV12" for j in range(4)] for i in range(4)]
SHARED = ["P2P/IPC", "SHM/direct/direct", "P2P/IPC", "SHM/direct/direct"]
TICKET = """\
Title: all_reduce of the new training node never returns

The node was ordered as an NVLink cluster with four A100. The first DDP step never finishes. The job sets
NCCL_P2P_LEVEL=NVL because the GPUs are connected by NVLink.
"""


def measure(path: Path) -> tuple[Facts, Facts]:
    """Collective time on every device."""
    m = Measured(path)
    for device in range(4):
        m.busy(device)
        m.share("nccl", device)
        m.add(
            "kernel_max_ns",
            {"family": "nccl"},
            max(k["end"] - k["start"] for k in m.kernels("nccl", device)),
            device=device,
        )
    return m.result()


def _dmon() -> str:
    """The hang picture: GPUs at 100 % with idle memory, little power and, soon, no PCIe traffic."""
    sweeps = []
    for second in range(24):
        rx = 640 if second < 4 else 0
        sweeps.append(
            [
                {
                    "pwr": 64 + (second * 3 + gpu) % 6,
                    "gtemp": 38,
                    "mtemp": 41,
                    "sm": 100,
                    "mem": 0,
                    "mclk": 1512,
                    "pclk": 1410,
                    "fb": 23110 + 4 * gpu,
                    "bar1": 6,
                    "rxpci": rx,
                    "txpci": rx - rx // 10,
                }
                for gpu in range(4)
            ]
        )
    return texts.dmon(sweeps)


def _hang() -> Trace:
    """Four ranks: a few quick collectives, then one that lasts until the watchdog ends the job."""
    trace = Trace("3.25.0", [A100_PCIE] * 4, "550.54.15", "12040", stdout="rank 0 of 4\n")
    for device in range(4):
        p = trace.process(4100 + 10 * device, 50 + device, device=device)
        p.create_context("cudaFree_v3020", p.around(320 * MS, 0.03))
        p.copy(HTOD, 262144, 22.0)
        for _ in range(9):
            for _ in range(4):
                p.launch(K["bf16_ampere"], 900 * US)
                p.launch(K["add_bf16"], 60 * US)
            p.launch(K["nccl_bf16"], 2.4 * MS, stream=20)
            p.sync("cudaStreamSynchronize_v3020", 20)
        for _ in range(3):
            p.call("cudaEventQuery_v3020", p.around(900), code=600)  # not ready: normal on a query
            p.think(1 * MS)
        p.launch(K["nccl_bf16"], 12_600 * MS, stream=20, sigma=0.001)
        p.sync("cudaStreamSynchronize_v3020", 20)
    return trace


def cases() -> list[Case]:
    """The folders of this signature."""
    inactive = texts.nvlink_status(PCIE, 4, 0)
    log = texts.nccl_log(SHARED, tail=texts.watchdog(4, 600000))
    # A log is there and asks for no FP8; a reader that takes no NCCL log as application output cannot tell.
    quiet: dict[str, Verdict] = {"fp8-unsupported-gpu": ["absent", "cannot_tell"]}
    # dmon shows flat memory and no PCIe traffic: enough to rule these out, if dmon counts as an input.
    flat: dict[str, Verdict] = {
        "async-pool-growth": ["cannot_tell", "ruled_out"],
        "um-prefetch-stall": ["cannot_tell", "ruled_out"],
    }
    confirmed = {
        "topology.txt": texts.topo(BARE),
        "links.txt": inactive,
        "job.log": log,
        "monitor.txt": _dmon(),
    }

    def text(name: str, verdict: str, why: str, files: dict[str, str], *others: dict[str, Verdict]) -> Case:
        merged = text_only()
        for more in others:
            merged.update(more)
        return Case(f"{SIGNATURE}/{name}", why, {SIGNATURE: verdict}, merged, texts=files)

    counters = texts.nvlink_counters(SXM, 4, 12, 0)
    twice = f"$ nvidia-smi nvlink -gt d\n{counters}\n$ nvidia-smi nvlink -gt d\n{counters}"
    traced = trace_only((8, 0))
    return [
        text(
            "confirmed-text-only",
            "confirmed",
            "topo -m shows no NV# between any pair, every NVLink is inactive, and the first "
            "all-reduce ran into the watchdog timeout over shared memory and PCIe.",
            confirmed,
            quiet,
            flat,
        ),
        Case(
            f"{SIGNATURE}/confirmed-with-trace",
            "As the text-only case, with a trace in which the last NCCL kernel runs for 12.6 s on every GPU.",
            {SIGNATURE: "confirmed"},
            traced,
            _hang(),
            dict(confirmed),
            measure,
        ),
        text(
            "probable-claim-only",
            "probable",
            "No NV# pair and no active link, and the job and the ticket claim NVLink, but no "
            "effect is measured.",
            {
                "topology.txt": texts.topo(BARE),
                "links.txt": inactive,
                "ticket.txt": TICKET,
                "job.log": texts.nccl_log([""] * 4, level="NVL"),
            },
            quiet,
        ),
        text(
            "near-miss-topo-mp",
            "cannot_tell",
            "As confirmed, but the matrix comes from topo -mp, which hides NVLink: the topology is unknown.",
            {**confirmed, "topology.txt": texts.topo(BARE, nvlink_legend=False)},
            quiet,
            flat,
        ),
        text(
            "topo-mp-only",
            "cannot_tell",
            "A topo -mp matrix hides NVLink and is the only file.",
            {"topology.txt": texts.topo(BARE, nvlink_legend=False)},
        ),
        text(
            "look-alike-bridged-pairs",
            "absent",
            "Two bridged pairs have NV12 and active links; SYS between the pairs is how such "
            "servers are built.",
            {
                "topology.txt": texts.topo(BRIDGED),
                "links.txt": texts.nvlink_status(PCIE, 4, 12),
                "job.log": texts.nccl_log(SHARED),
            },
            quiet,
        ),
        text(
            "look-alike-p2p-level-loc",
            "ruled_out",
            "NV12 between all pairs and NCCL_P2P_LEVEL=LOC in the environment explain the idle "
            "NVLink counters.",
            {
                "topology.txt": texts.topo(FULL),
                "links.txt": texts.nvlink_status(SXM, 4, 12),
                "counters.txt": twice,
                "job.log": texts.nccl_log(["SHM/direct/direct"] * 4, level="LOC"),
            },
            quiet,
        ),
    ]
