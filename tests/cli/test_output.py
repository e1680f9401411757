from __future__ import annotations

import os
import stat
import sys
import threading
from pathlib import Path

import pytest

from diagnose.cli import codes, main, output, run
from diagnose.errors import OutputError, UsageError
from diagnose.settings import Settings

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX files")


def files() -> set[str]:
    return {p.name for p in Path().iterdir()}


def test_a_new_file_is_utf8_with_a_last_newline():
    output.to_file("a.md", "gemm → cast")
    assert Path("a.md").read_bytes() == "gemm → cast\n".encode()
    assert files() == {"a.md"}


def test_an_undecodable_file_name_in_the_text_can_be_written():
    output.to_file("a.md", "b\udcffd")
    assert Path("a.md").read_bytes() == b"b\\udcffd\n"


@posix
def test_a_new_file_has_the_mode_of_the_umask():
    before = os.umask(0o027)
    try:
        output.to_file("a.md", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE(Path("a.md").stat().st_mode) == 0o640


@posix
def test_a_replaced_file_keeps_its_mode():
    Path("a.md").write_text("old")
    Path("a.md").chmod(0o604)
    output.to_file("a.md", "new")
    assert Path("a.md").read_text() == "new\n"
    assert stat.S_IMODE(Path("a.md").stat().st_mode) == 0o604


def test_a_failed_write_leaves_the_old_file_and_no_temporary(monkeypatch):
    Path("a.md").write_text("old")

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(output, "_write_all", full)
    with pytest.raises(OutputError, match=r"a\.md: No space left on device"):
        output.to_file("a.md", "new")
    assert Path("a.md").read_text() == "old"
    assert files() == {"a.md"}


def test_an_interrupted_write_leaves_no_temporary(monkeypatch):
    def interrupt(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(output, "_write_all", interrupt)
    with pytest.raises(KeyboardInterrupt):
        output.to_file("a.md", "new")
    assert files() == set()


@posix
def test_a_link_stays_a_link():
    Path("real.md").write_text("old")
    Path("link.md").symlink_to("real.md")
    output.to_file("link.md", "new")
    assert Path("link.md").is_symlink()
    assert Path("real.md").read_text() == "new\n"


@posix
def test_a_link_to_nothing_yet_makes_its_target():
    Path("link.md").symlink_to("real.md")
    output.to_file("link.md", "new")
    assert Path("link.md").is_symlink()
    assert Path("real.md").read_text() == "new\n"


@posix
def test_a_fifo_is_written_through():
    os.mkfifo("pipe")
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(Path("pipe").read_bytes()))
    reader.start()
    output.to_file("pipe", "x" * 200_000)
    reader.join(timeout=30)
    assert got == [b"x" * 200_000 + b"\n"]
    assert stat.S_ISFIFO(Path("pipe").stat().st_mode)


@posix
def test_the_null_device_survives():
    output.to_file("/dev/null", "x")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="needs /dev/stdout")
def test_dev_stdout_that_is_a_pipe(start, case):
    process = start(str(case("healthy")), "-f", "md", "-o", "/dev/stdout")
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out.startswith(b"md report")


@pytest.mark.parametrize("target", ["missing/a.md", "."])
def test_what_cannot_be_written_is_an_output_error(target):
    with pytest.raises(OutputError) as caught:
        output.to_file(target, "x")
    assert caught.value.exit_code == codes.OUTPUT
    assert caught.value.where == target


@posix
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write everything")
def test_a_read_only_file_is_not_replaced():
    Path("a.md").write_text("old")
    Path("a.md").chmod(0o444)
    with pytest.raises(OutputError):
        output.to_file("a.md", "new")
    assert Path("a.md").read_text() == "old"


def pairs(formats: list[str], targets: list[str], **settings: object) -> list[tuple[str, str]]:
    return run.pair(formats, targets, Settings(**settings))


@pytest.mark.usefixtures("fakes")
class TestPairs:
    def test_nothing_is_text_on_stdout(self):
        assert pairs([], []) == [("text", "-")]

    def test_the_configured_format(self):
        assert pairs([], [], format="md") == [("md", "-")]

    def test_quiet(self):
        assert pairs([], [], quiet=True) == []

    def test_a_format_alone_goes_to_stdout(self):
        assert pairs(["json"], []) == [("json", "-")]

    def test_in_order(self):
        expected = [("md", "x.md"), ("json", "-")]
        assert pairs(["md", "json"], ["x.md", "-"]) == expected

    def test_suffixes(self):
        expected = [("md", "x.md"), ("json", "y.JSON"), ("html", "z.html"), ("text", "-")]
        assert pairs([], ["x.md", "y.JSON", "z.html", "-"]) == expected

    @pytest.mark.parametrize(
        ("formats", "targets"),
        [
            (["md", "json"], []),
            (["md"], ["a", "b"]),
            (["md", "json"], ["a"]),
            (["pdf"], []),
            ([], ["a.pdf"]),
            ([], ["a"]),
            (["md", "json"], ["a", "a"]),
            (["md", "json"], ["-", "-"]),
        ],
    )
    def test_refused(self, formats, targets):
        with pytest.raises(UsageError):
            pairs(formats, targets)

    def test_an_unknown_configured_format(self):
        with pytest.raises(UsageError):
            pairs([], [], format="pdf")


@pytest.mark.usefixtures("fakes")
def test_several_reports_at_once(case, capsys):
    args = ["-f", "md", "-o", "x.md", "-f", "json", "-o", "-", "-f", "html", "-o", "x.html"]
    assert main([*args, str(case("found high confirmed"))]) == 1
    assert Path("x.md").read_text(encoding="utf-8").startswith("md report")
    assert Path("x.html").read_text(encoding="utf-8").startswith("html report")
    out, err = capsys.readouterr()
    assert out.startswith("json report")
    assert err == ""


@pytest.mark.usefixtures("fakes")
def test_a_report_in_files_only_says_so(case, capsys):
    assert main([str(case("found high confirmed")), "-o", "x.md"]) == 1
    assert capsys.readouterr() == ("", "wrote x.md: 1 confirmed\n")


@pytest.mark.usefixtures("fakes")
def test_an_output_error_is_74_even_with_findings(case):
    assert main([str(case("found high confirmed")), "-f", "md", "-o", "missing/x.md"]) == 74


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize("name", ["case.txt", "./case.txt", "link.txt"])
def test_an_input_is_never_overwritten(case, name):
    path = case("healthy")
    Path("link.txt").symlink_to(path)
    assert main([str(path), "-o", name]) == 2
    assert path.read_text() == "healthy\n"


def test_a_file_of_an_input_folder_is_never_overwritten(fakes, case, monkeypatch):
    Path("bundle").mkdir()
    path = case("healthy", "bundle/log.txt")
    plain = fakes.judge
    monkeypatch.setattr(sys.modules["diagnose.judge"], "judge", lambda _, *rest: plain([path], *rest))
    assert main(["bundle", "-o", "bundle/log.txt"]) == 2
    assert path.read_text() == "healthy\n"
    assert main(["bundle", "-o", "bundle/ticket.md"]) == 0
