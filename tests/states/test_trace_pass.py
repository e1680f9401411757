"""One pass over a file: shared states, projection, rows out of order, progress."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from make_export import KERNEL, LAUNCH, Trace
from measuring import name_in

from diagnose.artifacts import nsys_sqlite
from diagnose.artifacts.chunks import Chunk
from diagnose.artifacts.nsys_sqlite import NsysExport
from diagnose.states.api_calls import ApiTotals
from diagnose.states.kernels import KernelTotals, Pairs
from diagnose.states.trace_pass import TracePass

GEMM, CAST = name_in("fp8_gemm"), name_in("cast_to_f32")


def shuffled(folder: Path, seed: int | None) -> NsysExport:
    """200 kernels on two streams; rows in start order, or shuffled."""
    trace = Trace()
    rng = random.Random(1)
    for i in range(200):
        trace.kernel(
            10 * i, 10 * i + rng.randrange(1, 9), rng.choice([GEMM, CAST, "x"]), corr=i, stream=i % 2
        )
    if seed is not None:
        random.Random(seed).shuffle(trace.tables[KERNEL])
    return NsysExport(trace.write(folder / f"s{seed}.sqlite"))


def run(export: NsysExport) -> tuple[TracePass, Any, Any]:
    trace = TracePass(export)
    first, then = trace.family("fp8_gemm"), trace.family("cast_to_f32")
    trace.want("pairs", lambda: Pairs(first, then, None))
    trace.want("totals", KernelTotals)
    trace.run()
    return trace, trace.got("pairs"), trace.got("totals")


@pytest.mark.parametrize("rows_a_chunk", [7, 8192])
@pytest.mark.parametrize("seed", [2, 3])
def test_rows_out_of_order_are_read_again_sorted_and_give_the_same_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, rows_a_chunk: int
) -> None:
    monkeypatch.setattr(nsys_sqlite, "CHUNK_ROWS", rows_a_chunk)
    ordered, pairs, totals = run(shuffled(tmp_path, None))
    sorted_again, pairs_again, totals_again = run(shuffled(tmp_path, seed))
    assert (ordered.resorted, sorted_again.resorted) == ([], ["kernels"])
    mine, again = pairs.matched[(100, 0)], pairs_again.matched[(100, 0)]
    for field in ("firsts", "first_ns", "matched", "then_ns", "gap_ns"):
        assert getattr(mine, field) == getattr(again, field)
    assert mine.matched > 10

    def named(trace: TracePass, state: Any) -> dict[str, tuple[int, int]]:
        return {trace.kernel_names.names[k[-1]]: (t.count, t.sum_ns) for k, t in state.totals.items()}

    assert named(ordered, totals) == named(sorted_again, totals_again)
    assert sum(n for n, _ in named(ordered, totals).values()) == 200  # nothing is counted twice
    assert sorted_again.rows == {"kernels": 200}


def test_only_wanted_streams_and_columns_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = Trace()
    trace.launch(10, 20)
    trace.copy(30, 40)
    export = NsysExport(trace.write(tmp_path / "t.sqlite"))
    asked: dict[str, set[str]] = {}
    real = export.stream

    def spy(stream: str, wanted: Iterable[str], **how: Any) -> Iterator[Chunk]:
        asked[stream] = set(wanted)
        return real(stream, wanted, **how)

    monkeypatch.setattr(export, "stream", spy)
    one = TracePass(export)
    one.want("totals", KernelTotals)
    one.run()
    assert asked == {"kernels": set(KernelTotals.columns)}


def test_a_state_that_two_ask_for_is_made_once_and_progress_counts_rows(tmp_path: Path) -> None:
    trace = Trace()
    for i in range(5):
        trace.launch(10 * i, 10 * i + 5)
    one = TracePass(NsysExport(trace.write(tmp_path / "t.sqlite")))
    made: list[int] = []

    def maker() -> ApiTotals:
        made.append(1)
        return ApiTotals(one.group("launch"))

    one.want("api", maker)
    one.want("api", maker)
    seen: list[tuple[str, int]] = []
    one.run(lambda stream, rows: seen.append((stream, rows)))
    assert made == [1] and seen == [("api_calls", 5)]
    assert one.has("api") and not one.has("other")


def test_families_and_groups_are_flags_over_the_names_of_this_trace(tmp_path: Path) -> None:
    trace = Trace()
    trace.launch(10, 20, GEMM)
    trace.launch(30, 40, CAST)
    trace.api(50, 60, "cudaDeviceSynchronize_v3020")
    one = TracePass(NsysExport(trace.write(tmp_path / "t.sqlite")))
    one.want("totals", KernelTotals)
    one.want("api", lambda: ApiTotals(one.group("launch")))
    one.run()

    def members(flags: Any, names: list[str]) -> set[str]:
        return {n for n, yes in zip(names, flags.flags.tolist(), strict=True) if yes}

    kernels, apis = one.kernel_names.names, one.api_names.names
    assert members(one.family("fp8_gemm"), kernels) == {GEMM}
    assert members(one.union_family("fp8_gemm, cast_to_f32"), kernels) == {GEMM, CAST}
    assert one.union_family("fp8_gemm") is one.family("fp8_gemm")
    assert members(one.group("launch"), apis) == {LAUNCH}
    assert members(one.group("sync"), apis) == {"cudaDeviceSynchronize_v3020"}
    with pytest.raises(KeyError):
        one.family("no such family").flags  # noqa: B018 - the property decides
