"""Every value that a public sample set states for outputs of the nvidia-smi family, against our tables.

Needs `DIAGNOSE_CORPUS`: a folder with `samples/MANIFEST.tsv`, whose columns are file, kind, what, fidelity,
expected_json, source. Prints how many values were checked, and the names of those no table holds.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

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
from diagnose.artifacts.base import Parsed, Row, TextReader
from diagnose.artifacts.paste import clean, split
from diagnose.artifacts.text_bytes import decode

ROOT = os.environ.get("DIAGNOSE_CORPUS", "")
pytestmark = pytest.mark.skipif(not ROOT, reason="DIAGNOSE_CORPUS is not set")

READERS: dict[str, tuple[TextReader, ...]] = {
    "xml": smi_xml.READERS, "smi_q": smi_q.READERS, "smi_table": smi_table.READERS, "pmon": pmon.READERS,
    "nvlink": (*nvlink_more.READERS, *smi_list.READERS), "smi_L": smi_list.READERS,
    "query_gpu": query_gpu.READERS, "proc": proc_information.READERS,
}  # fmt: skip
WORDS = {"trap", "must", "hint", "verdict", "note", "split_on"}
MIB = 1024 * 1024
UNKNOWN = object()


def manifest() -> list[tuple[str, str, dict[str, Any]]]:
    if not ROOT:
        return []
    lines = (Path(ROOT) / "samples" / "MANIFEST.tsv").read_text(encoding="utf-8").splitlines()[1:]
    cells = [line.split("\t") for line in lines]
    return [(c[0], c[1], json.loads(c[4])) for c in cells if c[1] in READERS]


class Found:
    """All that our readers gave for one file."""

    def __init__(self, file: str, kind: str) -> None:
        text = decode((Path(ROOT) / "samples" / file).read_bytes())
        self.parsed: list[Parsed] = []
        for section in split(clean(text)):
            reader = next((r for r in READERS[kind] if r.sniff(section)), None)
            if reader is not None:
                self.parsed.append(reader.read(section))

    def rows(self, table: str, **where: Any) -> list[Row]:
        every = [row for p in self.parsed for row in p.tables.get(table, [])]
        return [row for row in every if all(row[name] == value for name, value in where.items())]

    def cell(self, table: str, column: str, **where: Any) -> Any:
        values = {row[column] for row in self.rows(table, **where)}
        return values.pop() if len(values) == 1 else sorted(values, key=str)

    def reading(self, column: str, want: Any = None) -> Any:
        rows = self.rows("gpu_readings", column=column) + self.rows("gpu_samples", column=column)
        values = [row["value"] for row in rows]
        return values[0] if len(set(values)) == 1 and not isinstance(want, list) else values

    @property
    def problems(self) -> str:
        return " ".join(problem for p in self.parsed for problem in p.problems)


def same(found: Any, want: Any) -> Any:
    """`want` when a flag or text of ours means it."""
    return want if {True: "Enabled", False: "Disabled", None: None}.get(found, found) == want else found


def device_id(printed: str) -> str:
    number = printed.removeprefix("0x")
    return f"{number[4:] or '10de'}:{number[:4]}".lower()


SIMPLE = {
    "name": ("devices", "name"), "model": ("devices", "name"), "bdf": ("devices", "bus_id"),
    "mode": ("devices", "driver_model"), "compute_cap": ("devices", "cc"),
    "fabric": ("fabric", "state"), "fabric.state": ("fabric", "state"),
    "fabric.status": ("fabric", "status"), "replays": ("pcie_links", "replays"),
    "pcie.link.gen.current": ("pcie_links", "gen_current"),
    "pcie.link.gen.hostmax": ("pcie_links", "gen_host_max"), "lost_gpu_bdf": ("lost_gpus", "bus_id"),
}  # fmt: skip
READINGS = {
    "fb_used": "fb", "fb_total": "fb_total", "util_gpu": "sm", "util": "sm", "pwr": "pwr",
    "memory.total_mib": "fb_total", "memory.used_mib": "fb", "utilization.gpu": "sm",
    "temperature.memory": "mtemp",
}  # fmt: skip
PCIE = {
    "gen_cur": "gen_current", "gen_max": "gen_max", "host_max": "gen_host_max", "w_cur": "width_current",
    "w_max": "width_max",
}  # fmt: skip
VERSIONS = {"driver": "driver", "cuda": "driver_cuda", "fw": "gpu_firmware"}


def value(found: Found, kind: str, key: str, want: Any) -> Any:
    """What our tables say for one key, UNKNOWN where none of them holds it."""
    if key in SIMPLE:
        return found.cell(*SIMPLE[key])
    if key in VERSIONS:
        version = found.cell("software", "version", name=VERSIONS[key])
        return None if version == [] else version
    if key in READINGS:
        return found.reading(READINGS[key], want)
    if key.startswith("pcie."):
        return found.cell("pcie_links", PCIE[key[5:]])
    if key in ("mig", "ecc"):
        return same(found.cell("devices", key), want)
    if key == "mig_devices":
        return found.cell("devices", "mig_devices")
    if key in ("device_id", "pci.device_id"):
        return want if found.cell("devices", "device_id") == device_id(want) else "other"
    if key in ("rows", "gpu_blocks"):
        counted = sum(p.rows for p in found.parsed)
        return want if counted == want or f"{want} data rows" in found.problems else counted
    if key == "attached":
        shown = len(found.rows("devices"))
        return want if f"{want} GPUs attached, {shown} shown" in found.problems else found.problems
    if key == "procs":
        return len(found.rows("gpu_processes"))
    return one_kind(found, kind, key, want)


def one_kind(found: Found, kind: str, key: str, want: Any) -> Any:
    if key == "gpus" and isinstance(want, int):
        return len({(r["gpu"], r["bus_id"]) for r in found.rows("devices")})
    if kind == "nvlink":
        return nvlink(found, key, want)
    if kind == "pmon" and key == "pids":
        return sorted({r["pid"] for r in found.rows("gpu_processes")})
    if kind == "pmon" and key == "types":
        return sorted({r["kind"] for r in found.rows("gpu_processes")})
    if kind == "pmon" and key == "gpu1.fb":
        return found.cell("gpu_processes", "memory_bytes", gpu=1) / MIB
    if key.startswith("pid"):
        pid, name = int(key[3:].split(".")[0]), key.split(".")[1]
        column = {"sm": "sm", "used_mib": "memory_bytes"}[name]
        told = found.cell("gpu_processes", column, pid=pid)
        return told / MIB if name == "used_mib" else told
    if key == "idle":
        return found.cell("clock_events", "active", reason="gpu_idle")
    if key == "downgraded":
        return all(r["width_current"] < r["width_max"] and r["loaded"] for r in found.rows("pcie_links"))
    if key == "healthy":
        return all(r["state"] == "Completed" and r["status"] == "Success" for r in found.rows("fabric"))
    if key == "error":
        return want if "couldn't communicate with the NVIDIA driver" in found.problems else found.problems
    if key == "uuid":
        return want if found.cell("devices", "uuid_seen") is True else "no UUID seen"
    if key == "ts0":
        first = found.rows("gpu_readings")[0]["time"]
        moment = datetime.datetime.fromtimestamp(first, datetime.UTC)
        return moment.isoformat(timespec="milliseconds").removesuffix("+00:00")
    if key == "gpu_identity":
        none = {r["gpu"] for r in found.rows("gpu_readings")} == {None}
        return want if none and "no index column" in found.problems else found.problems
    if key == "sw_power_cap_us":
        return found.cell("clock_events", "counter_us", reason="sw_power_cap")
    if key == "form_factor":
        names = found.cell("devices", "name")
        return want if want.split()[0].lower() in names.lower() else names
    if key == "gpu1" and want == "unreadable":
        return want if "line 2: nvidia-smi says Unknown Error" in found.problems else found.problems
    return UNKNOWN


def nvlink(found: Found, key: str, want: Any) -> Any:
    if key.endswith(".bad_links"):
        gpu = int(key.split(".")[1])
        bad = {r["link"] for r in found.rows("nvlink_errors", gpu=gpu) if r["count"]}
        links = {link: found.rows("nvlink_errors", gpu=gpu, link=link) for link in bad}
        return {str(link): {r["kind"]: r["count"] for r in said} for link, said in links.items()}
    if key.endswith(".rx_kb"):
        rows = found.rows("nvlink_old_counters", gpu=int(key.split(".")[1]))
        return {str(r["link"]): r["rx_kbytes"] for r in rows if r["rx_kbytes"]}
    if key.startswith("gpus.") and key.endswith(".links"):
        return len({r["link"] for r in found.rows("nvlink_errors", gpu=int(key.split(".")[1]))})
    if key == "unit":
        return want if found.rows("nvlink_old_counters") and want == "KBytes" else "other"
    if key == "links_per_gpu":
        rows = found.rows("nvlink_capabilities")
        per_gpu = {g: {r["link"] for r in rows if r["gpu"] == g} for g in range(2 if want else 0)}
        return want if all(len(links) == want for links in per_gpu.values()) else per_gpu
    if key == "p2p":
        return found.cell("nvlink_capabilities", "supported", name="p2p")
    if key == "links" and found.rows("nvlink_remotes"):
        return len({r["link"] for r in found.rows("nvlink_remotes")})
    if key == "peer":
        return {str(r["gpu"]): f"0000{r['remote_bus_id']}" for r in found.rows("nvlink_remotes")}
    if key == "ambiguous_with":
        return want if {p.kind for p in found.parsed} == {"smi_L"} else "other"
    return UNKNOWN


def flat(kind: str, expected: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, want in expected.items():
        if key in WORDS:
            continue
        if kind == "smi_table" and key == "gpus" and isinstance(want, list):
            [only] = want
            names = {"cap": "pwr_limit", "mem_total": "fb_total", "mem_used": "fb"}
            names |= {"pwr": "pwr", "util": "sm"}
            yield from ((f"reading.{names[k]}" if k in names else k, v) for k, v in only.items())
        elif isinstance(want, dict) and key in ("pcie", "gpus"):
            for inner, told in want.items():
                if isinstance(told, dict):
                    yield from ((f"{key}.{inner}.{name}", v) for name, v in told.items())
                else:
                    yield f"{key}.{inner}", told
        else:
            yield key, want


def checks(file: str, kind: str, expected: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    found = Found(file, kind)
    if found.rows("nvlinks") or found.rows("nvlink_counters"):
        return  # -s and -gt: another test's
    for key, want in flat(kind, expected):
        if key.startswith("reading."):
            yield key, want, found.reading(key[8:])
        else:
            yield key, want, value(found, kind, key, want)


@pytest.mark.parametrize(("file", "kind", "expected"), manifest(), ids=[m[0] for m in manifest()])
def test_sample(file: str, kind: str, expected: dict[str, Any]) -> None:
    for key, want, found in checks(file, kind, expected):
        if found is not UNKNOWN:
            assert found == (pytest.approx(want) if isinstance(want, float) else want), key


def test_how_much_was_checked(capsys: pytest.CaptureFixture[str]) -> None:
    """Prints the count; a reader that stops giving tables would otherwise pass as "nothing to check"."""
    told = [(m[0], key, found) for m in manifest() for key, _, found in checks(*m)]
    checked = [t for t in told if t[2] is not UNKNOWN]
    left = [f"{file}: {key}" for file, key, found in told if found is UNKNOWN]
    with capsys.disabled():
        files = len({t[0] for t in told})
        print(f"\nnvidia-smi family: {files} files, {len(checked)} values checked; in no table: {left}")
    assert len(checked) >= 155
