from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from diagnose.cli import list_, main, signature_page
from diagnose.engine.compiled import Call, Signature
from diagnose.engine.signature import SignatureFile, frozen
from diagnose.findings import Threshold

ROOT = Path(__file__).parents[2]
IDS = sorted(p.stem for p in (ROOT / "signatures").glob("*.toml"))

TEXT = """
schema = 1
version = 3
title = "a cause"
status = "experimental"
scope = "process_device"
explains = ["b-chain"]
summary = "What happens."
blind_spots = "What is not seen."
[needs]
any_of = ["kernels", "gpu_pairs"]
helpful = ["gpu_samples"]
[thresholds]
floor = { value = 0.125, why = "because of this" }
[facts]
share = { metric = "kernel_time_share", family = "fp8_gemm" }
[[step]]
id = "why"
role = "cause"
stage = "cause"
says = "the cause"
  [[step.way]]
  id = "kernels"
  decisive = true
  when = "share > 0.5"
  [[step.way]]
  id = "text"
  when = "share > 0.7"
[[step]]
id = "seen"
role = "gate"
stage = "symptom"
identity = true
says = "{share:.1%} of {{time}}"
when = "share >= floor"
[[rule_out]]
id = "other"
when = "share < 0.1"
says = "only {share:.0%}"
see = "c-chain"
if_unknown = "cap"
[[verdict]]
is = "confirmed"
when = "seen AND why"
variant = "loud"
[impact]
kind = "time"
[[remedy]]
do = "First thing."
verify = "look again"
variant = "loud"
applies = "vLLM"
source = { title = "The manual", url = "https://example.org/a-very-long-path/that-must-not-be-broken" }
[[remedy]]
do = "Second thing."
[source]
documented = "What the document says."
corrections = ["What it gets wrong."]
"""


def signature() -> Signature:
    file = SignatureFile.model_validate(frozen(tomllib.loads(TEXT)))
    thresholds = {"floor": Threshold("floor", 0.125, "because of this", overridden=True)}
    calls = {"share": Call("kernel_time_share", {"family": "fp8_gemm"}, "ratio")}
    return Signature("a-chain", Path("a-chain.toml"), file, thresholds, calls, (), None, {})


def page(width: int | None = None) -> str:
    return "\n".join(signature_page.lines(signature(), width))


@pytest.mark.parametrize(
    "line",
    [
        "a-chain: a cause",
        "version 3, experimental; judged for each process on a device",
        "What happens.",
        "  symptom    seen: <share> of {time}",
        "             must hold, or the answer is absent; "
        "if unknown it is taken as true and the verdict is at most probable",
        "             when share >= floor",
        "  cause      why: the cause",
        "             kernels: when share > 0.5",
        "             text: when share > 0.7 (can show it, cannot deny it)",
        "  confirmed (loud) when seen AND why",
        "  floor  0.125 (replaced)  because of this",
        "  share  ratio  kernel_time_share(family=fp8_gemm)",
        "  other: only <share> (see c-chain)",
        "    when share < 0.1",
        "    if it cannot be checked the verdict is at most probable",
        "  1. First thing. [loud]",
        "     applies to vLLM",
        "     verify: look again",
        "     The manual: https://example.org/a-very-long-path/that-must-not-be-broken",
        "  2. Second thing.",
        "  What is not seen.",
        "  b-chain",
        "  What the document says.",
        "  - What it gets wrong.",
    ],
)
def test_the_page_has(line):
    assert line in page().splitlines()


def test_the_page_tells_the_chain_from_symptom_to_cause():
    assert page().index("seen: ") < page().index("why: the cause")


def test_the_page_tells_how_to_capture():
    from diagnose.catalogue.captures import capture_for

    capture = capture_for("kernels")
    assert capture is not None
    assert f"    {capture.command}" in page(60).splitlines()


def test_a_page_keeps_its_width_and_breaks_nothing_that_is_to_be_copied():
    lines = page(50).splitlines()
    copied = [line for line in lines if "https:" in line or "nsys profile" in line or "nvidia-smi" in line]
    assert any("https://example.org/a-very-long-path/that-must-not-be-broken" in line for line in copied)
    assert max(len(line) for line in lines if line not in copied) <= 50


def test_a_row_of_the_list():
    row = list_.to_text([signature()], None)[2]
    assert re.split(" {2,}", row) == ["a-chain", "a cause", "kernels or gpu_pairs", "experimental"]


# --- with the signatures that are shipped ------------------------------------------------------


def test_list_names_every_signature_file(capsys):
    assert main(["list"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    rows = out.splitlines()
    assert rows[0].split()[0] == "signature"
    assert [row.split()[0] for row in rows[2:]] == IDS


def test_list_warns_of_an_empty_folder(capsys):
    Path("ours").mkdir()
    assert main(["list", "--signatures", "ours"]) == 0
    assert capsys.readouterr().err.endswith("ours: no signature files (*.toml)\n")


def test_list_as_json(capsys):
    assert main(["list", "-f", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)["signatures"]
    assert [s["id"] for s in listed] == IDS
    for entry in listed:
        file = tomllib.loads((ROOT / "signatures" / f"{entry['id']}.toml").read_text(encoding="utf-8"))
        assert (entry["title"], entry["any_of"]) == (file["title"], file["needs"]["any_of"])


@pytest.mark.parametrize("width", [[], ["--width", "60"]], ids=["piped", "60"])
@pytest.mark.parametrize("name", IDS)
def test_explain(capsys, name, width):
    assert main(["explain", name, *width]) == 0
    text = capsys.readouterr().out
    file = tomllib.loads((ROOT / "signatures" / f"{name}.toml").read_text(encoding="utf-8"))
    assert text.startswith(f"{name}: ")
    flat = " ".join(text.split())
    for step in file["step"]:
        assert f" {step['id']}: " in flat
    for threshold in file.get("thresholds", {}):
        assert f" {threshold} " in flat
    for remedy in file.get("remedy", []):
        assert " ".join(remedy["do"].split()) in flat
    for correction in file.get("source", {}).get("corrections", []):
        assert " ".join(correction.split()) in flat
    assert "{" not in text.partition("How to capture")[0].replace("{{", "")


def test_explain_shows_a_replaced_threshold(capsys):
    file = tomllib.loads((ROOT / "signatures" / f"{IDS[0]}.toml").read_text(encoding="utf-8"))
    name = next(iter(file["thresholds"]))
    assert main(["explain", IDS[0], "--set", f"{IDS[0]}.{name}=7.25"]) == 0
    assert "7.25 (replaced)" in capsys.readouterr().out


def test_an_unknown_id_is_2_with_close_matches(capsys):
    assert main(["explain", "fp8-cast-strom"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "did you mean fp8-cast-storm" in err


def test_an_unknown_threshold_is_2(capsys):
    assert main(["explain", IDS[0], "--set", f"{IDS[0]}.no_such=1"]) == 2
    assert "no_such" in capsys.readouterr().err


@pytest.mark.parametrize("args", [["list"], ["explain", "fp8-cast-storm"]], ids=" ".join)
def test_a_broken_signature_folder_is_2(capsys, args):
    Path("ours").mkdir()
    Path("ours/our-chain.toml").write_text("schema = 1\ntitle = ]")
    assert main([*args, "--signatures", "ours"]) == 2
    assert "our-chain.toml:2" in capsys.readouterr().err
