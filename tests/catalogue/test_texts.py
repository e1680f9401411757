"""Each text pattern against its own examples, and against the look-alikes of the others."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from diagnose.catalogue import texts

IDS = list(texts.PATTERNS)
MIB, GIB = 2**20, 2**30


def hits(line: str) -> dict[str, float | None]:
    return {name: value for _, name, value in texts.match_lines([line])}


@pytest.mark.parametrize("name", IDS)
def test_examples_hit_and_counterexamples_do_not(name: str) -> None:
    pattern = texts.PATTERNS[name]
    assert pattern.examples
    assert pattern.counterexamples
    for line in pattern.examples:
        assert name in hits(line), line
    for line in pattern.counterexamples:
        assert name not in hits(line), line


@pytest.mark.parametrize("name", IDS)
def test_pattern_is_documented(name: str) -> None:
    pattern = texts.PATTERNS[name]
    assert pattern.meaning
    assert pattern.source
    assert pattern.kind in {"error", "warning", "setting", "state"}
    assert bool(pattern.values) == bool(pattern.unit)
    for expression in (pattern.regex, *pattern.values):
        assert not re.search(r"\(\?<?[=!]", expression)


def test_the_patterns_that_metrics_may_ask_for() -> None:
    wanted = (
        "fp8_refused fp8_setting fp8_kv_setting fp8_weight_only invalid_argument_elsewhere "
        "no_kernel_image async_backend "
        "async_oom native_oom torch_reserved torch_allocated nccl_shm nccl_net_socket nccl_net_ib "
        "nccl_p2p nccl_nvls "
        "nccl_p2p_disabled_env nccl_timeout nvlink_claimed mem_efficient_sdp acs_redirect offload_setting"
    )
    assert set(wanted.split()) <= set(IDS)


def test_order_and_positions() -> None:
    lines = [
        "nothing",
        "INFO quantization=fp8 kv_cache_dtype=fp8_e4m3",
        "",
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 648.00 MiB (22.96 GiB "
        "already allocated)",
    ]
    assert [(line, name) for line, name, _ in texts.match_lines(lines)] == [
        (1, "fp8_setting"),
        (1, "fp8_kv_setting"),
        (3, "native_oom"),
        (3, "torch_allocated"),
    ]


def test_no_lines() -> None:
    assert texts.match_lines([]) == []
    assert texts.match_lines(["", "nothing here"]) == []


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        (
            "(GPU 5; 22.96 GiB already allocated; 36.19 GiB reserved in total by PyTorch)",
            "torch_allocated",
            22.96 * GIB,
        ),
        (
            "(GPU 5; 22.96 GiB already allocated; 36.19 GiB reserved in total by PyTorch)",
            "torch_reserved",
            36.19 * GIB,
        ),
        (
            "Of the allocated memory 20.50 GiB is allocated by PyTorch, and 512.00 MiB is reserved by "
            "PyTorch but unallocated.",
            "torch_reserved",
            20.5 * GIB + 512 * MIB,
        ),
        (
            "Of the allocated memory 2.00 GiB is allocated by PyTorch, with 1.00 GiB allocated in "
            "private pools (e.g., CUDA "
            "Graphs), and 3.00 MiB is reserved by PyTorch but unallocated.",
            "torch_reserved",
            2 * GIB + 3 * MIB,
        ),
        ("Currently allocated     : 54.14 GiB", "torch_allocated", 54.14 * GIB),
        ("| Allocated memory      |  18432 MiB |  20480 MiB |", "torch_allocated", 18_432 * MIB),
        ("| GPU reserved memory   |  20480 KiB |  20480 MiB |", "torch_reserved", 20_480 * 1024),
        ("memory_allocated: 19,327,352,832", "torch_allocated", 19_327_352_832),
        ("torch.cuda.memory_allocated() = 18 GB", "torch_allocated", 18e9),
        ("--cpu-offload-gb 35", "offload_setting", 35),
        ("GPU KV cache usage: 99.1%, Prefix", "kv_usage", 99.1),
        ("GPU KV cache size: 32,016 tokens", "kv_cache_tokens", 32_016),
        (
            "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=808, OpType=ALLREDUCE)",
            "nccl_timeout",
            808,
        ),
        ("Watchdog caught collective operation timeout: something else", "nccl_timeout", None),
    ],
)
def test_values(line: str, name: str, value: float | None) -> None:
    assert hits(line)[name] == (None if value is None else pytest.approx(value))


def test_marlin_warning_is_no_refusal() -> None:
    line = texts.PATTERNS["fp8_weight_only"].examples[0]
    assert set(hits(line)) == {"fp8_weight_only", "fp8_setting"}


def test_bare_invalid_argument_is_not_explained() -> None:
    assert set(hits("RuntimeError: CUDA error: invalid argument")) == {"invalid_argument"}


def test_long_and_odd_lines() -> None:
    assert texts.match_lines(["x" * 300_000, "\x00\x1b[0m", "fp8" * 50_000]) == []


CORPUS = os.environ.get("DIAGNOSE_CORPUS")

# What the sample files say, by their own description; a pattern that is not named must not hit.
FILES = {
    "errors/01_scaled_mm_three_wordings.txt": {"fp8_refused": 4, "fp8_setting": 1},
    "errors/02_fp8_marlin_warning.txt": {"fp8_weight_only": 1, "fp8_setting": 1},
    "errors/03_triton_fp8e4nv.txt": {"fp8_refused": 1},
    "errors/04_cublaslt_invalid_value_h100.txt": {},
    "errors/05_cublaslt_not_supported_sm89.txt": {"fp8_refused": 1},
    "errors/06_invalid_argument_lookalikes.txt": {"invalid_argument": 2, "invalid_argument_elsewhere": 1},
    "errors/07_async_alloc_oom.txt": {"async_oom": 1, "torch_allocated": 1},
    "errors/08_native_oom.txt": {"native_oom": 1, "torch_allocated": 1, "torch_reserved": 1},
    "nccl/01_shm_2gpu.txt": {"nccl_shm": 4},
    "nccl/03_nvls_h800.txt": {"nccl_nvls": 4},
    "nccl/04_net_ib_and_socket.txt": {"nccl_net_ib": 2, "nccl_net_socket": 1},
    "nccl/05_watchdog_formats.txt": {"nccl_timeout": 4},
    "nccl/06_watchdog_in_tmux_box.txt": {"nccl_timeout": 1},
    "nccl/07_p2p_level_loc_env.txt": {"nccl_p2p_disabled_env": 1, "nccl_shm": 1},
    "nccl/08_old_p2p_forms.txt": {"nccl_p2p": 3},
    "nccl/09_rank_in_own_node.txt": {},
    "mixed/01_ticket_chain5.txt": {"nvlink_claimed": 1, "nccl_timeout": 1},
    "mixed/03_script_typescript_ansi.txt": {},
    "mixed/04_bug_report_sections.txt": {},
    "mixed/05_jupyter_bang_output.txt": {},
    "mixed/06_html_escaped_paste.txt": {},
    "incidents/01-nvlink-box-hangs/acs.txt": {"acs_redirect": 4},
    "incidents/01-nvlink-box-hangs/node7.log": {"nccl_p2p": 4, "nccl_shm": 4, "nccl_timeout": 4},
    "incidents/01-nvlink-box-hangs/paste.md": {"nvlink_claimed": 2},
    "incidents/02-slow-allreduce-dgx/nccl_test.out": {"nccl_p2p_disabled_env": 8, "nccl_shm": 8},
    "incidents/02-slow-allreduce-dgx/topo.paste": {},
    "incidents/03-offload-suddenly-slow/bw.md": {},
    "incidents/04-a100-serving-two-tries/first_try.log": {"fp8_setting": 2, "fp8_refused": 1},
    "incidents/04-a100-serving-two-tries/note.md": {},
    "incidents/04-a100-serving-two-tries/out.txt": {"kv_usage": 8, "kv_preempted": 6, "kv_cache_tokens": 1},
}


@pytest.mark.parametrize("file", FILES)
def test_sample_files(file: str) -> None:
    if not CORPUS:
        pytest.skip("DIAGNOSE_CORPUS is not set: the sample files are not part of the repository")
    text = (Path(CORPUS) / "samples" / file).read_text(encoding="utf-8", errors="replace")
    counts: dict[str, int] = {}
    for _, name, _ in texts.match_lines(text.splitlines()):
        counts[name] = counts.get(name, 0) + 1
    assert counts == FILES[file]
