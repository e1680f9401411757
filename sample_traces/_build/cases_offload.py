"""offload-pcie-bound: weights streamed to the GPU in every pass."""

from __future__ import annotations

from pathlib import Path

from .case import Case, Facts, trace_only
from .devices import A100_SXM, GH200, H100
from .kernels import K
from .measure import Measured
from .timeline import HTOD, MIB, MS, PAGEABLE, PINNED, US, Process
from .trace import Trace

SIGNATURE = "offload-pcie-bound"
LAYER = (("attention", 67108864, 4), ("mlp", 201326592, 3))  # weight sizes of one decoder layer in BF16


def measure(path: Path, devices: int = 1) -> tuple[Facts, Facts]:
    """Copy and busy facts of every device."""
    m = Measured(path)
    for device in range(devices):
        m.busy(device)
        m.copies("htod", MIB, device)
    return m.result()


def _layer(p: Process, rate: float, work: float, sizes: tuple[tuple[str, int, int], ...] = LAYER) -> None:
    """One layer: its weights come in, then its kernels run (they wait for the weights on the same stream)."""
    for block, size, count in sizes:
        for place in range(count):
            if place == 0:
                p.copy(HTOD, 8192, rate)
            p.copy(HTOD, size, rate)
            if place in (1, count - 1):
                p.launch(K["bf16_nvjet_small"], 38 * US * work)
                p.launch(K["bf16_nvjet_small"], 33 * US * work)
        p.launch(K["flash_decode"] if block == "attention" else K["silu_mul"], 26 * US * work)
        p.launch(K["add_bf16"], 4 * US * work)
    p.launch(K["rms_norm"], 5 * US * work)


def _offload(rate: float, work: float, layers: int, pause: float = 0.2) -> Trace:
    trace = Trace(
        "3.25.0", [H100, H100], "580.95.05", "13000", stderr="", stdout="rank 0: serving\nrank 1: serving\n"
    )
    for device in (0, 1):
        p = trace.process(4242 + device, 60 + device, device=device)
        p.now += device * 40 * US  # a capture range inside the steady state: no start-up in the window
        for number in range(layers):
            _layer(p, rate, work)
            if number % 8 == 7:
                p.sync("cudaStreamSynchronize_v3020", 7)
                p.think(pause * MS)
        p.sync("cudaStreamSynchronize_v3020", 7)
    return trace


def _gh200() -> Trace:
    trace = Trace("3.25.0", [GH200], "560.35.05", "12060")
    p = trace.process(4242, 66)
    p.create_context("cudaMalloc_v3020", p.around(120 * MS))
    for number in range(44):
        for _ in range(6):
            p.copy(HTOD, 1 << 30, 352.0)
            p.launch(K["bf16_nvjet_small"], 0.6 * MS)
        p.launch(K["flash_decode"], 0.4 * MS)
        p.launch(K["add_bf16"], 0.05 * MS)
        if number % 6 == 5:
            p.sync("cudaStreamSynchronize_v3020", 7)
    p.sync("cudaStreamSynchronize_v3020", 7)
    return trace


def model_load(seed: int, tokens: int, *, weights: int = 36, size: int = 268435456) -> Trace:
    """A model is loaded from pageable memory before the first kernel, then tokens are decoded."""
    trace = Trace("3.11.1", [A100_SXM], "550.54.15", "12040", stdout="loaded in 1.4 s\n")
    p = trace.process(4242, seed)
    p.create_context("cudaMalloc_v3020", p.around(230 * MS))
    for _ in range(weights):
        p.call("cudaMalloc_v3020", p.around(110 * US))
        p.copy(HTOD, size, 8.4, host=PAGEABLE)
        p.sync("cudaStreamSynchronize_v3020", 7)
        p.think(0.3 * MS)
    for _ in range(tokens):
        start = p.now
        for _ in range(6):
            p.launch(K["rms_norm"], 9 * US)
            p.launch(K["bf16_ampere"], 420 * US)
            p.launch(K["flash_decode"], 60 * US)
            p.launch(K["bf16_ampere"], 410 * US)
            p.launch(K["silu_mul"], 14 * US)
        p.copy(HTOD, 4096, 8.4, host=PINNED)
        p.sync("cudaStreamSynchronize_v3020", 7)
        p.range("decode", start)
    return trace


def cases() -> list[Case]:
    """The folders of this signature."""

    def of(name: str, verdict: str, why: str, trace: Trace, devices: int, cc: tuple[int, int]) -> Case:
        return Case(
            f"{SIGNATURE}/{name}",
            why,
            {SIGNATURE: verdict},
            trace_only(cc),
            trace,
            measure=lambda path: measure(path, devices),
        )

    two = {"nvlink-absent": "cannot_tell"}
    found = [
        of(
            "confirmed",
            "confirmed",
            "On each GPU HtoD copies of at least 1 MiB cover at least half of the window, kernels "
            "do not overlap them, and the list of sizes repeats with kernels between the copies.",
            _offload(27.7, 1.0, 34),
            2,
            (9, 0),
        ),
        of(
            "near-miss-copy-share",
            "absent",
            "As confirmed, but the copies cover 49 % of the window; step 1 asks for 50 %.",
            _offload(27.7, 82.0, 34, 32.0),
            2,
            (9, 0),
        ),
        of(
            "look-alike-model-load",
            "ruled_out",
            "All large copies start before the first kernel: a model load.",
            model_load(63, 20),
            1,
            (8, 0),
        ),
        of(
            "look-alike-gh200",
            "ruled_out",
            "A GH200 moves weights over NVLink-C2C at 350 GB/s, not over PCIe.",
            _gh200(),
            1,
            (9, 0),
        ),
    ]
    for case in found[:2]:
        case.others.update(two)
    return found
