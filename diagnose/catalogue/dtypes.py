"""Element types of a kernel, read from its name: `decode(name) -> Precision`.

Each parser knows one naming scheme; the first that understands the name answers. What a scheme states is a
fact about the kernel (`certain`); the type words found anywhere in a template are hints only. An
architecture in a name is the template's, not the GPU's: sm80 kernels run on an H100.

Sources: the names registered in cuBLAS/cuBLASLt 12.9, cuDNN 9.28, NCCL 2.32, vLLM 0.33, TransformerEngine
2.20 and PyTorch 2.7 libraries, and traces of V100, A100, H100 and B200.
"""

from __future__ import annotations

from functools import lru_cache

from diagnose.catalogue import dtype_attention, dtype_convert, dtype_gemm
from diagnose.catalogue.precision import UNKNOWN, Precision

# nsys keeps names up to 260,000 characters; everything a parser needs stands near the start.
MAX_NAME = 4_000

# Order of trial. Names that two schemes could claim go to the more exact one.
PARSERS = (
    dtype_gemm.xmma,
    dtype_gemm.nvjet,
    dtype_gemm.cutlass3x,
    dtype_gemm.cutlass2,
    dtype_gemm.legacy,
    dtype_gemm.marlin,
    dtype_gemm.trtllm_gen,
    dtype_gemm.deepgemm,
    dtype_attention.trtllm_fmha,
    dtype_gemm.legacy_cudnn,
    dtype_attention.fmha_v2,
    dtype_attention.fmha_cutlass,
    dtype_convert.nccl,
    dtype_convert.vllm_convert_fp8,
    dtype_convert.quant_template,
    dtype_convert.vllm_kv,
    dtype_convert.at_float8_copy,
    dtype_convert.at_copy,
    dtype_convert.at_direct_copy,
    dtype_convert.ort_cast,
    dtype_convert.template_words,
)


@lru_cache(maxsize=20_000)
def decode(name: str) -> Precision:
    """The types of kernel `name` (demangled; nsys or c++filt spelling); `UNKNOWN` when it does not tell."""
    cut = name[:MAX_NAME]
    for parser in PARSERS:
        found = parser(cut)
        if found is not None:
            return found
    return UNKNOWN


__all__ = ["MAX_NAME", "PARSERS", "UNKNOWN", "Precision", "decode"]
