from __future__ import annotations

import json
from pathlib import Path

import pytest

from diagnose.cli import main, sample


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Four sample cases in a folder of their own, laid out as the shipped ones."""
    root = tmp_path / "shelf"
    for name in ("a-chain/document", "a-chain/small", "healthy/quiet"):
        folder = root / name
        (folder / "deep").mkdir(parents=True)
        (folder / "expected.json").write_text("{}")
        (folder / "trace.sqlite").write_bytes(b"SQLite \xff")
        (folder / "deep" / "dmon.log").write_text("# gpu")
    (root / "_build").mkdir()
    (root / "_build" / "expected.json").write_text("{}")
    (root / "notes").mkdir()
    monkeypatch.setattr(sample, "_root", lambda: root)
    return root


@pytest.mark.usefixtures("shelf")
class TestShelf:
    def test_without_a_name_the_samples_are_listed(self, capsys):
        assert main(["sample"]) == 0
        assert capsys.readouterr().out.split() == ["a-chain/document", "a-chain/small", "healthy/quiet"]

    def test_a_sample_is_written_without_its_expected_answer(self, capsys):
        assert main(["sample", "a-chain/small", "-o", "new/case one"]) == 0
        files = {p.relative_to("new").as_posix() for p in Path("new").rglob("*") if p.is_file()}
        assert files == {"case one/trace.sqlite", "case one/deep/dmon.log"}
        assert Path("new/case one/trace.sqlite").read_bytes() == b"SQLite \xff"
        out, err = capsys.readouterr()
        assert out == "diagnose 'new/case one'\n"
        assert err.startswith("wrote a-chain/small to new/case one")

    def test_a_signature_name_takes_its_first_case(self, capsys):
        assert main(["sample", "a-chain"]) == 0
        assert capsys.readouterr().out == "diagnose sample-a-chain-document\n"
        assert Path("sample-a-chain-document/trace.sqlite").is_file()

    @pytest.mark.parametrize("kind", ["folder", "file"])
    def test_nothing_is_overwritten(self, capsys, kind):
        if kind == "folder":
            Path("mine").mkdir()
        else:
            Path("mine").write_text("mine")
        assert main(["sample", "a-chain", "-o", "mine"]) == 74
        assert "already exists" in capsys.readouterr().err
        assert Path("mine").read_text() == "mine" if kind == "file" else list(Path("mine").iterdir()) == []

    def test_an_unknown_name_is_2_with_a_close_one(self, capsys):
        assert main(["sample", "a-chian"]) == 2
        assert "did you mean a-chain" in capsys.readouterr().err
        assert list(Path().iterdir()) == []

    def test_no_name_escapes_the_shelf(self):
        assert main(["sample", ".."]) == 2
        assert main(["sample", "../shelf/a-chain"]) == 2


def test_shipped_samples_are_cases_that_say_what_is_expected():
    shipped = sample.shipped()
    assert shipped
    for name, folder in shipped.items():
        assert len(name.split("/")) == 2, name
        assert json.loads((folder / "expected.json").read_text(encoding="utf-8"))


def test_every_shipped_sample_can_be_written_and_judged(capsys):
    for name in sample.shipped():
        target = name.replace("/", "-")
        assert main(["sample", name, "-o", target]) == 0
        capsys.readouterr()
        assert main([target, "-q"]) in (0, 1, 3), name
