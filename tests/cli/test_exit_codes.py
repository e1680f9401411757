from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from diagnose.cli import codes, main

pytestmark = pytest.mark.usefixtures("fakes")
FULL = Path("/dev/full")


@pytest.mark.parametrize(
    ("behaviour", "options", "code"),
    [
        ("healthy", [], 0),
        ("nothing", [], 3),
        ("nothing", ["--exit-zero"], 3),
        ("found medium probable", [], 1),
        ("found critical confirmed", [], 1),
        ("found low confirmed", [], 0),
        ("found info confirmed", ["--fail-on", "low"], 0),
        ("found low confirmed", ["--fail-on", "low"], 1),
        ("found medium confirmed", ["--fail-on", "high"], 0),
        ("found high confirmed", ["--fail-on", "high"], 1),
        ("found high confirmed", ["--fail-on", "critical"], 0),
        ("found high probable", ["--min-verdict", "confirmed"], 0),
        ("found high confirmed", ["--min-verdict", "confirmed"], 1),
        ("found critical cannot_tell", [], 0),
        ("found critical ruled_out", [], 0),
        ("found critical absent", [], 0),
        ("found critical confirmed", ["--exit-zero"], 0),
        ("unreadable", [], 3),
        ("unreadable", ["--exit-zero"], 3),
        ("bug", [], 70),
        ("bug", ["--exit-zero"], 70),
        ("panic", [], 70),
        ("os-error", [], 70),
        ("interrupt", [], 130),
    ],
)
def test_the_judge_decides_the_code(case, behaviour, options, code):
    assert main([str(case(behaviour)), *options]) == code


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["--no-such-option"],
        ["-f"],
        ["x", "--fail-on", "severe"],
        ["facts"],
        ["case.txt", "-f", "pdf"],
        ["case.txt", "-f", "md", "-f", "json"],
        ["case.txt", "-o", "report.pdf"],
        ["case.txt", "--set", "min_follow"],
        ["case.txt", "--config", "missing.toml"],
        ["case.txt", "--width", "3"],
        ["-", "-"],
    ],
)
def test_usage_errors_are_2_and_print_nothing_on_stdout(case, capsys, args):
    case("healthy")
    assert main(args) == codes.USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert err


def test_no_arguments_print_the_help_on_stderr(capsys):
    assert main([]) == codes.USAGE
    assert "PATH..." in capsys.readouterr().err


def test_a_missing_path_cannot_be_judged(capsys):
    assert main(["missing.sqlite"]) == codes.NOT_JUDGED
    assert "missing.sqlite: no such file or folder" in capsys.readouterr().err


def test_a_misspelt_command_is_named(capsys):
    assert main(["explian"]) == codes.NOT_JUDGED
    assert "did you mean the command explain?" in capsys.readouterr().err


def test_an_internal_error_is_one_line_and_a_hint(case, capsys):
    assert main([str(case("bug"))]) == codes.INTERNAL
    assert capsys.readouterr().err.splitlines() == [
        "internal error: RuntimeError: something is wrong",
        "  run with --debug for the traceback",
    ]


@pytest.mark.parametrize("place", ["before", "after"])
def test_debug_prints_the_traceback(case, capsys, place):
    path = str(case("bug"))
    assert main(["--debug", path] if place == "before" else [path, "--debug"]) == codes.INTERNAL
    assert "Traceback" in capsys.readouterr().err


def test_debug_after_two_dashes_is_a_path(case):
    case("found critical confirmed", "--debug")
    assert main(["--", "--debug"]) == codes.FOUND


def test_an_error_has_its_hint(case, capsys):
    assert main([str(case("unreadable"))]) == codes.NOT_JUDGED
    assert capsys.readouterr().err == "error: case.txt: not an export\n  hint: export it first\n"


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_version(capsys, flag):
    from diagnose import __version__

    assert main([flag]) == codes.OK
    assert capsys.readouterr().out == f"diagnose {__version__}\n"


def test_system_exit_of_a_command_is_passed_on(case, monkeypatch):
    monkeypatch.setattr(sys.modules["diagnose.judge"], "judge", lambda *_: sys.exit(5))
    assert main([str(case("healthy"))]) == 5


# --- what needs a process of its own -----------------------------------------------------------


@pytest.mark.parametrize("behaviour", ["big", "found critical confirmed"])
def test_a_closed_pipe_is_141_and_silent(start, case, behaviour):
    path = case(behaviour)
    read, write = os.pipe()
    os.close(read)
    process = start(str(path), stdout=write)
    os.close(write)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (141, b"")


def test_a_reader_that_leaves_early_is_141(start, case):
    process = start(str(case("big")))
    assert process.stdout is not None
    process.stdout.read(1)
    process.stdout.close()
    assert process.wait(timeout=60) == 141


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["config"], ["facts", "--help"]])
def test_a_closed_pipe_is_141_for_every_printed_page(start, args):
    read, write = os.pipe()
    os.close(read)
    process = start(*args, stdout=write)
    os.close(write)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (141, b"")


def test_a_closed_stderr_does_not_cost_the_result(start, case):
    read, write = os.pipe()
    os.close(read)
    process = start(str(case("found critical confirmed")), "-f", "md", "-o", "ticket.md", stderr=write)
    os.close(write)
    process.communicate(timeout=60)
    assert process.returncode == codes.FOUND
    assert Path("ticket.md").is_file()


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize("args", [["case.txt"], ["--help"], ["--version"], ["config"]])
def test_a_full_device_on_stdout_is_74(start, case, args):
    case("found critical confirmed")
    with FULL.open("wb") as full:
        process = start(*args, stdout=full)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 74
    assert err.startswith(b"error: stdout cannot be written")
    assert err.count(b"\n") == 1


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_a_full_device_as_output_is_74(case):
    assert main([str(case("healthy")), "-f", "md", "-o", str(FULL)]) == codes.OUTPUT


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_signals(start, case, number, code):
    process = start(str(case("wait")))
    assert process.stderr is not None
    assert process.stderr.readline() == b"waiting\n"
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (code, b"", b"")


@pytest.mark.skipif(sys.platform == "win32", reason="shell")
def test_a_closed_stdout_is_74(case):
    fakes = Path(__file__).with_name("fakes.py")
    line = f"{sys.executable} {fakes} {case('healthy')} >&-"
    done = subprocess.run(["sh", "-c", line], capture_output=True, timeout=60, check=False)
    assert done.returncode == 74, done.stderr


def test_the_handler_of_sigterm_is_restored(case):
    before = signal.getsignal(signal.SIGTERM)
    main([str(case("healthy"))])
    assert signal.getsignal(signal.SIGTERM) is before
