from __future__ import annotations

import io
import os
import sys

import pytest

from diagnose.cli import main, page, progress, streams
from diagnose.settings import Settings


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Pipe(io.StringIO):
    encoding = "utf-8"


@pytest.mark.parametrize(
    ("setting", "tty", "environ", "colour"),
    [
        ("auto", True, {}, True),
        ("auto", False, {}, False),
        ("auto", True, {"NO_COLOR": "1"}, False),
        ("auto", True, {"NO_COLOR": ""}, True),
        ("auto", False, {"FORCE_COLOR": "1"}, True),
        ("auto", False, {"FORCE_COLOR": ""}, False),
        ("auto", False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ("auto", True, {"TERM": "dumb"}, False),
        ("auto", True, {"TERM": "xterm"}, True),
        ("auto", True, {"TERM": "dumb", "FORCE_COLOR": "1"}, True),
        ("always", False, {"NO_COLOR": "1"}, True),
        ("never", True, {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colour(setting, tty, environ, colour):
    stream = Terminal() if tty else Pipe()
    assert streams.look(stream, Settings(color=setting), environ).colour is colour


@pytest.mark.parametrize(
    ("encoding", "ascii_only"),
    [("utf-8", False), ("ascii", True), ("latin-1", True), ("cp1252", True), ("cp437", True), (None, True)],
)
def test_ascii_where_the_stream_cannot_draw(encoding, ascii_only):
    stream = Pipe()
    stream.encoding = encoding
    assert streams.look(stream, Settings(), {}).ascii is ascii_only


def test_ascii_on_request():
    assert streams.look(Pipe(), Settings(ascii=True), {}).ascii


def test_no_stdout_at_all():
    assert streams.look(None, Settings(), {}) == streams.Look(colour=False, ascii=True, width=None)


@pytest.mark.parametrize(
    ("setting", "environ", "width"),
    [
        (None, {}, None),
        (None, {"COLUMNS": "100"}, 100),
        (None, {"COLUMNS": "0"}, None),
        (None, {"COLUMNS": "wide"}, None),
        (None, {"COLUMNS": "5"}, 40),
        (90, {"COLUMNS": "100"}, 90),
    ],
)
def test_width_when_piped(setting, environ, width):
    assert streams.look(Pipe(), Settings(width=setting), environ).width == width


def test_width_of_a_terminal(monkeypatch):
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((132, 50)))
    terminal = Terminal()
    monkeypatch.setattr(terminal, "fileno", lambda: 1)
    assert streams.look(terminal, Settings(), {}).width == 132


def test_messages_carry_no_control_characters(capsys):
    streams.error("\x1b[31mred\x1b[0m\x07 \x9b1m\r name", "a\tb")
    err = capsys.readouterr().err
    assert "\x1b" not in err and "\x07" not in err and "\x9b" not in err and "\r" not in err
    assert "red" in err and "a\tb" in err


def test_the_report_gets_the_look_of_its_stream(fakes, case, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main([str(case("healthy")), "-v"]) == 0
    assert [
        (
            "text",
            fakes.RenderOptions(120, colour=True, ascii=False, verbose=True, command="diagnose case.txt"),
        )
    ] == fakes.RENDERED


def test_a_report_in_a_file_is_plain_and_unwrapped(fakes, case, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main([str(case("healthy", "a b.txt")), "-f", "text", "-o", "out.txt"]) == 0
    expected = fakes.RenderOptions(
        None, colour=False, ascii=False, verbose=False, command="diagnose 'a b.txt'"
    )
    assert [("text", expected)] == fakes.RENDERED


@pytest.mark.usefixtures("fakes")
def test_result_on_stdout_and_the_rest_on_stderr(case, capsys):
    assert main([str(case("healthy"))]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("text report ✔ case.txt")
    assert err == ""


@pytest.mark.usefixtures("fakes")
def test_quiet_leaves_only_the_exit_code(case, capsys):
    assert main([str(case("found critical confirmed")), "-q"]) == 1
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("fakes")
def test_quiet_still_writes_what_was_asked_for(case, capsys):
    assert main([str(case("healthy")), "-q", "-f", "json"]) == 0
    assert capsys.readouterr().out.startswith("json report")


def test_unreadable_inputs_are_named_on_stderr(fakes, case, capsys, monkeypatch):
    from dataclasses import replace

    from diagnose.findings import Input

    plain = fakes.judge

    def judged(*args):
        bad = (
            Input("b.bin", "unknown", "", 3, 0, problems=("not a known artifact",), readable=False),
            Input("c.log", "log", "", 3, 1, problems=("12 lines cut",)),
        )
        return replace(plain(*args), inputs=bad)

    monkeypatch.setattr(sys.modules["diagnose.judge"], "judge", judged)
    assert main([str(case("healthy"))]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "error: b.bin: not a known artifact",
        "warning: c.log: 12 lines cut",
    ]


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_text_on_a_narrow_stdout_never_fails(start, case, monkeypatch, encoding):
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    process = start(str(case("healthy")))
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert out.startswith("text report ✔".encode(encoding, "backslashreplace"))


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_other_formats_are_utf8_whatever_the_terminal_is(start, case, monkeypatch, encoding):
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    process = start(str(case("healthy")), "-f", "html")
    assert process.communicate(timeout=60)[0].startswith("html report ✔".encode())


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_large_report_arrives_whole(start, case, monkeypatch, unbuffered):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    out, _ = start(str(case("big"))).communicate(timeout=60)
    assert out.count(b"x") >= 4_000_000
    assert out.endswith(b"x\n")


def test_stdin_is_judged_under_its_own_name(start):
    import subprocess

    process = start("-", stdin=subprocess.PIPE)
    out, err = process.communicate(b"healthy\n", timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert out.startswith("text report ✔ - ".encode())


def test_a_trace_on_stdin_is_refused(start):
    import subprocess

    process = start("-", stdin=subprocess.PIPE)
    _, err = process.communicate(b"SQLite format 3\0 and more", timeout=60)
    assert process.returncode == 3
    assert b"name its file" in err


def drawn(monkeypatch, stream, seconds) -> str:
    clock = iter([0.0, *seconds])
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    line = progress.ProgressLine()
    for _ in seconds:
        line("reading", 1, 2)
    line.close()
    return stream.getvalue()


def test_progress_is_silent_for_two_seconds(monkeypatch):
    assert drawn(monkeypatch, Terminal(), [0.5, 1.9]) == ""


def test_progress_then_draws_and_wipes_one_line(monkeypatch):
    assert drawn(monkeypatch, Terminal(), [1.0, 2.5, 2.6]) == "\rreading 50%\r           \r"


def test_progress_needs_a_terminal(monkeypatch):
    assert drawn(monkeypatch, Pipe(), [1.0, 2.5, 5.0]) == ""


def test_a_table_is_not_wrapped_without_a_width():
    lines = page.table(("id", "text"), [("a", "word " * 60)])
    assert lines[2] == "a   " + ("word " * 60).rstrip()


def test_a_table_wraps_its_last_column():
    lines = page.table(("id", "text"), [("a", "one two three four five six"), ("b", "")], 24)
    assert lines[2:] == ["a   one two three four", "    five six", "b"]


def test_a_table_keeps_markup_and_drops_escapes():
    lines = page.table(("kernel",), [("std::string[abi:cxx11] k<float>[/red]:x:",), ("\x1b[31mred",)])
    assert "std::string[abi:cxx11] k<float>[/red]:x:" in lines[2]
    assert "\x1b" not in lines[3]


def test_a_wrapped_paragraph_loses_no_word_and_breaks_none():
    text = "one two-three " * 20 + "https://example.org/" + "x" * 80 + " end"
    lines = page.paragraph(text, 40, "  - ", "    ")
    assert " ".join(lines).split() == ["-", *text.split()]
    assert sum(len(line) > 40 for line in lines) == 1
    assert page.paragraph(text, None, "  ") == ["  " + text]
