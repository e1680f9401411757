"""Parsers for matrix-product and convolution names: xmma, nvjet, CUTLASS, legacy, Marlin, TensorRT-LLM."""

from __future__ import annotations

import re

from diagnose.catalogue.precision import Precision

# Longest first: a run of tokens is accepted only if the tokens rebuild it exactly.
_TOKEN = r"(?:e4m3|e5m2|e2m1|tf32|cbf16|bf16|cf16|cf32|cf64|f16|f32|f64|ci8|i8|u8|i32|i4|u4|i1)"
_TOKENS = re.compile(_TOKEN)

# All repeats are bounded: a hostile name must not make the search slow.
_XMMA = re.compile(
    r"sm(\d+)_xmma_(?:sparse_)?"
    r"(?:gemm|[a-z_0-9]{0,40}?(?:implicit_gemm|convolve|wgrad|dgrad|fprop)[a-z_]{0,40}?)_(?:gaussian_)?"
    rf"(?:indexed_wo_smem_|indexed_|interleaved_){{0,3}}({_TOKEN}{{2,3}})_({_TOKEN}{{2,3}})(?:_({_TOKEN}))?"
)


def xmma(name: str) -> Precision | None:
    """`sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_…`: memory types A [B] D, then maths and accumulator."""
    found = _XMMA.search(name)
    if not found:
        return None
    memory, maths = _TOKENS.findall(found[2]), _TOKENS.findall(found[3])
    a = memory[0]
    return Precision(
        in_a=a,
        in_b=memory[1] if len(memory) == 3 else a,
        math=maths[0] if maths[0] != a else None,
        acc=maths[-1],
        out=memory[-1],
        arch=found[1],
        decoded_by="xmma",
    )


_NVJET = re.compile(r"nvjet_(?:sm(\d+)_)?([hstqrodczbi]{5}|[hstqrodczbi]{3})_(tf32_)?")
_NVJET_TYPES = {
    "h": "f16",
    "t": "bf16",
    "s": "f32",
    "q": "e4m3",
    "o": "e2m1",
    "d": "f64",
    "c": "cf32",
    "z": "cf64",
    "r": "e5m2",
    "b": "i8",
    "i": "i32",
}
_NVJET_GUESSED = frozenset("rbi")  # never seen in a library or trace


def nvjet(name: str) -> Precision | None:
    """`nvjet_hsh_…` = A (and B), compute, D; `nvjet_qqtst_…` = A, B, C, compute, D.

    `_Avec16UE4M3_Bvec16UE4M3` names the block scales of FP4 data, not FP8 data.
    """
    found = _NVJET.search(name)
    if not found:
        return None
    letters = found[2]
    types = [_NVJET_TYPES[letter] for letter in letters]
    scale = _NVJET_SCALE.search(name)
    return Precision(
        in_a=types[0],
        in_b=types[1] if len(types) == 5 else types[0],
        math="tf32" if found[3] else None,
        acc=types[-2],
        out=types[-1],
        arch=found[1],
        decoded_by="nvjet",
        certain=not _NVJET_GUESSED & set(letters),
        scaled=scale[1].lower() if scale else None,
    )


_NVJET_SCALE = re.compile(r"_Avec\d+(UE\d?M\d?)", re.IGNORECASE)

_C = r"((?:ue?\d?m?\d?x)?(?:e4m3|e5m2|e2m1|f8|f6|f4|tf32|bf16|f16|cf32|cf64|f32|f64|s8|u8|s32|s4|void))"
_CUTLASS3 = re.compile(
    r"cutlass3x_sm(\d+)_(?:bs|sp)?(?:tensorop|simt|sptensorop)_([a-z0-9_]{0,60}?)gemm_(?:[a-z]+_){0,6}?"
    rf"{_C}_{_C}_{_C}_{_C}_{_C}"
)
_CUTLASS3_TYPES = {"f8": "fp8", "f6": "fp6", "f4": "e2m1", "s8": "i8", "s32": "i32", "s4": "i4"}


def _cutlass3_type(token: str) -> tuple[str, str | None]:
    """(element type, scale type): `ue8m0xe4m3` → (`e4m3`, `ue8m0`)."""
    scale, _, element = token.rpartition("x")
    return _CUTLASS3_TYPES.get(element, element), scale or None


def cutlass3x(name: str) -> Precision | None:
    """`cutlass3x_sm100_tensorop_s128x64x16gemm_{A}_{B}_{acc}_{C}_{D}_…`; `f8` is either FP8 type."""
    found = _CUTLASS3.search(name)
    if not found:
        return None
    (a, scale), (b, _), (acc, _), _, (out, _) = (_cutlass3_type(found[i]) for i in range(3, 8))
    shape = found[2]
    math = "tf32" if a == "f32" and "tf32" in shape else "bf16" if "9xbf16" in shape else None
    return Precision(a, b, math, acc, None if out == "void" else out, found[1], "cutlass3x", True, scale)


_CUTLASS2 = re.compile(
    r"cutlass_(?:(\d+)_)?(?:wmma_)?(tensorop|simt)_(?:(f16|bf16|s8|u8|s4|u4|f32)_)?"
    r"(gz|gc|[hsdicz])(\d{0,8})(tf32|bf16|f16)?(?:gemm|fprop|dgrad|wgrad)[a-z_]{0,60}?"
    r"(?:_(f16|bf16|tf32|s8|u8|s4|f32))?_(?:\d|sliced)"
)
_ACC = {"h": "f16", "s": "f32", "d": "f64", "i": "i32", "c": "cf32", "z": "cf64", "gc": "cf32", "gz": "cf64"}
_INT = {"s8": "i8", "s4": "i4"}


def cutlass2(name: str) -> Precision | None:
    """`cutlass_80_tensorop_bf16_s16816gemm_bf16_…`: out, accumulator letter, MMA shape, [math], input."""
    found = _CUTLASS2.search(name)
    if not found:
        return None
    arch, unit, out, letter, shape, math, operand = found.groups()
    acc = _ACC[letter]
    certain = True
    if letter == "s" and shape == "1688" and unit == "tensorop" and operand in (None, "tf32"):
        # An f32 operand on 16x8x8 tensor cores is rounded to TF32 (or to the type named after the shape).
        operand, math = "f32", math or "tf32"
    elif operand is None:
        if letter == "i":
            operand, certain = "s8", False  # no library name shows another one, none says so either
        elif letter in ("h", "d"):
            operand = _ACC[letter]
        elif unit == "simt" or math or shape == "1688":
            operand = acc
    operand = _INT.get(operand, operand) if operand else None
    out_type = _INT.get(out, out) if out else acc
    return Precision(operand, operand, math, acc, out_type, arch, "cutlass2", certain)


_LEGACY = re.compile(
    r"(?:^|_|\b)(maxwell|pascal|volta|turing|ampere|ada|hopper)_(?:(fp16|bf16|int8|int32)_)?"
    r"(gz|gc|[hsdciz])(\d{0,8})gemm(?:_(fp16|bf16|int8))?(?:_(fp16|bf16|int8))?"
)
_LEGACY_ARCH = {
    "maxwell": "50",
    "pascal": "60",
    "volta": "70",
    "turing": "75",
    "ampere": "80",
    "ada": "89",
    "hopper": "90",
}
_LEGACY_TYPES = {"fp16": "f16", "bf16": "bf16", "int8": "i8", "uint8": "u8", "int32": "i32", "fp32": "f32"}


def legacy(name: str) -> Precision | None:
    """`ampere_fp16_s16816gemm_fp16_…`, `volta_sgemm_128x64_nn`; `*_sgemm_int8` is INT8 in, FP32 out."""
    found = _LEGACY.search(name)
    if not found:
        return None
    arch, out, letter, _, operand, _ = found.groups()
    acc = _ACC[letter]
    a = _LEGACY_TYPES[operand] if operand else "i8" if letter == "i" else acc
    return Precision(
        a, a, None, acc, _LEGACY_TYPES[out] if out else acc, _LEGACY_ARCH[arch], decoded_by="legacy"
    )


_CUDNN = re.compile(
    r"(?:maxwell|volta|turing|ampere)_(?:(fp16|fp32|bf16|int8|int32)_)?([shi])(?:\d{3,5})?cudnn"
    r"(?:_(fp16|bf16|u?int8)(?:x\d{1,2})?(?:_(int8))?)?"
)


def legacy_cudnn(name: str) -> Precision | None:
    """`ampere_fp16_i8816cudnn_int8_…`, `volta_scudnn_…`: as the GEMMs of the same generation."""
    found = _CUDNN.search(name)
    if not found:
        return None
    out, letter, operand, second = found.groups()
    acc = _ACC[letter]
    a = _LEGACY_TYPES[operand] if operand else "i8" if letter == "i" else acc
    b = _LEGACY_TYPES[second] if second else a
    return Precision(a, b, None, acc, _LEGACY_TYPES[out] if out else acc, decoded_by="legacy-cudnn")


_MARLIN = re.compile(r"[Mm]arlin<([^>]{0,400})")
_MARLIN_ID = re.compile(r"\b(1125\d{12}|28\d{14}|56\d{13})l?\b")

_MARLIN_CPP = {"__half": "f16", "c10::Half": "f16", "__nv_bfloat16": "bf16", "c10::BFloat16": "bf16"}


def marlin(name: str) -> Precision | None:
    """Weight-only GEMM: vLLM's `ScalarType` ids of A, B (the weights) and the output.

    An older form spells A, which is the output too, as a C++ type: `Marlin<__half, {B}, {scales}, …>`.
    An id packs exponent | mantissa << 8 | signed << 16 | bias << 17 | finite << 49 | nan << 50
    (vLLM, csrc/core/scalar_type.hpp).
    """
    found = _MARLIN.search(name)
    if not found:
        return None
    types = [scalar_type(int(text)) for text in _MARLIN_ID.findall(found[1])]
    first = _MARLIN_CPP.get(found[1].partition(",")[0].strip())
    if first:
        types = [first, *types[:1], first]
    if len(types) < 3:
        return None
    a, b, out = types[:3]
    return Precision(a, b, None, "f32", out, decoded_by="marlin-scalartype") if a and b and out else None


_SCALARS = {
    (5, 10, 1): "f16",
    (8, 7, 1): "bf16",
    (4, 3, 1): "e4m3",
    (5, 2, 1): "e5m2",
    (0, 7, 1): "i8",
    (0, 8, 0): "u8",
    (0, 4, 0): "u4",
    (2, 1, 1): "e2m1",
    (8, 0, 0): "e8m0",
    (0, 3, 1): "i4",
}


def scalar_type(number: int) -> str | None:
    """Type of a vLLM `ScalarType` id: 1125899906910725 → `f16`, 1125899907892224 → `u4b8`; else None."""
    exponent, mantissa, signed = number & 0xFF, (number >> 8) & 0xFF, (number >> 16) & 1
    bias = (number >> 17) & 0xFFFFFFFF
    kind = _SCALARS.get((exponent, mantissa, signed))
    return f"{kind}b{bias}" if kind in ("u4", "u8") and bias else kind


_TRT = r"(Bfloat16|E4m3|E5m2|E2m1|Fp16|Fp32|MxE4m3|MxE2m1|Int4)"
_TRTLLM = re.compile(rf"(?:bmm|gemm)_{_TRT}_{_TRT}{_TRT}?_{_TRT}")
_TRT_TYPES = {"Bfloat16": "bf16", "Fp16": "f16", "Fp32": "f32", "Int4": "i4"}


def trt_type(text: str) -> str:
    """`MxE4m3` → `e4m3`, `Bfloat16` → `bf16`."""
    return _TRT_TYPES.get(text, text.removeprefix("Mx").lower())


def trtllm_gen(name: str) -> Precision | None:
    """`bmm_{D}_{A}{B}_{acc}_t128x…`: the output comes first."""
    found = _TRTLLM.search(name)
    if not found:
        return None
    out, a, b, acc = found.groups()
    scaled = "mx" if a.startswith("Mx") or (b or "").startswith("Mx") else None
    return Precision(
        trt_type(a), trt_type(b or a), None, trt_type(acc), trt_type(out), None, "trtllm-gen", True, scaled
    )


_DEEPGEMM = re.compile(r"(?:deep_gemm|dpsk::gemm)::\w{0,60}?fp8_\w{0,60}?(?:gemm|1d[12]d)")


def deepgemm(name: str) -> Precision | None:
    """`deep_gemm::fp8_gemm_kernel<…>(__nv_bfloat16*, …)`: FP8 operands; output only if it is named."""
    if not _DEEPGEMM.search(name):
        return None
    out = "bf16" if "bfloat16" in name or "bf16" in name else None
    return Precision("e4m3", "e4m3", None, "f32", out, decoded_by="deepgemm")
