"""Hand-made reports: every number in them is invented, every field is filled somewhere."""

from __future__ import annotations

from dataclasses import replace

from diagnose.findings import (
    Capture,
    CoverageNote,
    Device,
    Exhibit,
    ExhibitRow,
    Fact,
    Finding,
    Input,
    Remedy,
    Report,
    RuleOut,
    ScopeRef,
    Step,
    Threshold,
    TimeShare,
    TraceInfo,
)

H100 = "NVIDIA H100 80GB HBM3"
W = 61_400_000_000
CAST = (
    "void at::native::vectorized_elementwise_kernel<4, "
    "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const"
    "::{lambda()#7}::operator()() const::{lambda(float)#1}, "
    "std::array<char*, 2ul> >(int, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&))"
)
GEMM = (
    "sm90_xmma_gemm_e4m3e4m3_e4m3f32_f32_tn_n_tilesize128x128x128"
    "_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas"
)

INPUTS = (
    Input("run_0412.sqlite", "nsys-sqlite", "9f2c41ab" * 8, 1_610_612_736, 1_245_306),
    Input("dmon_0412.log", "dmon", "02be77d0" * 8, 4_321, 62, ("2 rows cut off in the middle",)),
)


def devices(n: int = 2) -> tuple[Device, ...]:
    return tuple(
        Device(i, H100, f"0000:{17 + i}:00.0", "9.0", 85_520_809_984, 132, used=True) for i in range(n)
    )


def trace(**changes: object) -> TraceInfo:
    base = TraceInfo(
        product="NVIDIA Nsight Systems 2025.3.1",
        schema_version="3.20.0",
        window_start_ns=1_204_113_882,
        window_end_ns=1_204_113_882 + W,
        devices=devices(),
        driver="550.127.05",
        cuda_driver="12.4",
        start_utc="2026-04-12 03:07:21",
        start_local="2026-04-12 05:07:21 +02:00",
        kernels=412_806,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def gpu(i: int) -> ScopeRef:
    return ScopeRef("device", device=i, device_name=H100, bus_id=f"0000:{17 + i}:00.0")


RUN = ScopeRef("run")
FOLLOW = Threshold("min_follow", 0.5, "half of the GEMMs: a mere coincidence stays below a tenth")
SHARE = Threshold("min_cast_share", 0.05, "below this the casts are not worth a change")
GEMMS = Threshold("min_gemms", 100)
GEMM_SHARE = Threshold("min_gemm_share", 0.05)
P99 = Threshold("min_p99", 3.0, overridden=True)


def _pairs(device: int) -> tuple[ExhibitRow, ...]:
    path = "decode > layer 12 > mlp.down_proj"
    return tuple(
        ExhibitRow(
            41_902_113_004 + k * 1_733_901,
            1_284_000 - k * 91_000,
            CAST,
            device=device,
            stream=7,
            pid=4711,
            range_path=path,
            detail=f"after {412 + k} µs of GEMM",
        )
        for k in range(6)
    )


def cast_storm(i: int = 0, lost_s: float = 22.7) -> Finding:
    busy = 58.9e9 - i * 1e9
    src = f"run_0412.sqlite, kernels, whole window, GPU {i}"
    return Finding(
        signature="fp8-cast-storm",
        version=3,
        title="FP8 GEMMs whose results are cast to FP32 (cast storm)",
        status="stable",
        summary="Nearly every FP8 GEMM is followed on its stream by a kernel that casts its result to FP32. "
        "The casts are short but there are thousands of them, and each one waits behind its GEMM.",
        scope=gpu(i),
        verdict="confirmed",
        severity="critical",
        steps=(
            Step(
                "fp8_gemms",
                "gate",
                "mechanism",
                True,
                "18,377 FP8 GEMMs take 41.8% of kernel time",
                "gemm_share >= min_gemm_share AND gemm_n >= min_gemms",
                (
                    Fact("gemm_share", 0.418, "ratio", "kernel_time_share", src, 24.6202e9, busy, "ns"),
                    Fact("gemm_n", 18_377, "count", "kernel_count", src),
                ),
                (GEMM_SHARE, GEMMS),
                8.36,
            ),
            Step(
                "casts_follow",
                "cause",
                "cause",
                True,
                "99% of FP8 GEMMs are followed on their stream by a cast to FP32",
                "followed >= min_follow",
                (Fact("followed", 0.9906, "ratio", "kernel_followed_by", src, 18_204, 18_377, "count"),),
                (FOLLOW,),
                1.98,
            ),
            Step(
                "casts_cost",
                "effect",
                "symptom",
                True,
                "the casts take 38.6% of kernel time",
                "cast_share >= min_cast_share",
                (Fact("cast_share", 0.386, "ratio", "matched_time_share", src, lost_s * 1e9, busy, "ns"),),
                (SHARE,),
                7.72,
            ),
            Step(
                "tail",
                "support",
                "symptom",
                None,
                "decode step p99 / p50 is unknown",
                "p99 >= min_p99",
                (
                    Fact(
                        "p99",
                        None,
                        "ratio",
                        "step_p99_ratio",
                        "",
                        why_unknown="the trace holds no NVTX ranges",
                        missing=("ranges",),
                    ),
                ),
                (P99,),
                None,
                missing=("ranges",),
            ),
            Step(
                "quiet",
                "context",
                "cause",
                False,
                "FP8 was asked for in the log",
                "asked_text > 0",
                (Fact("asked_text", 0, "count", "text_hits", "dmon_0412.log"),),
            ),
        ),
        rule_outs=(
            RuleOut(
                "towards_fp8",
                False,
                "the casts go towards FP8: ordinary quantisation",
                "q",
                "fp8-unfused-quantise",
            ),
            RuleOut("warm_up", None, "the casts happen only before the first step", "w", missing=("ranges",)),
        ),
        exhibits=(Exhibit("pairs with the longest cast (times: the trace's own clock)", _pairs(i)),),
        captures=(
            Capture("NVTX ranges of the steps", "nsys profile --trace=cuda,nvtx -o run python serve.py"),
        ),
        missing=("ranges",),
        remedies=(
            Remedy(
                "Keep the GEMM's output in BF16: pass out_dtype=torch.bfloat16 "
                "where the FP8 linear layer is built.",
                "diagnose compare before.sqlite after.sqlite: casts_cost falls below its limit",
                "PyTorch: torch._scaled_mm and what calls it",
                "PyTorch source, torch/_meta_registrations.py",
                "https://github.com/pytorch/pytorch",
            ),
            Remedy(
                "Find the operation behind the GEMM that demands FP32 (a norm, a residual add) "
                "and let it take BF16.",
                "diagnose compare before.sqlite after.sqlite: casts_cost falls below its limit",
            ),
        ),
        lost_ns=lost_s * 1e9,
        window_ns=W,
        bound="removing the matched casts saves at most this much on that stream",
        explains=("launch-bound",),
        flips=(
            "casts_follow: fewer than 50% of the FP8 GEMMs followed by a cast (measured 99.1%)",
            "casts_cost: casts below 5% of kernel time (measured 38.6%)",
        ),
        blind_spots="Casts fused into another kernel are not seen; "
        "a CUDA graph traced as a whole hides all kernels.",
    )


PAGEABLE = Finding(
    signature="pageable-copies",
    version=1,
    title="Host-to-device copies from pageable memory",
    status="stable",
    summary="Large copies start in pageable host memory, so the driver stages them through a pinned buffer "
    "and the copy cannot overlap with the host's next launch.",
    scope=gpu(0),
    verdict="probable",
    severity="medium",
    reason="the source memory kind is known for 61% of the copied bytes only",
    steps=(
        Step(
            "copies",
            "gate",
            "mechanism",
            True,
            "612 copies of 1 MiB or more",
            "n >= 100 AND big >= 1048576",
            (Fact("n", 612, "count", "copy_count"), Fact("big", 1_048_576, "bytes", "copy_bytes")),
            (),
            6.12,
        ),
        Step(
            "exposed",
            "effect",
            "symptom",
            True,
            "2.4 s of copies with no kernel running",
            "exposed > 1e9",
            (Fact("exposed", 2.4e9, "ns", "copy_exposed_ns", low=2.35e9, high=2.45e9),),
            (),
            2.4,
        ),
    ),
    captures=(
        Capture("memory kinds", "nsys profile --trace=cuda --cuda-memory-usage=true -o run python serve.py"),
    ),
    remedies=(Remedy("Allocate the staging tensors with pin_memory=True and copy with non_blocking=True."),),
    lost_ns=2.4e9,
    window_ns=W,
)


def other(signature: str, verdict: str, reason: str = "", **changes: object) -> Finding:
    base = Finding(signature, 1, signature.replace("-", " "), "stable", "", RUN, verdict, "info", reason)  # type: ignore[arg-type]
    return replace(base, **changes)  # type: ignore[arg-type]


LAUNCH = other(
    "launch-bound",
    "probable",
    severity="medium",
    folded_under="fp8-cast-storm",
    scope=gpu(0),
    title="The GPU waits for kernel launches",
    lost_ns=1.9e9,
    window_ns=W,
)
TOPO = Capture("the topology of the GPUs", "nvidia-smi topo -m > topo.txt", "on the node, beside the trace")
REST = (
    other("fp8-unfused-quantise", "ruled_out", "the casts go away from FP8, not towards it"),
    other("async-pool-growth", "absent", "no stream-ordered allocation was made"),
    other("um-prefetch-stall", "absent", "no managed memory moved"),
    other("kv-preemption", "absent", "no such line in the log"),
    other("nvlink-absent", "cannot_tell", "", missing=("gpu_pairs",), captures=(TOPO,)),
    other("nvlink-down", "cannot_tell", "", missing=("nvlinks",), captures=(TOPO,)),
    other(
        "gpu-fell-off-bus",
        "cannot_tell",
        "no kernel log was given",
        missing=("kernel_log",),
        captures=(Capture("kernel log", "sudo dmesg -T > dmesg.txt"),),
    ),
)
_SHARES = (
    ("GEMM", "fp8", 18_377, 0.418, GEMM),
    ("cast", "f32", 18_211, 0.386, CAST),
    ("attention", "bf16", 9_120, 0.091, "flash_fwd_splitkv_kernel"),
    ("norm", "bf16", 18_240, 0.047, "rms_norm_kernel"),
    ("activation", "bf16", 9_120, 0.031, "act_and_mul_kernel"),
    ("copy", "", 4_000, 0.012, "k1"),
    ("sampling", "f32", 612, 0.009, "k2"),
    ("reduce", "f32", 700, 0.006, "k3"),
)
BREAKDOWN = tuple(
    TimeShare(d, family, kind, n, round(share * 58.9e9), share, top)
    for d in (0, 1)
    for family, kind, n, share, top in _SHARES
)
COVERAGE = (
    CoverageNote(
        "note",
        "GPU metrics were not sampled",
        "nsys profile --gpu-metrics-devices=all -o run python serve.py",
    ),
    CoverageNote(
        "warning", "51 of 412,857 kernel launches have no kernel row: the capture ended while they ran"
    ),
)


def confirmed() -> Report:
    return Report(
        "0.1.0",
        INPUTS,
        trace(),
        (cast_storm(0), cast_storm(1, 20.1), LAUNCH, PAGEABLE, *REST),
        COVERAGE,
        BREAKDOWN,
    )


def probable() -> Report:
    return Report(
        "0.1.0", INPUTS[:1], trace(devices=devices(1)), (PAGEABLE, *REST), COVERAGE[:1], BREAKDOWN[:8]
    )


def undecided() -> Report:
    rest = tuple(f for f in REST if f.verdict == "cannot_tell")
    return Report("0.1.0", INPUTS[1:], None, rest, judged=False)


def healthy() -> Report:
    near = "fp8-unfused-quantise: quantise kernels take 2.1% of kernel time, the signature asks for 5%"
    return Report(
        "0.1.0", INPUTS[:1], trace(devices=devices(1)), REST[:4], (), BREAKDOWN[:8], nearest_miss=near
    )
