"""Untrusted text: what is shown, what is spelt out, how kernel names are shortened."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reports_hostile import EVIL
from reports_make import CAST, GEMM

from diagnose.reports.names import ascii_only, clip, middle, short_name, visible

NAMES = {
    CAST: "vectorized_elementwise_kernel: direct_copy_kernel_cuda(float)",
    "void at::native::vectorized_elementwise_kernel<(int)8, at::native::CUDAFunctor_add<c10::BFloat16>, "
    "std::array<char *, (unsigned long)3>>(int, T2, T3)": (
        "vectorized_elementwise_kernel: CUDAFunctor_add(BFloat16)"
    ),
    "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::"
    "tanh_backward_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::"
    "{lambda(float, float)#1}>(at::TensorIteratorBase&)>(int)": (
        "elementwise_kernel: tanh_backward_kernel_cuda(float)"
    ),
    "void vllm::scaled_fp8_quant_kernel_strided<c10::BFloat16, c10::Float8_e4m3fn>(float*)": (
        "scaled_fp8_quant_kernel_strided: BFloat16, Float8_e4m3fn"
    ),
    "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64_16x6_nt_align1>(x::Params)": (
        "cutlass::K…: cutlass_80_tensorop_s1688gemm_128x64_16x6_nt_align1"
    ),
    "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __nv_bfloat16>(int)": (
        "gemvx::kernel: int, __nv_bfloat16"
    ),
    "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type "
    "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*)": (
        "fused_add_rms_norm_kernel: BFloat16"
    ),
    "void fbgemm_gpu::(anonymous namespace)::_FP8_kernel<float>(float const*)": "_FP8_kernel: float",
    "sglang::gptq::make_sequential_8bit_kernel(unsigned int const*, int)": "make_sequential_8bit_kernel",
    "rms_norm_kernel": "rms_norm_kernel",
    "cudaMallocAsync_v11020": "cudaMallocAsync_v11020",
}


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_short_name(name):
    short = short_name(name)
    assert short == NAMES[name]


def test_the_telling_end_is_cut_last():
    assert short_name(CAST, 43) == "vectorized…: direct_copy_kernel_cuda(float)"
    assert short_name(CAST, 34) == "direct_copy_kernel_cuda(float)"
    assert short_name(CAST, 20) == "direct_copy_k…float)"


def test_both_ends_of_a_long_name_stay():
    short = short_name(GEMM, 60)
    assert len(short) == 60
    assert short.startswith("sm90_xmma_gemm_e4m3e4m3") and short.endswith("kernel__5x_cublas")


def test_a_cast_in_a_template_argument_is_no_element_type():
    assert "int" not in short_name("void k<(int)512, (int)1, at::native::sum_functor<float>>(T1)")


def test_names_that_only_look_like_templates_stay_whole():
    assert short_name("<script>alert(1)</script>") == "<script>alert(1)</script>"
    assert short_name("[/red]x[abi:cxx11]") == "[/red]x[abi:cxx11]"
    assert short_name(":x:") == ":x:"


@pytest.mark.parametrize("limit", [1, 2, 8, 20, 64])
@pytest.mark.parametrize(
    "name", [*EVIL, *NAMES, "f<" * 9_000, "a(b" * 9_000, "a<b " * 9_000], ids=lambda n: n[:12]
)
def test_short_names_keep_their_limit_and_hide_nothing(name, limit):
    begin = time.perf_counter()
    short = short_name(name, limit)
    assert time.perf_counter() - begin < 2
    assert len(short) <= limit and short == visible(short)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", "\\x1b[31m"),
        ("\x9b2J", "\\x9b2J"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\u202eab\u2066", "\\u202eab\\u2066"),
        ("a\u200bb\ufeffc\u00add", "a\\u200bb\\ufeffc\\xadd"),
        ("\u2028", "\\u2028"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
        ("\u3164\ufe0f", "\\u3164\\ufe0f"),
        ("e\u0301", "e\u0301"),
        ("e" + "\u0301" * 4, "e\u0301\u0301\\u0301\\u0301"),
        ("核 ✔ µs", "核 ✔ µs"),
    ],
)
def test_visible(text, shown):
    assert visible(text) == shown


@given(st.text())
def test_visible_leaves_nothing_that_acts_or_hides(text):
    for ch in visible(text):
        assert unicodedata.category(ch) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


@given(st.text())
def test_ascii_only_is_ascii(text):
    assert ascii_only(text).isascii()


def test_ascii_spells_our_own_signs():
    assert ascii_only("≥ 5 µs · ×2 → 核…") == ">= 5 us | x2 -> \\u6838..."


def test_clip_says_what_it_cut():
    assert clip("abc", 3) == "abc"
    assert clip("x" * 1_500, 10) == "x" * 10 + "… (1,490 more characters)"


def test_middle():
    assert middle("abcdefghij", 10) == "abcdefghij"
    assert middle("abcdefghijkl", 10) == "abcdef…jkl"
