from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from diagnose.cli import main

ROOT = Path(__file__).parents[2]
SHIPPED = sorted((ROOT / "signatures").glob("*.toml"))


def copy(name: str, old: str = "", new: str = "") -> Path:
    """A shipped signature under another id, with one change."""
    source = ROOT / "signatures" / "fp8-cast-storm.toml"
    text = source.read_text(encoding="utf-8")
    assert old in text
    target = Path(name)
    target.parent.mkdir(exist_ok=True)
    target.write_text(text.replace(old, new, 1), encoding="utf-8")
    return target


def test_the_shipped_signatures_have_no_fault(capsys):
    assert main(["check"]) == 0
    assert capsys.readouterr().out.startswith(f"no fault; signatures: {len(SHIPPED)}, ")


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_each_alone(capsys, path):
    assert main(["check", str(path)]) == 0
    assert capsys.readouterr().out.startswith("no fault; signatures: 1, ")


def test_a_file_of_ones_own(capsys):
    assert main(["check", str(copy("ours/our-chain.toml"))]) == 0
    assert capsys.readouterr().out.startswith("no fault; signatures: 1, ")


def test_a_folder_of_ones_own(capsys):
    copy("ours/our-chain.toml")
    copy("ours/our-other.toml")
    assert main(["check", "ours"]) == 0
    assert capsys.readouterr().out.startswith("no fault; signatures: 2, ")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("schema       = 1", "schema       =", "not valid TOML"),
        ("followed >= min_follow", "folowed >= min_follow", "folowed"),
        ('metric = "kernel_count"', 'metric = "kernel_cuont"', "kernel_cuont"),
        ('expect = "confirmed"', 'expect = "absent"', "expected absent"),
    ],
)
def test_a_fault_is_2_with_its_place(capsys, old, new, words):
    path = copy("ours/our-chain.toml", old, new)
    assert main(["check", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert "our-chain.toml:" in err


def test_a_name_that_is_taken(capsys):
    Path("ours").mkdir()
    shutil.copy(SHIPPED[0], "ours")
    assert main(["check", f"ours/{SHIPPED[0].name}"]) == 2
    assert "already loaded" in capsys.readouterr().err


def test_the_warnings_of_others_are_not_said(capsys):
    assert (
        main(
            [
                "check",
                str(copy("ours/our-chain.toml", 'explains     = ["', 'explains     = ["no-such-chain", "')),
            ]
        )
        == 0
    )
    warnings = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning:")]
    assert any("no-such-chain" in line for line in warnings)
    assert all("our-chain.toml" in line for line in warnings)


def test_a_missing_file(capsys):
    assert main(["check", "missing.toml"]) == 2
    assert "missing.toml" in capsys.readouterr().err
