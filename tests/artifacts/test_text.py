"""One text file, whatever it holds."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from diagnose.artifacts import text, text_bytes
from diagnose.artifacts.text import looks_binary, read_sections, read_text
from diagnose.errors import InputError

DMON = "# gpu    pwr     sm\n# Idx      W      %\n    0     50     40\n"


def write(folder: Path, data: bytes | str, name: str = "x") -> Path:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


@pytest.mark.parametrize(
    ("head", "binary"),
    [
        (b"plain text\n", False),
        (b"SQLite format 3\0\x10\0", True),
        (b"\x1b[1mcolours\x07\n", False),
        ("\ufeffutf-16".encode("utf-16"), False),
        (b"caf\xe9 latin-1\n", False),
        (b"", False),
    ],
)
def test_looks_binary(head: bytes, binary: bool) -> None:
    assert looks_binary(head) is binary


@pytest.mark.parametrize(
    "data",
    [
        DMON.encode(),
        b"\xef\xbb\xbf" + DMON.replace("\n", "\r\n").encode(),
        DMON.encode("utf-16"),
        gzip.compress(DMON.encode()),
        gzip.compress(DMON[:20].encode()) + gzip.compress(DMON[20:].encode()),
        b"\xff\xfe bad bytes first".replace(b"\xff\xfe", b"\xc3\x28") + b"\n" + DMON.encode(),
    ],
    ids=["plain", "bom", "utf-16", "gzip", "two gzip members", "bad bytes"],
)
def test_encodings(tmp_path: Path, data: bytes) -> None:
    parsed = read_text(write(tmp_path, data), 7)
    [dmon] = [p for p in parsed if p.kind == "dmon"]
    assert [(r["input"], r["column"], r["value"]) for r in dmon.tables["gpu_samples"]] == [
        (7, "pwr", 50.0),
        (7, "sm", 40.0),
    ]


def test_odd_names(tmp_path: Path) -> None:
    assert read_text(write(tmp_path, DMON, "a?b#c%20 d.gz"), 0)[0].rows == 1


def test_cut_gzip_gives_its_first_part(tmp_path: Path) -> None:
    packed = gzip.compress((DMON + os.urandom(3000).hex()).encode())
    parsed = read_text(write(tmp_path, packed[:-400]), 0)
    assert parsed[0].problems[0] == "the gzip file is damaged or cut: only its first part was read"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"abc\0def", "binary content"),
        (gzip.compress(b"a\0b", mtime=0), "binary content"),
        (b"\x1f\x8bnonsense", "damaged gzip"),
    ],
)
def test_refused(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_text(write(tmp_path, data), 0)
    assert caught.value.where and caught.value.hint


def test_too_large_after_decompression(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_bytes, "MAX_BYTES", 1 << 20)
    path = write(tmp_path, gzip.compress(b"a\n" * (1 << 20)))
    assert path.stat().st_size < 10_000
    with pytest.raises(InputError, match="more than 1 MiB"):
        read_text(path, 0)
    assert read_text(write(tmp_path, b"a\n" * (1 << 19)), 0)


def test_missing_folder_and_pipe(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_text(tmp_path / "nothing", 0)
    with pytest.raises(InputError, match="not a regular file"):
        read_text(tmp_path, 0)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(InputError, match="not a regular file"):
            read_text(tmp_path / "pipe", 0)


@pytest.mark.parametrize("data", ["", "\n\n", "   \n+----+\n"])
def test_empty(data: str) -> None:
    assert [(p.kind, p.tables, p.rows) for p in read_sections(data)] == [("empty", {}, 0)]


TICKET = """Hi team, the 4xA100 "NVLink" node hangs.

```
ops@node-7:~$ nvidia-smi -L
GPU 0: NVIDIA A100-PCIE-40GB (UUID: GPU-1)
GPU 1: NVIDIA A100-PCIE-40GB (UUID: GPU-2)
ops@node-7:~$ nvidia-smi topo -m
\tGPU0\tGPU1\tCPU Affinity
GPU0\t X \tNODE\t0-27
GPU1\tNODE\t X \t0-27
ops@node-7:~$ nvidia-smi nvlink -s
GPU 0: NVIDIA A100-PCIE-40GB (UUID: GPU-1)
NVML: Unable to retrieve NVLink information as all links are inActive
GPU 1: NVIDIA A100-PCIE-40GB (UUID: GPU-2)
NVML: Unable to retrieve NVLink information as all links are inActive
ops@node-7:~$ nvidia-smi dmon
# gpu    pwr     sm
# Idx      W      %
    0     66    100
    1     64    100
```
Thanks
"""


def test_ticket_with_many_commands() -> None:
    parsed = read_sections(TICKET)
    assert [p.kind for p in parsed] == ["smi_L", "topo", "nvlink", "dmon", "log"]
    tables = {name: len(rows) for p in parsed for name, rows in p.tables.items() if name != "text_lines"}
    assert tables == {"devices": 2, "gpu_pairs": 1, "nvlinks": 2, "gpu_samples": 4}


def test_same_ticket_without_prompts_and_fences() -> None:
    lines = [ln for ln in TICKET.splitlines() if not ln.startswith(("```", "ops@"))]
    kinds = [p.kind for p in read_sections("\n".join(lines) + "\n")]
    assert kinds == ["smi_L", "topo", "nvlink", "dmon", "log"]


def test_failing_reader_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("diagnose.artifacts.topo.TopoReader.read", fail)
    parsed = read_sections(TICKET)
    assert [p.kind for p in parsed] == ["smi_L", "topo", "nvlink", "dmon", "log"]
    assert parsed[1].problems == ["lines 7-10: the topo reader failed (RuntimeError: broken)"]


def test_sniff_order_is_the_documented_one() -> None:
    assert [reader.kind for reader in text.READERS] == [
        "xml", "smi_q", "smi_table", "dmon", "pmon", "topo_p2p", "topo", "nvlink", "smi_L",
        "query_gpu", "ib", "lspci", "proc", "dmesg", "nccl", "versions", "log",
    ]  # fmt: skip
