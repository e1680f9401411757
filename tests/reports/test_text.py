"""The terminal report: golden pages (read by eye), and what holds for every page."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from reports_hostile import ALL, EVIL, hostile
from reports_make import H100, cast_storm, confirmed, gpu, healthy, probable, undecided

from diagnose.findings import Step
from diagnose.reports import FORMATS, RenderOptions
from diagnose.reports.text import render

GOLDEN = Path(__file__).parent / "golden"
COMMAND = "diagnose run_0412.sqlite dmon_0412.log"
SGR = re.compile(r"\x1b\[[0-9;]*m")
PAGES = [(case, width) for case in ("confirmed", "probable", "undecided", "healthy") for width in (80, 120)]


def page(report, width=100, **options):
    return render(report, RenderOptions(width=width, command=COMMAND, **options))


def squeezed(text):
    return " ".join(text.split())


@pytest.mark.parametrize(("case", "width"), PAGES)
def test_golden(case, width):
    """After a wanted change: UPDATE_GOLDEN=1 pytest tests/reports, then read the difference."""
    file = GOLDEN / f"{case}-{width}.txt"
    text = page(ALL[case](), width)
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


def test_golden_ascii():
    file = GOLDEN / "confirmed-80-ascii.txt"
    text = page(confirmed(), 80, ascii=True)
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [80, 100, 120])
def test_the_first_five_lines_say_what_how_sure_what_it_cost_and_what_to_do(width):
    top = squeezed("\n".join(page(confirmed(), width).splitlines()[:5]))
    assert "CONFIRMED" in top and "FP8 GEMMs whose results are cast to FP32" in top
    assert "GPU 0 and GPU 1" in top and H100 in top
    # 22.7 s / 61.4 s = 36.97 %, an upper bound, so rounded up
    assert "at most 22.7 s of the 61.4 s window (37.0%) on GPU 0" in top and "critical" in top
    assert "pass out_dtype=torch.bfloat16 where the FP8 linear layer is built." in top


def test_steps_stand_in_the_order_symptom_mechanism_cause():
    text = page(confirmed(), 120)
    places = [text.index(x) for x in ("the casts take 38.6%", "18,377 FP8 GEMMs", "99% of FP8 GEMMs")]
    assert places == sorted(places)


def test_a_step_has_its_mark_value_parts_limit_and_margin():
    lines = page(confirmed(), 120).splitlines()
    row = next(i for i, line in enumerate(lines) if "the casts take" in line)
    assert re.search(r"symptom\s+✔ the casts take 38.6% of kernel time\s+38.6%\s+≥ 5%\s+×7.72$", lines[row])
    assert lines[row + 1].strip() == "22.7 s of 58.9 s"
    assert any("? decode step p99" in line for line in lines)
    assert any("✘ FP8 was asked for in the log" in line for line in lines)


def test_an_unknown_value_says_why_and_a_changed_limit_says_so():
    text = squeezed(page(confirmed(), 80))
    assert "p99 unknown: the trace holds no NVTX ranges, asked ≥ 3 (limit set by configuration)" in text


def test_one_signature_on_two_devices_is_told_once():
    text = page(confirmed(), 100)
    assert text.count("FP8 GEMMs whose results are cast to FP32") == 1
    assert "GPU 1: at most 20.1 s of the 61.4 s window (32.8%)" in text


def test_many_devices_are_summed_up_in_words():
    storms = tuple(replace(cast_storm(), scope=gpu(i)) for i in range(8))
    text = page(replace(confirmed(), findings=storms), 100)
    assert f"GPU 0 to GPU 7, {H100}" in text


def test_a_folded_finding_stands_under_its_cause_and_nowhere_else():
    text = page(confirmed(), 100)
    assert text.count("(launch-bound)") == 1
    assert text.index("follows from this cause") < text.index("(launch-bound)") < text.index("PROBABLE")


def test_exhibit_times_are_the_clock_of_the_trace():
    text = page(confirmed(), 100)
    assert re.search(r"41\.902113\s+1\.28 ms\s+0\s+7\s+vectorized_elementwise_kernel: direct_copy", text)
    assert "all in decode > layer 12 > mlp.down_proj; 1 more with --verbose" in text


def test_absent_and_cannot_tell_are_apart_and_cannot_tell_has_its_command():
    text = page(confirmed(), 100)
    absent = text.index("\n  absent\n")
    unsure = text.index("\n  cannot tell\n")
    assert text.index("um-prefetch-stall") > absent
    assert unsure < text.index("nvlink-absent") < text.index("nvidia-smi topo -m > topo.txt") < absent


def test_signatures_that_one_command_decides_stand_together():
    assert page(confirmed(), 100).count("nvidia-smi topo -m > topo.txt") == 1


def test_a_signature_that_differs_by_device_is_named_with_the_device():
    other = replace(cast_storm(), scope=gpu(1), verdict="absent")
    text = page(replace(confirmed(), findings=(cast_storm(), other)), 100)
    assert f"fp8-cast-storm (GPU 1 {H100})" in text


def test_the_end_counts_signatures_and_makes_the_ticket():
    end = squeezed("\n".join(page(confirmed(), 80).splitlines()[-2:]))
    # fp8-cast-storm counts once although it fired on two devices
    assert end == (
        f"1 confirmed, 2 probable, 1 ruled out, 3 absent, 3 cannot tell ticket: {COMMAND} -f md -o ticket.md"
    )


def test_whole_hash_and_both_clocks_are_printed():
    text = page(confirmed(), 80)
    assert "9f2c41ab" * 8 in text and "02be77d0" * 8 in text
    assert "2026-04-12 03:07:21 UTC" in text and "2026-04-12 05:07:21 +02:00 local" in squeezed(text)


def test_healthy_is_short_and_names_the_nearest_miss():
    lines = page(healthy(), 80).splitlines()
    assert len(lines) < 25
    assert lines[0] == "Nothing found: 4 signatures judged, none fits."
    assert "nearest" in "\n".join(lines) and "CONFIRMED" not in "\n".join(lines)


def test_nothing_judged_is_no_all_clear():
    text = page(undecided(), 80)
    assert text.startswith("Nothing could be judged") and "no all-clear" in text
    assert "Nothing found" not in text
    assert "do first   nvidia-smi topo -m > topo.txt" in text


@pytest.mark.parametrize("case", ALL)
@pytest.mark.parametrize("width", [60, 80, 100, 120, 140])
@pytest.mark.parametrize("verbose", [False, True])
def test_no_line_is_wider_than_asked_except_commands(case, width, verbose):
    for line in page(ALL[case](), width, verbose=verbose).splitlines():
        if not re.match(r"\s*(run|ticket:|do first) ", line):
            assert len(line) <= width, line


@pytest.mark.parametrize("case", ["confirmed", "probable", "healthy", "undecided"])
def test_words_are_never_cut_by_wrapping(case):
    """Kernel names are shortened with an ellipsis where a column is narrow; nothing else is ever cut."""
    whole = set(re.findall(r"[\w.-]{4,}", page(ALL[case](), None))) | {"evidence", "measured"}
    for width in (80, 90, 110):
        assert not set(re.findall(r"[\w.-]{4,}", re.sub(r"\w+…", "", page(ALL[case](), width)))) - whole


@pytest.mark.parametrize("case", ["confirmed", "probable", "healthy", "undecided"])
def test_piped_has_no_colour_no_rule_no_bar_and_one_line_a_step(case):
    text = page(ALL[case](), None)
    assert not re.search(r"[\u2500-\u259f\x1b]", text)
    for line in text.splitlines():
        assert line == line.rstrip()
    if case == "confirmed":
        assert (
            "  symptom: ✔ the casts take 38.6% of kernel time "
            "[38.6% (22.7 s of 58.9 s), asked ≥ 5%; margin ×7.72]" in text.splitlines()
        )


@pytest.mark.parametrize("case", ALL)
@pytest.mark.parametrize("width", [None, 80])
def test_ascii_has_nothing_above_127(case, width):
    text = page(ALL[case](), width, ascii=True, verbose=True)
    assert text.isascii()
    if case == "confirmed":
        assert "holds" in text and "unknown" in text and "fails" in text and ">= 5%" in text


@pytest.mark.parametrize("width", [None, 80, 120])
@pytest.mark.parametrize("ascii", [False, True])
def test_hostile_text_is_inert(width, ascii):
    text = page(hostile(), width, ascii=ascii, verbose=True)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]", text)
    flat = text.replace("\n", "")
    assert "[/red]" in flat and ":x: :boom:" in flat and "❌" not in flat and "💥" not in flat
    assert "\\x1b[31mred" in text and "\\u202eesrever" in text
    assert "x" * 10_000 not in re.sub(r"\s", "", text), "a 20,000 character name must be cut"
    assert not any(line.startswith("### ") for line in text.splitlines())


def test_colour_changes_nothing_but_colour():
    plain = page(confirmed(), 100)
    coloured = page(confirmed(), 100, colour=True)
    assert SGR.search(coloured)
    bare = SGR.sub("", coloured)
    assert "\x1b" not in bare
    assert squeezed(bare) == squeezed(plain)


def test_hostile_text_in_colour_holds_only_our_own_sequences():
    assert "\x1b" not in SGR.sub("", page(hostile(), 100, colour=True))


def test_the_environment_changes_nothing(monkeypatch):
    before = page(confirmed(), 100), page(confirmed(), 100, colour=True)
    for name, value in {"COLUMNS": "40", "NO_COLOR": "1", "TERM": "dumb", "FORCE_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    assert (page(confirmed(), 100), page(confirmed(), 100, colour=True)) == before


def test_verbose_names_source_condition_and_reason_of_each_number():
    text = squeezed(page(confirmed(), 140, verbose=True))
    assert "step casts_cost (effect): cast_share >= min_cast_share" in text
    assert "cast_share = matched_time_share from run_0412.sqlite, kernels, whole window, GPU 0" in text
    assert "min_cast_share = 0.05: below this the casts are not worth a change" in text
    assert "async-pool-growth: no stream-ordered allocation was made" in text
    assert "https://github.com/pytorch/pytorch" in text


def test_a_run_that_was_lost_says_so():
    lost = replace(cast_storm(), impact_kind="run_lost", lost_ns=None)
    assert "cost       critical: the run was lost" in page(replace(confirmed(), findings=(lost,)), 100)


def test_memory_is_a_bound_in_gib():
    pool = replace(cast_storm(), impact_kind="memory", lost_ns=None, lost_bytes=17.9 * 2**30)
    assert "at most 17.9 GiB of GPU memory" in page(replace(confirmed(), findings=(pool,)), 100)


def test_a_step_without_facts_and_a_bare_finding_still_print():
    bare = replace(
        cast_storm(), steps=(Step("s", "cause", "cause", True, "it is so", "x"),), exhibits=(), remedies=(),
        captures=(), rule_outs=(), flips=(), blind_spots="", bound="", lost_ns=None, window_ns=None,
    )  # fmt: skip
    text = page(replace(probable(), findings=(bare,), breakdown=(), coverage=(), trace=None, inputs=()), 80)
    assert "✔ it is so" in text and "not measured" in text


def test_formats_are_found_by_name_and_end_with_a_newline():
    for name, fmt in FORMATS.items():
        assert fmt.name == name
        for case in ALL.values():
            text = fmt.render(case(), RenderOptions(width=80))
            assert text.endswith("\n") and not text.endswith("\n\n")
            assert text == fmt.render(case(), RenderOptions(width=80))


def test_every_hostile_string_is_in_the_report_in_some_form():
    text = re.sub(r"\s", "", page(hostile(), None))
    for evil in EVIL:
        assert re.sub(r"\s", "", evil)[:6].split("\x1b")[0].split("\u202e")[0] in text
