"""fp8-unsupported-gpu: FP8 asked for on a GPU that has no FP8 units."""

from __future__ import annotations

from pathlib import Path

from . import texts
from .case import Case, Facts, Measure, text_only, trace_only
from .devices import A100_SXM
from .kernels import K
from .measure import Measured
from .timeline import HTOD, MIB, MS, PAGEABLE, US, Process
from .trace import Trace

SIGNATURE = "fp8-unsupported-gpu"
REFUSED = (
    "torch._scaled_mm is only supported on CUDA devices with compute capability >= 9.0 or 8.9, or ROCm MI300+"
)


def measure(path: Path) -> tuple[Facts, Facts]:
    """What follows the last FP8 quantise kernel, and that no FP8 GEMM ran."""
    m = Measured(path)
    m.busy(0)
    m.share("fp8_gemm")
    m.share("fp8_quantise")
    m.last("fp8_quantise")
    return m.result()


def marlin_facts(path: Path) -> tuple[Facts, Facts]:
    """Share of the weight-only FP8 kernels."""
    m = Measured(path)
    m.busy(0)
    m.share("fp8_gemm")
    m.share("fp8_weight_only")
    return m.result()


def _load(p: Process, count: int, size: int) -> None:
    for _ in range(count):
        p.copy(HTOD, size, 9.1, host=PAGEABLE)
        p.think(0.8 * MS)


def _bf16_step(p: Process, layers: int) -> None:
    for _ in range(layers):
        p.launch(K["rms_norm"], 12 * US)
        p.launch(K["bf16_ampere"], 640 * US)
        p.launch(K["flash"], 310 * US)
        p.launch(K["bf16_ampere"], 590 * US)
        p.launch(K["silu_mul"], 40 * US)
        p.launch(K["add_bf16"], 22 * US)
    p.sync("cudaStreamSynchronize_v3020", 7)


def _quantise(p: Process, tensors: int) -> None:
    for _ in range(tensors):
        p.launch(K["abs_bf16"], 31 * US)
        p.launch(K["amax"], 44 * US)
        p.launch(K["to_fp8"], 36 * US)
        p.think(120 * US)


def _refused(stderr: str) -> Trace:
    trace = Trace(
        "3.25.0",
        [A100_SXM],
        "550.54.15",
        "12040",
        stderr=stderr,
        stdout="loading checkpoint\nbf16 warm-up done\n",
    )
    p = trace.process(4242, 11)
    p.create_context("cudaMalloc_v3020", p.around(262 * MS))
    _load(p, 30, 48 * MIB)
    p.call("cudaMalloc_v3020", p.around(140 * US))
    for _ in range(8):
        _bf16_step(p, 14)
        p.think(52 * MS)
    p.copy(HTOD, 16384, 9.1)
    _quantise(p, 96)
    return trace


def _ends() -> Trace:
    trace = _refused(texts.traceback("infer.py", 41, "RuntimeError", REFUSED))
    p = trace.processes[0]
    p.think(3 * MS)
    p.sync("cudaDeviceSynchronize_v3020")
    p.call("cudaFree_v3020", p.around(310 * US))
    return trace


def _goes_on() -> Trace:
    trace = _refused("")
    p = trace.processes[0]
    p.launch(K["copy_layout"], 60 * US)  # the one kernel that separates this case from the confirmed one
    p.think(3 * MS)
    p.sync("cudaDeviceSynchronize_v3020")
    p.call("cudaFree_v3020", p.around(310 * US))
    return trace


def _marlin() -> Trace:
    trace = Trace(
        "3.11.1", [A100_SXM], "550.54.15", "12040", stderr=texts.MARLIN_WARNING, stdout=texts.VLLM_START
    )
    p = trace.process(4242, 13)
    p.create_context("cudaFree_v3020", p.around(241 * MS))
    _load(p, 8, 64 * MIB)
    for _ in range(66):
        start = p.now
        for _ in range(3):
            p.launch(K["rms_norm"], 7 * US)
            p.launch(K["marlin_fp8"], 1.9 * MS)
            p.launch(K["kv_write"], 5 * US)
            p.launch(K["flash_decode"], 210 * US)
            p.launch(K["marlin_fp8"], 1.6 * MS)
            p.launch(K["silu_mul"], 9 * US)
        p.copy(2, 2048, 9.1)
        p.sync("cudaStreamSynchronize_v3020", 7)
        p.range("execute_model", start)
    return trace


def cases() -> list[Case]:
    """The folders of this signature."""

    def traced(name: str, verdict: str, why: str, trace: Trace, facts: Measure = measure) -> Case:
        return Case(
            f"{SIGNATURE}/{name}", why, {SIGNATURE: verdict}, trace_only((8, 0)), trace, measure=facts
        )

    list_a100 = texts.smi_list("NVIDIA A100-SXM4-80GB", 2)
    return [
        traced(
            "confirmed",
            "confirmed",
            "An A100 (compute capability 8.0) ran FP8 quantise kernels, the process wrote the "
            "torch._scaled_mm refusal to stderr, and no FP8 GEMM is in the trace, which ends there.",
            _ends(),
        ),
        Case(
            f"{SIGNATURE}/confirmed-text-only",
            "The application log holds FP8 intent and the refusal, and nvidia-smi -L names "
            "A100s only: steps 1, 2 and 3(a).",
            {SIGNATURE: "confirmed"},
            text_only(),
            texts={"app.log": texts.app_log(REFUSED), "gpus.txt": list_a100},
        ),
        traced(
            "near-miss-kernel-follows",
            "absent",
            "As confirmed, but one more kernel runs after the last FP8 quantise and no "
            "text says why it ended: neither 3(a), 3(b) nor 3(c) holds.",
            _goes_on(),
        ),
        traced(
            "look-alike-marlin",
            "ruled_out",
            "vLLM runs FP8 weights as W8A16 through Marlin on Ampere: the log warns, and it works.",
            _marlin(),
            marlin_facts,
        ),
        Case(
            f"{SIGNATURE}/look-alike-invalid-argument",
            "invalid argument comes from custom_all_reduce with expandable segments; nothing asks for FP8.",
            {SIGNATURE: "absent"},
            text_only(),
            texts={
                "engine.log": texts.CUSTOM_ALL_REDUCE,
                "gpus.txt": texts.smi_list("NVIDIA A100-SXM4-80GB", 4),
            },
        ),
    ]
