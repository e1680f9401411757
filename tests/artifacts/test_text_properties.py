"""Whatever happens to a text (cuts, noise, shuffled lines), no reader fails and no number is made up."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.artifacts.base import Parsed
from diagnose.artifacts.text import read_sections
from diagnose.artifacts.text_bytes import decode
from diagnose.tables import TABLES

DMON = (
    "#Date       Time        gpu    pwr     sm     fb\n#YYYYMMDD   HH:MM:SS    Idx      W      %     MB\n"
    " 20250314   23:59:59      0    289     80  38144\n 20250315   00:00:00      1      -     66  38146\n"
)
PLAIN = "# gpu    pwr     sm\n# Idx      W      %\n    0     66    100\n    1     64      -\n"
CSV = "# gpu, pwr, sm\n# Idx, W, %\n0, 312, 87\n1, 298, 85\n"
TOPO = (
    "\tGPU0\tGPU1\tGPU2\tCPU Affinity\nGPU0\t X \tNV12\tSYS\t0-27\n"
    "GPU1\tNV12\t X \tNODE\t0-27\nGPU2\tSYS\tNODE\t X \t28-55\n"
)
NVLINK = "GPU 0: NVIDIA H800 (UUID: GPU-1)\n\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n"
COUNTERS = (
    "GPU 3: NVIDIA H800 (UUID: GPU-1)\n\t Link 0: Data Tx: 5863784 KiB\n\t Link 0: Data Rx: 5863677 KiB\n"
)
TABLE = (
    "| NVIDIA-SMI 590.48.01              Driver Version: 590.48.01      CUDA Version: 13.1     |\n"
    "|   0  NVIDIA H100 80GB HBM3          On  |   00000000:00:09.0 Off |                    0 |\n"
    "| N/A   59C    P0            629W /  700W |   19818MiB /  81559MiB |    100%      Default |\n"
)
QUERY = "index, name, compute_cap, memory.total [MiB]\n0, NVIDIA L40S, 8.9, 46068 MiB\n"
ALL = (DMON, PLAIN, CSV, TOPO, NVLINK, COUNTERS, TABLE, QUERY)
WHOLE = "".join(ALL)

LIMITS = settings(max_examples=150, deadline=None, derandomize=True)


def numbers_in(text: str) -> set[float]:
    return {float(n) for n in re.findall(r"[0-9]+(?:\.[0-9]+)?", text)}


def given_numbers(parsed: list[Parsed]) -> list[tuple[str, Any]]:
    """Every measured number of the tables, in the unit the text has it in."""
    found: list[tuple[str, Any]] = []
    for p in parsed:
        tables = p.tables
        found += [("value", r["value"]) for r in tables.get("gpu_samples", [])]
        found += [("nvlinks", r["nvlinks"] or None) for r in tables.get("gpu_pairs", [])]
        found += [("gb_s", r["gb_s"]) for r in tables.get("nvlinks", [])]
        for row in tables.get("nvlink_counters", []):
            found += [
                (name, None if row[name] is None else row[name] / 1024) for name in ("tx_bytes", "rx_bytes")
            ]
        for row in tables.get("devices", []):
            found.append(
                ("memory", None if row["memory_bytes"] is None else row["memory_bytes"] / 1024 / 1024)
            )
            found.append(("cc", None if row["cc"] is None else float(row["cc"])))
        for name, rows in tables.items():
            found += [(f"{name}.gpu", row["gpu"]) for row in rows if "gpu" in row]
    return [(name, value) for name, value in found if value is not None]


def check(text: str) -> list[Parsed]:
    parsed = read_sections(text)
    known = numbers_in(text)
    for name, value in given_numbers(parsed):
        assert float(value) in known, (name, value)
    count = text.count("\n") + 1
    for p in parsed:
        for table, rows in p.tables.items():
            for row in rows:
                assert list(row) == list(TABLES[table])
                assert 1 <= row["line"] <= count
    return parsed


@LIMITS
@given(st.sampled_from((*ALL, WHOLE)), st.data())
def test_cut_anywhere(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    check(text[start:end])


@LIMITS
@given(st.integers(1, len(DMON)))
def test_cut_end_never_changes_a_value(end: int) -> None:
    """A cut log gives a beginning of the whole log's rows: nothing of it is different, only missing."""
    whole = [r for p in check(DMON) for r in p.tables.get("gpu_samples", [])]
    part = [r for p in check(DMON[:end]) for r in p.tables.get("gpu_samples", [])]
    # Units may be missing when the units row itself was cut.
    assert [r["value"] for r in part] == [r["value"] for r in whole[: len(part)]]


@LIMITS
@given(st.integers(1, len(TOPO)), st.sampled_from([TOPO, TOPO.expandtabs(8)]))
def test_cut_matrix_gives_no_wrong_pair(end: int, text: str) -> None:
    whole = {(r["gpu_a"], r["gpu_b"], r["link"]) for p in check(text) for r in p.tables.get("gpu_pairs", [])}
    part = {
        (r["gpu_a"], r["gpu_b"], r["link"]) for p in check(text[:end]) for r in p.tables.get("gpu_pairs", [])
    }
    assert part <= whole


@LIMITS
@given(st.permutations(WHOLE.splitlines()))
def test_shuffled_lines(lines: list[str]) -> None:
    check("\n".join(lines) + "\n")


@LIMITS
@given(
    st.sampled_from(ALL),
    st.lists(st.tuples(st.integers(0, 400), st.binary(min_size=1, max_size=6)), max_size=6),
)
def test_random_bytes_inside(text: str, noise: list[tuple[int, bytes]]) -> None:
    data = text.encode()
    for at, piece in noise:
        at = min(at, len(data))
        data = data[:at] + piece + data[at:]
    # Escapes, entities and backspaces take characters out; what is left is what counts as "in the text".
    from diagnose.artifacts.paste import clean

    cleaned = "\n".join(line.text for line in clean(decode(data)))
    known = numbers_in(cleaned)
    for name, value in given_numbers(read_sections(decode(data))):
        assert float(value) in known, (name, value)


@LIMITS
@given(st.binary(max_size=600))
def test_any_bytes(data: bytes) -> None:
    assert read_sections(decode(data))


@LIMITS
@given(st.text(alphabet="GPU0123456789 \tXNVSY#-:/.gpusmLink%<>[]@$\n\r\x1b&;|", max_size=400))
def test_text_of_the_readers_own_characters(text: str) -> None:
    assert read_sections(text)
