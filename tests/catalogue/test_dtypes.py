"""Types decoded from names: facts of each naming scheme, and hints that stay hints."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from pathlib import Path

import pytest

from diagnose.catalogue.dtype_gemm import scalar_type
from diagnose.catalogue.dtypes import UNKNOWN, Precision, decode

# name → (A, B, maths, accumulator, out, arch, parser): the naming schemes of the libraries.
CASES = [
    ("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_ffma", "f32 f32 - f32 f32 80 xmma"),
    ("sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x16", "f32 f32 tf32 f32 f32 80 xmma"),
    ("sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x32", "f16 f16 - f32 f16 80 xmma"),
    ("sm90_xmma_gemm_bf16f32_bf16f32_f32_tn_n_tilesize64x64x64", "bf16 bf16 - f32 f32 90 xmma"),
    ("sm90_xmma_gemm_f16f16_f16f16_f16_tn_n_tilesize64x64x64", "f16 f16 - f16 f16 90 xmma"),
    ("sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize128x128x128", "e4m3 e4m3 - f32 bf16 90 xmma"),
    ("sm90_xmma_gemm_e4m3f32_e4m3f32_f32_tn_n_tilesize128x128x128", "e4m3 e4m3 - f32 f32 90 xmma"),
    ("sm89_xmma_gemm_e5m2e4m3bf16_e5m2e4m3f32_f32_tn_n_tilesize64x64x64", "e5m2 e4m3 - f32 bf16 89 xmma"),
    ("sm80_xmma_gemm_i8f32_i8i32_f32_tn_n_tilesize64x64x64", "i8 i8 - i32 f32 80 xmma"),
    ("sm80_xmma_fprop_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc", "f16 f16 - f32 f16 80 xmma"),
    ("nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NNT", "f16 f16 - f32 f16 - nvjet"),
    ("nvjet_sss_tf32_64x64_32x4_1x1_h_bz_NNT", "f32 f32 tf32 f32 f32 - nvjet"),
    ("nvjet_sm90_tss_64x32_64x16_1x2_h_bz_splitK_TNT", "bf16 bf16 - f32 f32 90 nvjet"),
    ("nvjet_qqtst_128x256_128x6_2x1_2cta_v_bz_TNT", "e4m3 e4m3 - f32 bf16 - nvjet"),
    ("nvjet_ootst_128x256_Avec16UE4M3_Bvec16UE4M3", "e2m1 e2m1 - f32 bf16 - nvjet"),
    (
        "cutlass3x_sm100_bstensorop_s128x128x32gemm_block_scaled_ue8m0xe4m3_ue8m0xe5m2_f32_f16_"
        "ue8m0xe4m3_128x128",
        "e4m3 e5m2 - f32 e4m3 100 cutlass3x",
    ),
    (
        "cutlass3x_sm100_tensorop_i64x64x32implicit_gemm_fprop_s8_s8_s32_void_s8_f32_64x64",
        "i8 i8 - i32 i8 100 cutlass3x",
    ),
    (
        "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x64_tn_align8>",
        "bf16 bf16 - f32 bf16 80 cutlass2",
    ),
    (
        "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align4>",
        "f32 f32 tf32 f32 f32 80 cutlass2",
    ),
    (
        "void cutlass::Kernel2<cutlass_80_tensorop_s1688bf16gemm_128x128_16x4_nn_align4>",
        "f32 f32 bf16 f32 f32 80 cutlass2",
    ),
    ("void cutlass::Kernel2<cutlass_80_simt_sgemm_128x256_8x4_nn_align1>", "f32 f32 - f32 f32 80 cutlass2"),
    ("ampere_fp16_s16816gemm_fp16_64x64_ldg8_f2f_tt", "f16 f16 - f32 f16 80 legacy"),
    ("volta_sgemm_128x64_nn", "f32 f32 - f32 f32 70 legacy"),
    ("ampere_sgemm_int8_64x64_tt", "i8 i8 - f32 f32 80 legacy"),
    ("turing_int8_i8816gemm_int8_128x128_ldg16_relu_nt", "i8 i8 - i32 i8 75 legacy"),
    ("ampere_h16816gemm_64x64_ldg8_stages_32x6_tn", "f16 f16 - f16 f16 80 legacy"),
    ("volta_scudnn_128x64_relu_medium_nn_v1", "f32 f32 - f32 f32 - legacy-cudnn"),
    (
        "void marlin::Marlin<1125899906909960l, 2814749767172868l, 1125899906909960l, "
        "1125899906909960l, 128, 1>",
        "bf16 e4m3 - f32 bf16 - marlin-scalartype",
    ),
    (
        "void marlin::Marlin<(long)1125899906910725, (long)1125899907892224, "
        "(long)1125899906910725, (long)1>",
        "f16 u4b8 - f32 f16 - marlin-scalartype",
    ),
    (
        "void marlin_moe_wna16::Marlin<__half, 2814749767172868l, 1125899906910725l, 128, 1, 8>",
        "f16 e4m3 - f32 f16 - marlin-scalartype",
    ),
    ("bmm_Bfloat16_E4m3E4m3_Fp32_t128x16x128_s6", "e4m3 e4m3 - f32 bf16 - trtllm-gen"),
    ("bmm_E4m3_E4m3E4m3_Fp32_t128x16x128u2_s6", "e4m3 e4m3 - f32 e4m3 - trtllm-gen"),
    (
        "void deep_gemm::fp8_gemm_kernel<4096u, 7168u>(__nv_bfloat16*, float*, int*)",
        "e4m3 e4m3 - f32 bf16 - deepgemm",
    ),
    ("fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16", "e4m3 e4m3 - f32 bf16 100 trtllm-fmha"),
    ("fmha_v2_flash_attention_fp16_fp32_64_128_S_q_k_v_256_sm87", "f16 f16 - f32 - - fmha_v2"),
    ("fmha_v2_flash_attention_fp16_64_32_S_qkv_128_causal_sm86", "f16 f16 - f16 - - fmha_v2"),
    ("fmha_cutlassF_bf16_aligned_64x64_rf_sm80", "bf16 bf16 - f32 bf16 - fmha"),
    ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "bf16 - - - bf16 - nccl"),
    ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)", "f32 - - - f32 - nccl"),
    ("ncclKernel_SendRecv_RING_SIMPLE_Sum_uint8_t(ncclDevComm*)", "u8 - - - u8 - nccl"),
    (
        "void vllm::convert_fp8_kernel<__nv_bfloat16, unsigned char, (vllm::Fp8KVCacheDataType)1>",
        "fp8 - - - bf16 - vllm-convert_fp8",
    ),
    (
        "void vllm::scaled_fp8_quant_kernel_strided<c10::BFloat16, c10::Float8_e4m3fn>(c10::Float8_e4m3fn*)",
        "bf16 - - - e4m3 - quant-template",
    ),
    (
        "void per_token_group_quant_8bit_kernel<__nv_bfloat16, signed char, false, false, float>",
        "bf16 - - - i8 - quant-template",
    ),
    (
        "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, unsigned char, "
        "(vllm::Fp8KVCacheDataType)2>",
        "bf16 - - - e5m2 - vllm-kv",
    ),
    (
        "void vllm::reshape_and_cache_flash_kernel<unsigned short, unsigned short, "
        "(vllm::Fp8KVCacheDataType)0>",
        "- - - - - - vllm-kv",
    ),
    (
        "void at::native::vectorized_elementwise_kernel<(int)4, at::native::float8_copy_kernel_cuda"
        "(at::TensorIteratorBase &)::[lambda(c10::BFloat16) (instance 3)]>",
        "bf16 - - - fp8 - at-float8copy",
    ),
    (
        "void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_copy_kernel_cuda"
        "(at::TensorIteratorBase&)::{lambda(float)#1}>",
        "f32 - - - bf16 - at-copy",
    ),
    (
        "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_"
        "cuda(at::TensorIteratorBase&)::"
        "{lambda()#3}::operator()() const::{lambda(float)#1}, 4, at::native::memory::LoadWithCast<1>>",
        "- - - - f32 - at-direct_copy",  # the source type is not in the name
    ),
    (
        "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::"
        "direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() "
        "const::{lambda(float)#1}>>",
        "f32 - - - f32 - at-direct_copy",  # a layout copy
    ),
    (
        "void onnxruntime::cuda::_UnaryElementWise<__half, float, "
        "onnxruntime::cuda::OP_Cast<__half, float>, 256, 4>",
        "f16 - - - f32 - ort-cast",
    ),
    (
        "void onnxruntime::cuda::_UnaryElementWise<float, unsigned char, "
        "onnxruntime::cuda::OP_Cast<float, unsigned char>>",
        "f32 - - - u8 - ort-cast",
    ),
]


def fields(found: Precision) -> list[str | None]:
    return [found.in_a, found.in_b, found.math, found.acc, found.out, found.arch]


@pytest.mark.parametrize(("name", "wanted"), CASES)
def test_facts(name: str, wanted: str) -> None:
    *types, parser = wanted.split()
    found = decode(name)
    assert found.decoded_by == parser
    assert fields(found) == [None if text == "-" else text for text in types]
    assert found.certain


def test_hints_are_not_certain() -> None:
    found = decode("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>")
    assert (found.in_a, found.decoded_by, found.certain) == ("f32", "template", False)
    assert found.label == ""
    counter = decode("void cub::DeviceScanInitKernel<cub::ScanTileState<long, true>>(int)")
    assert (counter.in_a, counter.decoded_by, counter.certain) == ("i64", "template-int", False)


def test_guessed_letters_are_not_certain() -> None:
    assert not decode("nvjet_rqtst_64x8_128x16_1x1_h_bz_TNT").certain
    assert decode("nvjet_qqtst_64x8_128x16_1x1_h_bz_TNT").certain


@pytest.mark.parametrize(
    "name", ["", "saxpy", "triton__0d1d2d3d", "_w8a8_block_fp8_matmul", "elementwise_kernel"]
)
def test_unknown_stays_unknown(name: str) -> None:
    assert decode(name) == UNKNOWN
    assert not UNKNOWN.known


def test_block_scales_are_not_the_operands() -> None:
    found = decode("nvjet_ootst_128x256_Avec16UE4M3_Bvec16UE4M3")
    assert found.in_a == "e2m1"
    assert found.scaled == "ue4m3"


def test_labels() -> None:
    assert decode("sm90_xmma_gemm_e4m3f32_e4m3f32_f32_tn_n").label == "FP8 E4M3 → FP32"
    assert decode("sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n").label == "FP32 (TF32) → FP32"
    assert (
        decode("void marlin::Marlin<1125899906909960l, 2814749767172868l, 1125899906909960l>").label
        == "BF16 × FP8 E4M3 → BF16"
    )


@pytest.mark.parametrize(
    ("exponent", "mantissa", "signed", "bias", "wanted"),
    [
        (5, 10, 1, 0, "f16"),
        (8, 7, 1, 0, "bf16"),
        (4, 3, 1, 0, "e4m3"),
        (0, 4, 0, 8, "u4b8"),
        (0, 8, 0, 128, "u8b128"),
    ],
)
def test_scalar_type_ids(exponent: int, mantissa: int, signed: int, bias: int, wanted: str) -> None:
    """Ids packed as vLLM packs them."""
    packed = exponent | mantissa << 8 | signed << 16 | bias << 17 | 1 << 50
    assert scalar_type(packed) == wanted


def test_scalar_type_unknown() -> None:
    assert scalar_type(7) is None


@pytest.mark.parametrize(
    "part",
    [
        "sm80_xmma_fprop",
        "sm80_xmma_gemm_f16",
        "lambda(",
        "nccl",
        "cutlass_80_simt_s",
        "Marlin<1,",
        "OP_Cast<a,",
    ],
)
def test_hostile_names_end_quickly(part: str) -> None:
    start = time.perf_counter()
    decode(part * (200_000 // len(part)))
    assert time.perf_counter() - start < 1.0


CORPUS = os.environ.get("DIAGNOSE_CORPUS")
HINTS = {"template", "template-int", ""}
COLUMNS = ("in_a", "in_b", "math", "acc", "out", "arch")


def listed_types(row: list[str]) -> list[str | None]:
    """The list's vocabulary in ours: block scales and the FP4 remark are left out, `same` is the input."""

    def one(text: str) -> str | None:
        if text == "same":
            text = row[1]
        text = re.sub(r"^(?:ue\dm\dx|mx)", "", text.replace("(fp4)", "").removeprefix("fp8_"))
        return {"f8": "fp8", "f4": "e2m1", "f8e4m3": "e4m3", "f8e5m2": "e5m2"}.get(text, text) or None

    return [one(text) for text in row[1:7]]


def better(name: str, wanted: str, got: str | None) -> bool:
    """Where the list is coarser than the name, and a difference is no error.

    It folds unsigned into signed bytes, gives the real part of complex operands, and reads the weights of old
    Marlin spellings as the first operand.
    """
    if (wanted, got) == ("i8", "u8"):
        return "unsigned char" in name or "uint8" in name
    if (wanted, got) == ("f32", "cf32"):
        return "_cgemm" in name or "_c1688gemm" in name
    return "Marlin<__half" in name or "Marlin<__nv_bfloat16" in name


def test_corpus_types() -> None:
    if not CORPUS:
        pytest.skip(
            "DIAGNOSE_CORPUS is not set: the list of 2,632 kernel names is not part of the repository"
        )
    lines = (Path(CORPUS) / "data" / "kernels.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines[1:]]
    counts: Counter[str] = Counter()
    wrong = []
    for row in rows:
        found, wanted, name = decode(row[9]), listed_types(row), row[9]
        fact = row[7] not in HINTS
        counts["fact rows" if fact else "hint rows"] += 1
        same = all(w is None or w == g for w, g in zip(wanted, fields(found), strict=True))
        counts[("fact" if fact else "hint") + " rows equal"] += same
        if not fact:
            if row[7] == "":
                assert not found.known, name
            continue
        for column, w, g in zip(COLUMNS, wanted, fields(found), strict=True):
            if w is not None and w != g and not better(name, w, g):
                wrong.append((column, w, g, found.decoded_by, name))
        if found.decoded_by != row[7]:
            wrong.append(("parser", row[7], found.decoded_by, "", name))
    print(f"types equal to the list: {dict(counts)}")
    assert len(rows) == 2_632
    assert wrong == []
    assert counts["fact rows equal"] >= counts["fact rows"] - 16  # the differences that `better` explains
    assert counts["hint rows equal"] >= counts["hint rows"] - 4
