"""Whatever happens to an output of the nvidia-smi family: no reader fails, and no number is made up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.artifacts import (
    nvlink_more,
    pmon,
    proc_information,
    query_gpu,
    smi_list,
    smi_q,
    smi_table,
    smi_xml,
)
from diagnose.artifacts.base import Line, Section
from diagnose.artifacts.paste import clean
from diagnose.artifacts.text_bytes import decode
from diagnose.artifacts.unread import TextParsed
from diagnose.tables import TABLES

READERS = (
    *smi_xml.READERS, *smi_q.READERS, *smi_table.READERS, *pmon.READERS, *nvlink_more.READERS,
    *smi_list.READERS, *query_gpu.READERS, *proc_information.READERS,
)  # fmt: skip
TABLE = """| NVIDIA-SMI 590.48.01              Driver Version: 590.48.01      CUDA Version: 13.1     |
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:00:09.0 Off |                    0 |
| N/A   59C    P0            629W /  700W |   19818MiB /  81559MiB |    100%      Default |
|                                         |                        |             Disabled |
| MIG devices:                                                                            |
|  0    2   0   0  |           11091MiB / 40448MiB    | 60      0 |  3   0    3    0    3 |
| Processes:                                                                              |
|    0   N/A  N/A           11327      C   /root/tools/memhog                     2566MiB |
"""
FULL = """==============NVSMI LOG==============
Timestamp                                 : Fri Jun 30 17:20:02 2023
Driver Version                            : 525.105.17
Attached GPUs                             : 1
GPU 00000000:18:00.0
    Product Name                          : NVIDIA H800
    PCI
        Device Id                         : 0x232410DE
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : 4
            Link Width
                Max                       : 16x
                Current                   : 8x
        Replays Since Reset               : 1234
    Clocks Event Reasons
        SW Power Cap                      : Active
    Clocks Event Reasons Counters
        SW Power Capping                  : 200740215 us
    FB Memory Usage
        Total                             : 81559 MiB
        Used                              : 711 MiB
    Clocks
        SM                                : 345 MHz
    Fabric
        State                             : Completed
        CliqueId                          : 17
    Processes
        Process ID                        : 4242
            Type                          : C
            Used GPU Memory               : 698 MiB
"""
XML = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
<attached_gpus>1</attached_gpus>
<gpu id="00000000:01:00.0">
<product_name>NVIDIA A100</product_name>
<fb_memory_usage>
<total>81920 MiB</total>
<used>50 MiB</used>
</fb_memory_usage>
<clocks>
<sm_clock>585 MHz</sm_clock>
</clocks>
</gpu>
</nvidia_smi_log>
"""
QUERY = (
    "timestamp, index, name, utilization.gpu [%], memory.used [MiB], power.draw [W],"
    " pcie.link.width.current\n"
    "2024/01/16 14:44:16.977, 0, NVIDIA L40S, 46 %, 15240 MiB, 201.34 W, 16\n"
    "2024/01/16 14:44:17.977, 0, NVIDIA L40S, 47 %, 15241 MiB, 202.35 W, 8\n"
    "2024/01/16 14:44:18.977, 0, NVIDIA L40S, [N/A], 15242 MiB, 203.36 W, 4\n"
)
PMON = (
    "# gpu         pid   type     sm    mem    fb    command\n"
    "# Idx           #    C/G      %      %    MB    name\n"
    "    0      11345     C     99     10   7216    gpu_burn\n"
    "    1          -     -      -      -      -    -\n"
)
LINKS = (
    "GPU 0: NVIDIA H100 (UUID: GPU-1)\n\t Link 2: Replay Errors: 142\n\t Link 2: CRC Errors: 891\n"
    "\t Link 0: Remote Device 00000000:38:00.0: Link 11\n\t Link 1: Rx0: 100 KBytes, Tx0: 7 KBytes\n"
)
PROC = "Model: \t\t NVIDIA A100\nBus Location: \t 0000:b1:00.0\nGPU Firmware: \t 535.183.01\n"
LIST = "GPU 0: NVIDIA H200 (UUID: GPU-1)\n  MIG 1g.18gb     Device  0: (UUID: MIG-1)\n"
ALL = (TABLE, FULL, XML, QUERY, PMON, LINKS, PROC, LIST)
WHOLE = "".join(ALL)
# Columns that number or count our own things, or are told by more than one token.
DERIVED = {"input", "line", "time", "second", "mig_devices"}
TO_TEXT = {"memory_bytes": 1024 * 1024}

ODD = "²½٣０\u2028\x85|<&>:;,[]/.-%x0123456789GPU \t"
LIMITS = settings(max_examples=120, deadline=None, derandomize=True)


def numbers_in(lines: list[Line]) -> set[float]:
    return {float(n) for line in lines for n in re.findall(r"[0-9]+(?:\.[0-9]+)?", line.text)}


def given_numbers(parsed: TextParsed) -> Iterator[tuple[str, float]]:
    for name, rows in parsed.tables.items():
        for row in rows:
            assert list(row) == list(TABLES[name]), name
            for column, value in row.items():
                if column in DERIVED or value is None or isinstance(value, (bool, str)):
                    continue
                yield f"{name}.{column}", value / TO_TEXT.get(column, 1)


def read(text: str) -> list[TextParsed]:
    """Every reader on the whole text as one section, whether or not it would take it."""
    lines = clean(text)
    known = numbers_in(lines)
    words = " ".join(line.text for line in lines).lower()
    out = []
    for reader in READERS:
        section = Section(3, lines)
        reader.sniff(section)
        parsed = reader.read(section)
        for what, value in given_numbers(parsed):
            # The only index no token tells is a position, in output that says how many GPUs there are.
            if not (what.endswith(".gpu") and reader.kind in ("smi_q", "xml", "query_gpu")):
                assert value in known, (reader.kind, what, value)
        for row in parsed.tables.get("software", []):
            assert row["version"] in words
        for rows in parsed.tables.values():
            assert all(1 <= row["line"] <= len(text.split("\n")) for row in rows)
        out.append(parsed)
    return out


def values(parsed: list[TextParsed]) -> set[tuple[Any, ...]]:
    return {
        (p.kind, name, row["line"], column, value)
        for p in parsed
        for name, rows in p.tables.items()
        for row in rows
        for column, value in row.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and column not in DERIVED | {"gpu"}
    }


@LIMITS
@given(st.sampled_from((*ALL, WHOLE)), st.data())
def test_cut_anywhere(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    read(text[start:end])


@pytest.mark.parametrize("text", ALL)
def test_cut_end_never_changes_a_value(text: str) -> None:
    """What a cut output gives is part of what the whole one gives, at every place it can be cut.

    A line with a break behind it is whole; only whether readings are a series can change with the length.
    """

    def told(part: str) -> set[tuple[Any, ...]]:
        return {(k, "" if n.startswith("gpu_") else n, *rest) for k, n, *rest in values(read(part))}

    whole = told(text)
    for end in range(len(text)):
        extra = told(text[:end]) - whole
        # A fact that a later line completes moves to that line's row: same column, same value.
        lines = {(x[0], x[3], x[4]) for x in whole}
        assert {(x[0], x[3], x[4]) for x in extra} <= lines, text[:end][-60:]


@LIMITS
@given(st.permutations(WHOLE.splitlines()))
def test_shuffled_lines(lines: list[str]) -> None:
    read("\n".join(lines) + "\n")


@LIMITS
@given(
    st.sampled_from((*ALL, WHOLE)),
    st.lists(st.tuples(st.integers(0, 2000), st.binary(min_size=1, max_size=6)), max_size=6),
)
def test_random_bytes_inside(text: str, noise: list[tuple[int, bytes]]) -> None:
    data = text.encode()
    for at, piece in noise:
        at = min(at, len(data))
        data = data[:at] + piece + data[at:]
    read(decode(data))


@LIMITS
@given(st.sampled_from(ALL), st.text(alphabet=ODD, max_size=60), st.data())
def test_odd_digits_and_separators(text: str, odd: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    read(text[:at] + odd + text[at:])


@LIMITS
@given(st.text(alphabet='GPU0123456789 \tLinkMBiCRCErrors:,|<>/=[]%"?!xmlgpu\n', max_size=400))
def test_text_of_the_readers_own_characters(text: str) -> None:
    read(text)


@pytest.mark.parametrize("unit", ["<a>", "| x ", "GPU 0: a (UUID: b\n", " : ", "Link 1: ", "&", "0, "])
def test_long_repetitions_cost_no_more_than_their_length(unit: str) -> None:
    import time

    began = time.perf_counter()
    read(unit * 20_000)
    read(TABLE + unit * 20_000 + "\n" + FULL)
    assert time.perf_counter() - began < 10
