"""Parsers for communication, cast, copy and quantise kernels, and the type words of templates (hints)."""

from __future__ import annotations

import re

from diagnose.catalogue.precision import Precision

# Unsigned before signed: `int8_t` also stands inside `uint8_t`, `signed char` inside `unsigned char`.
_TYPES = {
    "e4m3": r"c10::Float8_e4m3fn|__nv_fp8_e4m3|float_e4m3_t|Float8E4M3FN|\bFloat8_e4m3fn",
    "e5m2": r"c10::Float8_e5m2|__nv_fp8_e5m2|float_e5m2_t|Float8E5M2",
    "bf16": r"c10::BFloat16|__nv_bfloat16|nv_bfloat16|bfloat16_t|BFloat16|\bbf16\b|_bf16_|_bf16$",
    "f16": r"c10::Half|__half\b|\bhalf\b|half_t|_f16_|_fp16_|_fp16$|at::Half",
    "f64": r"\bdouble\b",
    "f32": r"(?<![a-z_])float(?![a-z_0-9])|_f32_|_fp32_|_float\b",
    "u8": r"unsigned char(?!\))|uint8_t",
    "i8": r"(?<!un)signed char|(?<!u)int8_t|\bint8\b|_int8_|_s8_|\bi8\b",
}
_COUNTERS = {
    "i64": r"\blong\b|int64",
    "i32": r"\bint\b(?!\))",
    "bool": r"\bbool\b",
}


def _words(table: dict[str, str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<{kind}>{expression})" for kind, expression in table.items()))


_TYPE = _words(_TYPES)
_COUNTER = _words(_COUNTERS)


def _type(text: str) -> str | None:
    """The type that a C++ type name means, None if it is none of those above."""
    found = _TYPE.search(text) or _COUNTER.search(text)
    return found.lastgroup if found else None


_NCCL = re.compile(
    r"nccl(?:Dev)?Kernel_\w{0,60}?_(bf16|f16|f32|f64|i8|u8|i32|u32|i64|u64|f8e4m3|f8e5m2|half|float|double"
    r"|int8_t|uint8_t|int32_t|int64_t|__nv_bfloat16)(?:_|\b|\()"
)
_NCCL_TYPES = {
    "half": "f16",
    "float": "f32",
    "double": "f64",
    "int8_t": "i8",
    "uint8_t": "u8",
    "int32_t": "i32",
    "int64_t": "i64",
    "__nv_bfloat16": "bf16",
    "f8e4m3": "e4m3",
    "f8e5m2": "e5m2",
}


def nccl(name: str) -> Precision | None:
    """`ncclDevKernel_AllReduce_Sum_bf16_RING_LL`: one type, in and out."""
    found = _NCCL.search(name)
    if not found:
        return None
    kind = _NCCL_TYPES.get(found[1], found[1])
    return Precision(in_a=kind, out=kind, decoded_by="nccl")


_CONVERT_FP8 = re.compile(r"convert_fp8_kernel<([^,<>]{1,80}), ?([^,<>]{1,80}),")


def vllm_convert_fp8(name: str) -> Precision | None:
    """`vllm::convert_fp8_kernel<Tout, Tin, …>`: `unsigned char` holds FP8 (which of the two is not told)."""
    found = _CONVERT_FP8.search(name)
    if not found:
        return None
    out, a = ("fp8" if "unsigned char" in text else _type(text) for text in (found[1], found[2]))
    return Precision(in_a=a, out=out, decoded_by="vllm-convert_fp8")


_QUANT = re.compile(
    r"(?:scaled_fp8_quant_kernel|per_token_group_quant_8bit|per_token_quant_fp8)\w{0,60}"
    r"<([^,]{1,80}), ?([^,>]{1,80})"
)


def quant_template(name: str) -> Precision | None:
    """vLLM and SGLang activation quantise: input type first, output type second."""
    found = _QUANT.search(name)
    if not found:
        return None
    return Precision(in_a=_type(found[1]), out=_type(found[2]), decoded_by="quant-template")


_KV = re.compile(
    r"(?:reshape_and_cache|concat_and_cache|indexer_k_quant_and_cache)\w{0,60}<(.{0,300}?)"
    r"\(vllm::Fp8KVCacheDataType\)(\d)"
)


def vllm_kv(name: str) -> Precision | None:
    """vLLM KV-cache writes `<…, S, C, (Fp8KVCacheDataType)k>`: k 0 stores type C, 1 E4M3, 2 E5M2."""
    found = _KV.search(name)
    if not found:
        return None
    parts = [part for part in found[1].split(",") if part.strip()]
    if len(parts) < 2:
        return None
    out = {"0": _type(parts[-1]), "1": "e4m3", "2": "e5m2"}.get(found[2])
    return Precision(in_a=_type(parts[-2]), out=out, decoded_by="vllm-kv")


_LAMBDA = re.compile(r"lambda\((?!\))([^)]{1,80})\)")


def at_float8_copy(name: str) -> Precision | None:
    """PyTorch eager quantise; in nsys spelling the name does not tell E4M3 from E5M2."""
    start = name.find("float8_copy_kernel_cuda")
    if start < 0:
        return None
    found = _LAMBDA.search(name, start)
    return Precision(in_a=_type(found[1]) if found else None, out="fp8", decoded_by="at-float8copy")


def at_copy(name: str) -> Precision | None:
    """PyTorch copies with their own kernel: FP32 to BF16 or FP16."""
    for part, out in (("bfloat16_copy_kernel_cuda", "bf16"), ("float16_copy_kernel_cuda", "f16")):
        if part in name:
            return Precision(in_a="f32", out=out, decoded_by="at-copy")
    return None


def at_direct_copy(name: str) -> Precision | None:
    """PyTorch copy: the lambda's type is the destination; the source is the same only in a plain copy."""
    start = name.find("direct_copy_kernel_cuda")
    if start < 0:
        return None
    found = _LAMBDA.search(name, start)
    if not found:
        return None
    out = _type(found[1])
    casts = any(part in name for part in ("LoadWithCast", "StoreWithCast", "gpu_kernel_impl<"))
    return Precision(in_a=None if casts else out, out=out, decoded_by="at-direct_copy")


_ORT = re.compile(r"OP_Cast\w{0,20}<([^,]{1,80}), ?([^>]{1,80})>")


def ort_cast(name: str) -> Precision | None:
    """ONNX Runtime `OP_Cast<from, to>`."""
    found = _ORT.search(name)
    return Precision(in_a=_type(found[1]), out=_type(found[2]), decoded_by="ort-cast") if found else None


def template_words(name: str) -> Precision | None:
    """The first type word found anywhere: a hint for listings, never for a finding."""
    for words, parser in ((_TYPE, "template"), (_COUNTER, "template-int")):
        found = words.search(name)
        if found:
            return Precision(in_a=found.lastgroup, decoded_by=parser, certain=False)
    return None
