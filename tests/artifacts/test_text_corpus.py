"""Every value that a public sample set states for dmon, topo and nvlink outputs, against our tables.

Needs `DIAGNOSE_CORPUS`: a folder with `samples/MANIFEST.tsv`, whose columns are file, kind, what, fidelity,
expected_json, source.
Words for people (`trap`, `must`, …) and values of tables that have no reader yet are counted, not checked.
"""

from __future__ import annotations

import datetime
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from diagnose.artifacts.base import Parsed, Row
from diagnose.artifacts.text import read_text

ROOT = os.environ.get("DIAGNOSE_CORPUS", "")
pytestmark = pytest.mark.skipif(not ROOT, reason="DIAGNOSE_CORPUS is not set")

WORDS = {"trap", "must", "hint", "verdict", "note"}
# Kinds where content decides otherwise than the folder: error texts are logs, an empty file is empty,
# `dmesg` lines in the lspci folder, headings alone are -L, and -p2p has a kind of its own.
KINDS = {
    "errors": {"log"},
    "lspci": {"lspci", "dmesg"},
    "nvlink": {"nvlink", "smi_L"},
    "topo": {"topo", "topo_p2p"},
    "dmesg": {"dmesg", "empty"},
}
SECTIONS = {
    "nvidia-smi -L": "smi_L", "topo -m": "topo", "nvlink -s": "nvlink", "nvlink -gt d": "nvlink",
    "lspci": "lspci", "ibstatus": "ib", "torch log": "nccl", "proc information": "proc", "dmesg": "dmesg",
}  # fmt: skip


def manifest() -> list[tuple[str, str, dict[str, Any]]]:
    if not ROOT:
        return []
    lines = (Path(ROOT) / "samples" / "MANIFEST.tsv").read_text(encoding="utf-8").splitlines()[1:]
    cells = [line.split("\t") for line in lines]
    return [(c[0], c[1], json.loads(c[4])) for c in cells]


def rows_of(parsed: list[Parsed], table: str) -> list[Row]:
    return [row for p in parsed for row in p.tables.get(table, [])]


class Unchecked(Exception):
    """A key whose value none of our tables holds."""


# --- dmon -----------------------------------------------------------------------------------------

STATISTICS: dict[str, Callable[[list[float]], float]] = {
    "mean": lambda v: sum(v) / len(v),
    "max": max,
    "min": min,
    "first": lambda v: v[0],
    "last": lambda v: v[-1],
}


def dmon_value(samples: list[Row], key: str) -> Any:
    """`sm_mean`, `gpu0.fb`, `sm`: over all rows or one GPU's; None when every cell was unknown."""
    gpu, _, name = key.rpartition(".")
    name = name.removesuffix("_complete")
    column, _, how = name.rpartition("_")
    if how not in STATISTICS:
        column, how = name, ""
    chosen = [r for r in samples if r["column"] == column and (not gpu or r["gpu"] == int(gpu[3:]))]
    if not chosen:
        return "absent"
    values = [r["value"] for r in chosen if r["value"] is not None]
    if not values:
        return None
    if how:
        return STATISTICS[how](values)
    return values[0] if len(set(values)) == 1 else values


def stamp(seconds: float) -> str:
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    return moment.isoformat()


def slope(samples: list[Row], column: str) -> float:
    points = [(r["second"], r["value"]) for r in samples if r["column"] == column]
    (x0, y0), (x1, y1) = points[0], points[-1]
    return (y1 - y0) / (x1 - x0)


def check_dmon(parsed: list[Parsed], key: str, want: Any, every: dict[str, Any]) -> Any:
    samples = rows_of(parsed, "gpu_samples")
    problems = " ".join(parsed[0].problems)
    if key in ("epoch_first", "format"):
        raise Unchecked
    if key == "rows" and "must" in every:
        refused = re.search(rf"\b{want} data rows", problems) and not samples and parsed[0].rows == 0
        return want if refused else problems
    if key == "fields":
        return want if f"of {want} cells" in problems else problems
    if key == "error":
        return want if "Not supported on the device(s)" in problems and not samples else problems
    if key in ("rows", "complete_rows"):
        return parsed[0].rows
    if key == "truncated_rows":
        return len(re.findall(r"line \d+: cut", problems))
    if key == "ignored_lines":
        return len(parsed[0].unread)  # type: ignore[attr-defined]
    if key == "rows_per_gpu":
        lines = {(r["gpu"], r["line"]) for r in samples}
        return {str(g): n for g, n in Counter(g for g, _ in lines).items()}
    if key == "gpus":
        return sorted({r["gpu"] for r in samples})
    if key == "temp_alias":
        return want if "gtemp" in {r["column"] for r in samples} else "no gtemp"
    if key == "columns_order":
        order = [r["column"] for r in samples if r["line"] == samples[0]["line"]]
        return ["date", "time", "gpu", *order]
    if key == "date":
        return None if all(r["time"] is None for r in samples) else "dated"
    if key == "first_ts":
        return stamp(samples[0]["time"])
    if key == "last_ts":
        return stamp(samples[-1]["time"])
    if key == "duration_s":
        return samples[-1]["second"] - samples[0]["second"]
    if key == "fb_slope_mb_per_s":
        return slope(samples, "fb")
    if key == "units":
        units = {r["column"]: r["unit"] for r in samples}
        return {name: units.get(name) for name in want}
    return dmon_value(samples, key)


# --- topo -----------------------------------------------------------------------------------------


def islands(pairs: list[Row]) -> list[list[int]]:
    group: dict[int, set[int]] = {}
    for row in pairs:
        if row["nvlinks"]:
            joined = group.get(row["gpu_a"], {row["gpu_a"]}) | group.get(row["gpu_b"], {row["gpu_b"]})
            for gpu in joined:
                group[gpu] = joined
    return [list(gpus) for gpus in sorted({tuple(sorted(g)) for g in group.values()})]


def check_topo(parsed: list[Parsed], key: str, want: Any, every: dict[str, Any]) -> Any:
    pairs = rows_of(parsed, "gpu_pairs")
    linked = [r for r in pairs if r["nvlinks"]]
    if key == "kind":
        return "p2p" if parsed[0].kind == "topo_p2p" and not pairs else parsed[0].kind
    if every.get("kind") == "p2p" or key in (
        "cpu_affinity", "gpu_numa_id", "numa", "nics", "islands_by_numa", "nic_rows_without_columns",
    ):  # fmt: skip
        raise Unchecked
    if key == "gpus":
        count = parsed[0].rows
        assert len(pairs) == count * (count - 1) // 2
        return count
    if key == "nvlink_pairs":
        return len(linked)
    if key == "has_NV":
        return bool(linked)
    if key == "all_to_all_nvlink":
        return len(linked) == len(pairs)
    if key == "nv":
        return linked[0]["nvlinks"] if len({r["nvlinks"] for r in linked}) == 1 else "mixed"
    if key == "islands":
        return islands(pairs)
    if key == "odd_gpu":
        gpus = {r["gpu_a"] for r in pairs} | {r["gpu_b"] for r in pairs}
        return (gpus - {g for r in linked for g in (r["gpu_a"], r["gpu_b"])}).pop()
    if key == "pairs":
        cells = {f"{r['gpu_a']}-{r['gpu_b']}": r["link"] for r in pairs}
        return {name: cells.get(name) for name in want}
    if key == "legend_has_NV":
        return not all(r["hides_nvlink"] for r in pairs)
    if key == "nvlink":
        return want if pairs and all(r["hides_nvlink"] for r in pairs) else "not hidden"
    raise Unchecked


# --- nvlink ---------------------------------------------------------------------------------------


def check_gpu(parsed: list[Parsed], gpu: int, key: str, want: Any) -> Any:
    links = [r for r in rows_of(parsed, "nvlinks") if r["gpu"] == gpu]
    if key in ("bad_links", "rx_kb"):
        raise Unchecked
    if key == "active":
        return sum(r["state"] == "active" for r in links)
    if key == "inactive":
        down = [r["link"] for r in links if r["state"] == "inactive"]
        return down if isinstance(want, list) else len(down)
    if key == "gbps":
        return {r["gb_s"] for r in links if r["state"] == "active"} == {want} and want
    if key == "supported":
        return {r["state"] for r in links} != {"unsupported"}
    if key == "state":
        return want if {r["state"] for r in links} == {"unknown"} and want == "unknown_mig" else "other"
    if key == "links":
        raise Unchecked
    counters = [r for r in rows_of(parsed, "nvlink_counters") if r["gpu"] == gpu and r["link"] == int(key)]
    return {"rx": counters[0]["rx_bytes"] // 1024, "tx": counters[0]["tx_bytes"] // 1024}


def check_nvlink(parsed: list[Parsed], key: str, want: Any, every: dict[str, Any]) -> Any:
    del every
    links = rows_of(parsed, "nvlinks")
    counters = rows_of(parsed, "nvlink_counters")
    names = {r["gpu"] for r in rows_of(parsed, "devices")}
    if key == "gpus" and isinstance(want, int):
        return len(names)
    if key == "active_per_gpu":
        per_gpu = Counter(r["gpu"] for r in links if r["state"] == "active")
        return want if set(per_gpu.values()) == {want} else per_gpu
    if key == "gbps":
        return want if {r["gb_s"] for r in links} == {want} else "other"
    if key == "state":
        return want if {r["state"] for r in links} == {want} else "other"
    if key == "ambiguous_with":
        return want if parsed[0].kind == "smi_L" else parsed[0].kind
    if key == "links_per_gpu" and want == 0:
        return len(links)
    if key == "snapshots":
        return len({r["snapshot"] for r in counters})
    if key == "links" and counters:
        return len({r["link"] for r in counters})
    if key == "rx_delta_kib_link0":
        first, last = (r["rx_bytes"] for r in counters if r["link"] == 0)
        return (last - first) // 1024
    if key == "tx_delta_kib_total":
        total = [sum(r["tx_bytes"] for r in counters if r["snapshot"] == s) for s in (0, 1)]
        return (total[1] - total[0]) // 1024
    if key == "rx_total_kib":
        return sum(r["rx_bytes"] for r in counters) // 1024
    if key == "links_present":
        return bool(counters)
    raise Unchecked


def check_mixed(parsed: list[Parsed], key: str, want: Any, every: dict[str, Any]) -> Any:
    if key == "sections":
        kinds = {p.kind for p in parsed}
        return want if {SECTIONS[name] for name in want} <= kinds else kinds
    if key == "link0_rx_kib":
        return rows_of(parsed, "nvlink_counters")[0]["rx_bytes"] // 1024
    if key in ("nv", "pairs", "nvlink_pairs"):
        return check_topo(parsed, key, want, every)
    if key == "gpus" and isinstance(want, int):
        return next(p.rows for p in parsed if p.kind == "topo")
    raise Unchecked


CHECKS = {"dmon": check_dmon, "topo": check_topo, "nvlink": check_nvlink, "mixed": check_mixed}


def values_of(kind: str, parsed: list[Parsed], expected: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """(key, wanted, found) of everything that can be checked; Unchecked is found as itself."""
    for key, want in expected.items():
        if key in WORDS:
            yield key, want, Unchecked
        elif key == "gpus" and isinstance(want, dict) and kind in ("nvlink", "mixed"):
            for gpu, said in want.items():
                for inner, value in said.items():
                    yield f"gpus.{gpu}.{inner}", value, attempt(check_gpu, parsed, int(gpu), inner, value)
        elif kind in CHECKS:
            yield key, want, attempt(CHECKS[kind], parsed, key, want, expected)
        elif key in ("name", "model"):
            found = {r["name"] for r in rows_of(parsed, "devices")}
            yield key, want, want if want in found else found
        else:
            yield key, want, Unchecked


def attempt(check: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return check(*arguments)
    except Unchecked:
        return Unchecked


@pytest.mark.parametrize(("file", "kind", "expected"), manifest(), ids=[m[0] for m in manifest()])
def test_sample(file: str, kind: str, expected: dict[str, Any]) -> None:
    parsed = read_text(Path(ROOT) / "samples" / file, 0)
    if kind != "mixed":
        assert parsed[0].kind in KINDS.get(kind, {kind})
    for key, want, found in values_of(kind, parsed, expected):
        if found is Unchecked:
            continue
        if isinstance(want, float) and isinstance(found, float):
            assert found == pytest.approx(want, abs=0.005), key
        else:
            assert found == want, key


def test_how_much_was_checked(capsys: pytest.CaptureFixture[str]) -> None:
    """Prints the count; a reader that stops giving tables would otherwise pass as "nothing to check"."""
    checked: Counter[str] = Counter()
    left: Counter[str] = Counter()
    for file, kind, expected in manifest():
        parsed = read_text(Path(ROOT) / "samples" / file, 0)
        for key, _, found in values_of(kind, parsed, expected):
            if found is Unchecked:
                left[f"{kind}: {'words' if key in WORDS else key}"] += 1
            else:
                checked[kind] += 1
    with capsys.disabled():
        print(f"\n{len(manifest())} files, {sum(checked.values())} values checked: {dict(checked)}")
        ours = {k: n for k, n in left.items() if k.split(":")[0] in CHECKS}
        print(f"not checkable in dmon, topo, nvlink, mixed: {ours}")
        print(f"not checkable in kinds without a reader: {sum(left.values()) - sum(ours.values())}")
    assert checked["dmon"] >= 115
    assert checked["topo"] >= 39
    assert checked["nvlink"] >= 33
