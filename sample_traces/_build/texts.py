"""Text artifacts in the layouts of nvidia-smi, NCCL, PyTorch and vLLM. All names and ids are neutral."""

from __future__ import annotations

LEGEND = {
    "X": "Self",
    "SYS": "Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)",
    "NODE": "Connection traversing PCIe as well as the interconnect between PCIe Host Bridges "
    "within a NUMA node",
    "PHB": "Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)",
    "PXB": "Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)",
    "PIX": "Connection traversing at most a single PCIe bridge",
    "NV#": "Connection traversing a bonded set of # NVLinks",
}
MARLIN_WARNING = (
    "(Worker_TP0 pid=4242) INFO 01-05 08:00:02 [default_loader.py:397] Loading weights took 6.10 seconds\n"
    "(Worker_TP0 pid=4242) WARNING 01-05 08:00:02 [marlin_utils_fp8.py:103] Your GPU does not have native "
    "support for FP8 computation but FP8 quantization is being used. Weight-only FP8 compression will be "
    "used leveraging the Marlin kernel. This may degrade performance for compute-heavy workloads.\n"
)
VLLM_START = (
    "INFO 01-05 08:00:00 config: model=example-8b, dtype=torch.bfloat16, quantization=fp8, "
    "kv_cache_dtype=auto\n"
)
CUSTOM_ALL_REDUCE = """\
INFO 01-05 08:00:00 config: model=example-70b, dtype=torch.bfloat16, tensor_parallel_size=4, quantization=None
INFO 01-05 08:00:01 env: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
Failed: Cuda error /workspace/csrc/custom_all_reduce.cuh:455 'invalid argument'
EngineCore failed to start: Worker proc VllmWorker-0 died unexpectedly
Traceback (most recent call last):
  File "serve.py", line 112, in <module>
    engine.start()
RuntimeError: CUDA error: invalid argument
CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be\
 incorrect.
For debugging consider passing CUDA_LAUNCH_BLOCKING=1
Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.
"""


def traceback(script: str, line: int, kind: str, message: str) -> str:
    """A short Python traceback."""
    return (
        "Traceback (most recent call last):\n"
        f'  File "{script}", line {line}, in <module>\n    out = model(batch)\n{kind}: {message}\n'
    )


def app_log(message: str) -> str:
    """Log of a PyTorch service that asks for FP8 and fails in its first forward."""
    return (
        "2026-01-05 08:00:01 INFO  torch 2.7.1+cu126, 2 visible GPUs\n"
        "2026-01-05 08:00:02 INFO  quantization=fp8 (float8_e4m3fn), compile mode=max-autotune\n"
        "2026-01-05 08:00:19 INFO  checkpoint loaded, 291 tensors\n"
        "2026-01-05 08:00:23 ERROR first forward failed\n"
        + traceback("serve.py", 88, "RuntimeError", message)
    )


def uuid(ordinal: int) -> str:
    """A neutral GPU uuid."""
    return f"GPU-00000000-0000-0000-0000-{ordinal + 1:012d}"


def heading(name: str, ordinal: int) -> str:
    """The line that names a GPU in `nvidia-smi -L` and `nvidia-smi nvlink`."""
    return f"GPU {ordinal}: {name} (UUID: {uuid(ordinal)})\n"


def smi_list(name: str, count: int) -> str:
    """`nvidia-smi -L`."""
    return "".join(heading(name, n) for n in range(count))


def topo(cells: list[list[str]], *, nvlink_legend: bool = True) -> str:
    """`nvidia-smi topo -m`; without the NV# line of the legend it is the output of `topo -mp`."""
    n = len(cells)
    head = "\t" + "\t".join(f"GPU{i}" for i in range(n)) + "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    rows = []
    for i, row in enumerate(cells):
        half = i * 2 // n
        tail = ("0-27,56-83" if half == 0 else "28-55,84-111") + f"\t{half}\t\tN/A\n"
        rows.append(f"GPU{i}\t" + "\t".join(" X " if i == j else c for j, c in enumerate(row)) + "\t" + tail)
    keys = [k for k in LEGEND if nvlink_legend or k != "NV#"]
    legend = "".join(f"  {k:<4} = {LEGEND[k]}\n" for k in keys)
    return head + "".join(rows) + "\nLegend:\n\n" + legend


def nvlink_status(name: str, count: int, links: int, *, rate: int = 25) -> str:
    """`nvidia-smi nvlink -s`; 0 links gives the sentence printed when no link is up."""
    out = ""
    for n in range(count):
        out += heading(name, n)
        if links == 0:
            out += "NVML: Unable to retrieve NVLink information as all links are inActive\n"
        out += "".join(f"\t Link {i}: {rate} GB/s\n" for i in range(links))
    return out


def nvlink_counters(name: str, count: int, links: int, kib: int) -> str:
    """`nvidia-smi nvlink -gt d`: one snapshot of the cumulative counters."""
    out = ""
    for n in range(count):
        out += heading(name, n)
        for i in range(links):
            out += f"\t Link {i}: Data Tx: {kib} KiB\n\t Link {i}: Data Rx: {kib} KiB\n"
    return out


def nccl_log(vias: list[str], *, level: str = "", nvls: int = 0, tail: str = "") -> str:
    """An NCCL INFO log of one node; vias[i] is the transport from rank i to the next rank."""
    n = len(vias)
    who = [f"host-1:{4100 + 10 * r}:{4200 + 10 * r} [{r}] NCCL INFO " for r in range(n)]
    out = "NCCL version 2.21.5+cuda12.4\n"
    for r in range(n):
        out += f"{who[r]}comm 0x55000000000{r} rank {r} nranks {n} cudaDev {r} nvmlDev {r} busId {r + 1}7000 "
        out += "commId 0x1111222233334444 - Init START\n"
    if level:
        out += f"{who[0]}NCCL_P2P_LEVEL set by environment to {level}\n"
    for channel in range(2):
        out += f"{who[0]}Channel {channel:02d}/02 :" + "".join(f"{r:5d}" for r in range(n)) + "\n"
    for r, via in enumerate(vias):
        for channel in range(2) if via else ():
            out += f"{who[r]}Channel {channel:02d}/0 : {r}[{r}] -> {(r + 1) % n}[{(r + 1) % n}] via {via}\n"
    out += f"{who[0]}Connected all rings\n{who[0]}Connected all trees\n"
    out += f"{who[0]}2 coll channels, 0 collnet channels, {nvls} nvls channels, 2 p2p channels, "
    out += "2 p2p channels per peer\n"
    return out + tail


def watchdog(ranks: int, timeout_ms: int) -> str:
    """The ProcessGroupNCCL watchdog message of every rank, for the first collective."""
    return "".join(
        f"[rank{r}]:[E105 08:20:11.4082712{r:02d} ProcessGroupNCCL.cpp:616] [Rank {r}] Watchdog caught "
        f"collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, NumelIn=25557032, "
        f"NumelOut=25557032, Timeout(ms)={timeout_ms}) ran for {timeout_ms + 84 + 3 * r} "
        "milliseconds before timing out.\n"
        for r in range(ranks)
    )


def dmon(rows: list[list[dict[str, int]]]) -> str:
    """`nvidia-smi dmon -s pucvmt -o DT`: a list per second, a row per GPU, the header every 44 rows."""
    names = [
        "pwr",
        "gtemp",
        "mtemp",
        "sm",
        "mem",
        "enc",
        "dec",
        "jpg",
        "ofa",
        "mclk",
        "pclk",
        "pviol",
        "tviol",
        "fb",
        "bar1",
        "ccpm",
        "rxpci",
        "txpci",
    ]
    units = [
        "W",
        "C",
        "C",
        "%",
        "%",
        "%",
        "%",
        "%",
        "%",
        "MHz",
        "MHz",
        "%",
        "bool",
        "MB",
        "MB",
        "MB",
        "MB/s",
        "MB/s",
    ]
    head = "#Date       Time        gpu" + "".join(f"{c:>7}" for c in names) + " \n"
    head += "#YYYYMMDD   HH:MM:SS    Idx" + "".join(f"{u:>7}" for u in units) + " \n"
    out, count = "", 0
    for second, sweep in enumerate(rows):
        clock = f"{8 + second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
        for gpu, row in enumerate(sweep):
            if count % 44 == 0:
                out += head
            count += 1
            out += f" 20260105   {clock}  {gpu:>5}" + "".join(f"{row.get(c, 0):>7}" for c in names) + " \n"
    return out
