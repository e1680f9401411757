"""Real traces: no crash, no unexpected finding, every verdict of the manifest, evidence untouched."""

from __future__ import annotations

import hashlib
import random
import shutil
from pathlib import Path

import pytest
from cases import CORPUS, corpus_rows, same, verdicts

from diagnose.errors import InputError
from diagnose.judge import judge, load_signatures
from diagnose.reports import FORMATS, RenderOptions

ROWS = corpus_rows()
needs_corpus = pytest.mark.skipif(not ROWS, reason="DIAGNOSE_CORPUS is not set: no real traces here")


def trace(name: str) -> Path:
    assert CORPUS is not None
    return CORPUS / "corpus" / "nsys" / name


@needs_corpus
@pytest.mark.parametrize("row", ROWS, ids=[r["file"] for r in ROWS])
def test_verdicts_of_real_traces(row: dict[str, str]) -> None:
    path = trace(row["file"])
    report = judge([path])
    found = verdicts(report)
    wrong = {s: (v, row[s]) for s, v in found.items() if s in row and not same(v, row[s])}
    assert not wrong, f"(found, wanted) by signature: {wrong}"
    unexpected = {s for s, v in found.items() if v == "confirmed" and row.get(s) != "confirmed"}
    assert not unexpected
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert report.inputs[0].sha256 == digest
    assert not list(path.parent.glob(path.name + "-*"))
    for form in FORMATS.values():
        assert form.render(
            report, RenderOptions(width=80, colour=False, ascii=False, verbose=True, command="")
        )


@needs_corpus
def test_how_many_files_and_signatures_this_ran_on(capsys: pytest.CaptureFixture[str]) -> None:
    signatures = load_signatures()
    judged = [s.id for s in signatures if s.id in ROWS[0]]
    with capsys.disabled():
        print(f"\ncorpus: {len(ROWS)} real traces, {len(judged)} signatures with expected verdicts")
    assert len(ROWS) >= 30
    assert len(judged) == len(list(signatures))


@needs_corpus
@pytest.mark.parametrize("share", [0.02, 0.4, 0.9])
def test_truncated_copy_is_one_error(tmp_path: Path, share: float) -> None:
    source = trace("h100-2gpu_weight-offload_2026.2.sqlite").read_bytes()
    path = tmp_path / "cut.sqlite"
    path.write_bytes(source[: int(len(source) * share)])
    try:
        report = judge([path])
    except InputError as error:
        assert "cut.sqlite" in str(error)
        assert error.hint
        return
    assert not any(f.verdict == "confirmed" for f in report.findings)
    assert report.inputs[0].problems


@needs_corpus
def test_overwritten_pages_never_invent_a_finding(tmp_path: Path) -> None:
    """One page at a time is overwritten: an error or a partial report, never a new confirmed verdict."""
    rng = random.Random(7)
    source = trace("h100-2gpu_video-bf16-nccl_2026.2.sqlite").read_bytes()
    for _ in range(12):
        page = rng.randrange(1, len(source) // 4096)
        path = tmp_path / f"page{page}.sqlite"
        path.write_bytes(source[: page * 4096] + rng.randbytes(4096) + source[(page + 1) * 4096 :])
        try:
            report = judge([path])
        except InputError:
            continue
        assert not any(f.verdict == "confirmed" for f in report.findings), page


@needs_corpus
def test_odd_file_names(tmp_path: Path) -> None:
    for name in (
        "a?b.sqlite",
        "a#b.sqlite",
        "a%20b.sqlite",
        "a b.sqlite",
        "a\nb.sqlite",
        "-o.sqlite",
        "é.sqlite",
    ):
        path = tmp_path / name
        shutil.copy(trace("rtx3080_tiny-two-kernels_2026.1.sqlite"), path)
        report = judge([path])
        assert report.trace is not None
        assert report.trace.kernels == 2
