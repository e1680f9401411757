"""Healthy and half-visible runs: nothing may be confirmed or probable here."""

from __future__ import annotations

from pathlib import Path

from . import texts
from .case import Case, Facts, Verdict, trace_only
from .cases_casts import training
from .cases_offload import model_load
from .devices import A100_SXM, H100
from .kernels import K
from .measure import COPY, Measured
from .timeline import HTOD, MIB, MS, US
from .trace import Trace


def measure(path: Path) -> tuple[Facts, Facts]:
    """Size and load of the trace."""
    m = Measured(path)
    m.busy(0)
    if any(c["copyKind"] == COPY["htod"] for c in m.events["MEMCPY"]):
        m.copies("htod", MIB, 0)
    m.api_group("stream_sync")
    return m.result()


def graph_facts(path: Path) -> tuple[Facts, Facts]:
    """How much of the busy time the graphs hide."""
    m = Measured(path)
    hidden = sum(g["end"] - g["start"] for g in m.events["GRAPH_TRACE"])
    seen = sum(r["end"] - r["start"] for kind in ("KERNEL", "MEMCPY", "MEMSET") for r in m.events[kind])
    m.add("graphs_hidden_share", {}, hidden / (hidden + seen), near=0.01)
    m.api_group("graph_launch")
    return m.result()


def _decode() -> Trace:
    """BF16 decoding in steady state: the host waits in stream sync, and the GPU is busy while it does."""
    trace = Trace("3.25.0", [H100], "580.95.05", "13000", stdout="serving\n")
    p = trace.process(4242, 71)
    p.create_context("cudaMalloc_v3020", p.around(196 * MS))
    p.copy(HTOD, 2 * MIB, 24.0)
    for _ in range(46):
        start = p.now
        p.copy(HTOD, 8192, 24.0)
        for _ in range(4):
            p.launch(K["rms_norm"], 9 * US)
            p.launch(K["bf16_nvjet"], 2.1 * MS)
            p.launch(K["kv_write"], 5 * US)
            p.launch(K["flash_decode"], 260 * US)
            p.launch(K["bf16_nvjet"], 1.9 * MS)
            p.launch(K["silu_mul"], 12 * US)
        p.copy(2, 2048, 24.0)
        p.sync("cudaStreamSynchronize_v3020", 7)
        p.range("decode_step", start)
        p.think(0.7 * MS)
    return trace


def _idle() -> tuple[Trace, str]:
    """A service without requests: a heartbeat kernel now and then. Comes with a dmon log."""
    trace = Trace("2.9.1", [A100_SXM], "51586001", "11070", stdout="waiting for requests\n")
    p = trace.process(4242, 74)
    p.create_context("cudaFree_v3020", p.around(254 * MS))
    for _ in range(70):
        p.copy(HTOD, 4096, 18.0)
        p.launch(K["add_f32"], 40 * US)
        p.launch(K["mul_f32"], 38 * US)
        p.sync("cudaStreamSynchronize_v3020", 7)
        p.think(48 * MS)
    sweeps = [
        [
            {
                "pwr": 62 + n % 3,
                "gtemp": 33,
                "mtemp": 34,
                "sm": n % 2,
                "mem": 0,
                "mclk": 1593,
                "pclk": 1140,
                "fb": 1311,
                "bar1": 3,
                "rxpci": n % 3,
                "txpci": n % 2,
            }
        ]
        for n in range(20)
    ]
    return trace, texts.dmon(sweeps)


def _graphs() -> Trace:
    """Decoding in CUDA graphs, traced in mode Graph: one row a launch, the kernels are not in the trace."""
    trace = Trace("3.25.0", [H100], "580.95.05", "13000", stdout="graphs captured\n")
    p = trace.process(4242, 75)
    p.create_context("cudaMalloc_v3020", p.around(205 * MS))
    for _ in range(140):
        p.copy(HTOD, 8192, 24.0)
        p.launch(K["fill_f32"], 3 * US)
        p.graph_launch(8.4 * MS)
        p.launch(K["add_bf16"], 5 * US)
        p.sync("cudaStreamSynchronize_v3020", 7)
        p.think(0.2 * MS)
    return trace


def cases() -> list[Case]:
    """The folders of healthy/."""
    idle, monitor = _idle()
    start_up = model_load(73, 2, weights=26, size=201326592)
    hidden: dict[str, Verdict] = {"fp8-cast-storm": "cannot_tell", "offload-pcie-bound": "cannot_tell"}
    return [
        Case(
            "healthy/bf16-llm-decode",
            "Steady BF16 decoding: the GPU is busy while the host waits.",
            {},
            trace_only((9, 0)),
            _decode(),
            measure=measure,
        ),
        Case(
            "healthy/fp8-training-quantise",
            "FP8 training with TransformerEngine: quantise kernels before the GEMMs are part of it.",
            {"fp8-cast-storm": "absent"},
            trace_only((9, 0)),
            training(72, "3.11.1", 24, 5),
            measure=measure,
        ),
        Case(
            "healthy/start-up-only",
            "Context creation, a model load before the first kernel, and two first tokens.",
            {"offload-pcie-bound": "ruled_out"},
            trace_only((8, 0)),
            start_up,
            measure=measure,
        ),
        Case(
            "healthy/idle-gpu",
            "A GPU with nothing to do is not a fault.",
            {},
            trace_only((8, 0)),
            idle,
            {"monitor.txt": monitor},
            measure,
        ),
        Case(
            "healthy/cuda-graph-only",
            "Graph trace mode Graph hides the kernels, so kernel and copy metrics are unknown and nothing "
            "hidden is ever absent.",
            hidden,
            trace_only((9, 0)),
            _graphs(),
            measure=graph_facts,
        ),
    ]
