"""Parsers for attention kernels whose names state their types."""

from __future__ import annotations

import re

from diagnose.catalogue.dtype_gemm import trt_type
from diagnose.catalogue.precision import Precision

_FMHA_GEN = re.compile(
    r"fmhaSm(\d+)[a-z]{0,3}Kernel_(?:Qkv(E4m3|Fp16|Bfloat16|E2m1)|Q(E4m3|Fp16|Bfloat16)Kv\w{0,20}?)"
    r"O(E4m3|Fp16|Bfloat16|Fp32)"
)


def trtllm_fmha(name: str) -> Precision | None:
    """`fmhaSm100aKernel_QkvE4m3OBfloat16H64…`: query, key and value type, then the output type."""
    found = _FMHA_GEN.search(name)
    if not found:
        return None
    a = trt_type(found[2] or found[3])
    b = trt_type(found[2]) if found[2] else None
    return Precision(a, b, None, "f32", trt_type(found[4]), found[1], "trtllm-fmha")


_FMHA_V2 = re.compile(r"fmha_v2_flash_attention_(e4m3_fp32|fp16_fp32|e4m3|fp16|bf16)(?=_)")
_FMHA_V2_TYPES = {"fp16": "f16", "bf16": "bf16", "e4m3": "e4m3"}


def fmha_v2(name: str) -> Precision | None:
    """`fmha_v2_flash_attention_fp16_fp32_…`: operand type, then the accumulator when it is named."""
    found = _FMHA_V2.search(name)
    if not found:
        return None
    kind, _, acc = found[1].partition("_")
    a = _FMHA_V2_TYPES[kind]
    return Precision(a, a, None, "f32" if acc or a != "f16" else "f16", decoded_by="fmha_v2")


_FMHA_CUTLASS = re.compile(r"fmha_cutlass[FB]_(bf16|f16|f32)")


def fmha_cutlass(name: str) -> Precision | None:
    """PyTorch's memory-efficient attention, `fmha_cutlassF_bf16_aligned_64x64_rf_sm80`."""
    found = _FMHA_CUTLASS.search(name)
    return Precision(found[1], found[1], None, "f32", found[1], decoded_by="fmha") if found else None
