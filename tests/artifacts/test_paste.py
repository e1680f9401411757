"""Cleaning and cutting of pasted text."""

from __future__ import annotations

import pytest

from diagnose.artifacts.paste import Unterminated, clean, split


def texts(text: str) -> list[str]:
    return [line.text for line in clean(text)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("\ufeffa\nb\n", ["a", "b"]),
        ("a\r\nb\r\n", ["a", "b"]),
        ("a\rb\r", ["a", "b"]),
        ("\x1b[01;31mred\x1b[0m\n", ["red"]),
        ("\t\x1b[4mGPU0\tGPU1\x1b[0m\n", ["\tGPU0\tGPU1"]),
        ("\x1b[H\x1b[2JEvery 1.0s: x\n", ["Every 1.0s: x"]),
        ("\x1b]0;me@node: ~\x07$ ls\n", ["$ ls"]),
        ("\x1b]0;cut title\nnext\n", ["0;cut title", "next"]),
        ("Link 1: &lt;inactive&gt;\n", ["Link 1: <inactive>"]),
        ("a&nbsp;b &amp;lt; --x&copy=1\n", ["a b &lt; --x&copy=1"]),
        ("a&#10;b\n", ["a b"]),
        ("nvidia-sno\x08mi\n", ["nvidia-snmi"]),
        ("a\0b\n", ["ab"]),
        ("a\u2028b\x0cc\n", ["a\u2028b\x0cc"]),  # only line feeds end lines
        ("", []),
    ],
)
def test_clean(given: str, expected: list[str]) -> None:
    assert texts(given) == expected


def test_raw_and_numbers_are_those_of_the_file() -> None:
    lines = clean("one\r\n\x1b[1mtwo\x1b[0m\r\nthree &lt;\r\n")
    assert [(ln.number, ln.text, ln.raw) for ln in lines] == [
        (1, "one", "one"),
        (2, "two", "\x1b[1mtwo\x1b[0m"),
        (3, "three <", "three &lt;"),
    ]


def test_progress_bar_keeps_the_line_number() -> None:
    lines = clean("start\n 10%\r 50%\r100%\nRuntimeError: x\n")
    assert [(ln.number, ln.text) for ln in lines] == [
        (1, "start"), (2, " 10%"), (2, " 50%"), (2, "100%"), (3, "RuntimeError: x"),
    ]  # fmt: skip


def test_last_line_without_a_break_is_marked() -> None:
    assert isinstance(clean("a\nb")[-1], Unterminated)
    assert not any(isinstance(line, Unterminated) for line in clean("a\nb\n"))


@pytest.mark.parametrize(
    "prefix",
    [
        "2025-05-07T11:02:10.031Z node-7 collector[2231]: ",
        "May  7 11:02:10 node-7 kernel: ",
        "[2025-05-07 11:02:10] ",
        "[1,0]<stdout>:",
        "[rank0]: ",
        "[80746] [rank0]: ",
        "worker-1  | ",
        "> ",
        "│ ",
    ],
)
def test_prefix_of_nearly_all_lines_goes_and_the_tab_behind_it_stays(prefix: str) -> None:
    body = ["\tGPU0\tGPU1", "GPU0\t X \tNV4", "GPU1\tNV4\t X ", "", "end"]
    assert texts("".join(f"{prefix}{line}\n" for line in body)) == body


def test_box_bars_go_on_both_sides() -> None:
    assert texts("│ one   │\n│ two   │\n│ three │\n") == ["one", "two", "three"]


def test_table_of_nvidia_smi_keeps_its_bars() -> None:
    table = ["| NVIDIA-SMI 555.42.02 |", "| GPU  Name |", "|   0  X |"]
    assert texts("\n".join(table) + "\n") == table


def test_rare_prefix_stays() -> None:
    lines = ["[rank0]: error"] + [f"line {i}" for i in range(9)]
    assert texts("\n".join(lines) + "\n") == lines


def test_prefix_of_one_section_only() -> None:
    rows = ["\tGPU0\tGPU1", "GPU0\t X \tPIX", "GPU1\tPIX\t X "]
    text = "We see this:\nmany words\nand more\n```\n" + "".join(f"[rank0]:{r}\n" for r in rows) + "```\n"
    assert [line.text for line in split(clean(text))[-1].lines] == rows


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("$ nvidia-smi topo -m", "nvidia-smi topo -m"),
        ("ops@node-7:~$ ibstatus", "ibstatus"),
        ("(venv) user@node-1:~/x$ nvidia-smi topo -m", "nvidia-smi topo -m"),
        ("[user@node dir]# nvidia-smi -L", "nvidia-smi -L"),
        ("> nvidia-smi nvlink -i 0 -gt d", "nvidia-smi nvlink -i 0 -gt d"),
        ("# nvidia-smi topo -mp", "nvidia-smi topo -mp"),
        ("    [3]: !nvidia-smi topo -m", "nvidia-smi topo -m"),
        ("In [3]: !nvidia-smi -L", "nvidia-smi -L"),
        ("C:\\Users\\x>nvidia-smi", "nvidia-smi"),
        ("Every 1.0s: nvidia-smi      node-7: Thu Jun 13 17:53:28 2024", "nvidia-smi"),
        ("/usr/bin/nvidia-smi nvlink -s", "/usr/bin/nvidia-smi nvlink -s"),
    ],
)
def test_prompt_begins_a_section(line: str, command: str) -> None:
    sections = split(clean(f"some prose\n{line}\noutput here\n"), 4)
    assert [s.command for s in sections] == ["", command]
    assert [ln.text for ln in sections[1].lines] == [command, "output here"]
    assert (sections[1].input, sections[1].lines[0].number, sections[1].lines[0].raw) == (4, 2, line)


@pytest.mark.parametrize(
    "line",
    [
        "> a quoted sentence",
        "# a heading",
        "nvidia-smi shows nothing",
        "# gpu   pwr gtemp",
        "price is 5$ a day",
    ],
)
def test_not_a_prompt(line: str) -> None:
    assert len(split(clean(f"first\n{line}\nlast\n"))) <= 2
    assert all(not s.command for s in split(clean(f"first\n{line}\nlast\n")))


def test_fences_and_rulers_cut_and_belong_nowhere() -> None:
    sections = split(clean("words one\n```bash\nwords two\n```\n" + "_" * 40 + "\nwords three\n"))
    assert [[ln.text for ln in s.lines] for s in sections] == [["words one"], ["words two"], ["words three"]]


def test_artifact_without_a_prompt_begins_a_section() -> None:
    text = "look at this\n\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU1\tSYS\t X \n"
    text += "GPU 0: A (UUID: GPU-1)\n\t Link 0: 25 GB/s\n"
    assert [s.lines[0].number for s in split(clean(text))] == [1, 2, 5]


def test_repeated_header_does_not_cut() -> None:
    header = "# gpu    pwr     sm\n# Idx      W      %\n"
    assert len(split(clean((header + "    0     50      1\n") * 3))) == 1


def test_section_of_scraps_is_left_out() -> None:
    assert split(clean("\n\n+-----+\n=====\n")) == []
