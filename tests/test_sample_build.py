"""The sample builder: same bytes every time, every column of its version, small files, expectations."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1] / "sample_traces"
SIGNATURES = {
    "fp8-unsupported-gpu",
    "async-pool-growth",
    "fp8-cast-storm",
    "um-prefetch-stall",
    "nvlink-absent",
    "offload-pcie-bound",
}
VERDICTS = {"confirmed", "probable", "ruled_out", "absent", "cannot_tell"}
# Number of columns by schema version, counted in real exports (usage events at 3.25.0: those of 3.20.3).
COLUMNS = {
    "CUPTI_ACTIVITY_KIND_KERNEL": {"2.9.1": 27, "3.11.1": 28, "3.25.0": 40},
    "CUPTI_ACTIVITY_KIND_MEMCPY": {"2.9.1": 19, "3.11.1": 20, "3.25.0": 21},
    "CUPTI_ACTIVITY_KIND_RUNTIME": {"2.9.1": 8, "3.11.1": 8, "3.25.0": 8},
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": {"2.9.1": 9, "3.11.1": 10, "3.25.0": 12},
    "CUDA_GPU_MEMORY_USAGE_EVENTS": {"2.9.1": 11, "3.11.1": 17, "3.25.0": 18},
    "NVTX_EVENTS": {"2.9.1": 19, "3.11.1": 19, "3.25.0": 20},
    "TARGET_INFO_GPU": {"2.9.1": 41, "3.11.1": 41, "3.25.0": 41},
    "TARGET_INFO_CUDA_CONTEXT_INFO": {"3.11.1": 8, "3.25.0": 14},
    "TARGET_INFO_SESSION_START_TIME": {"2.9.1": 3, "3.11.1": 3, "3.25.0": 4},
    "StringIds": {"2.9.1": 2, "3.11.1": 2, "3.25.0": 2},
}


def run_builder(out: Path) -> None:
    subprocess.run([sys.executable, str(ROOT / "build.py"), str(out)], check=True, cwd=out.parent)


def files(root: Path) -> dict[str, bytes]:
    """Artifacts and expectations of the case folders (two levels down), by relative path."""
    found = {p.relative_to(root).as_posix(): p for p in sorted(root.glob("*/*/*")) if p.is_file()}
    return {name: p.read_bytes() for name, p in found.items() if name[0] not in "._"}


def folders() -> list[Path]:
    return sorted(p.parent for p in ROOT.glob("*/*/expected.json"))


def traces() -> list[Path]:
    return sorted(ROOT.glob("*/*/trace.sqlite"))


def label(path: Path) -> str:
    folder = path if path.is_dir() else path.parent
    return folder.relative_to(ROOT).as_posix()


@contextlib.contextmanager
def opened(path: Path) -> Any:
    db = sqlite3.connect(path.resolve().as_uri() + "?mode=ro&immutable=1", uri=True)
    try:
        yield db
    finally:
        db.close()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("first") / "samples"
    run_builder(out)
    return out


def test_building_twice_gives_the_same_bytes(built: Path, tmp_path: Path) -> None:
    run_builder(tmp_path / "again")
    assert files(built) == files(tmp_path / "again")


def test_committed_samples_are_what_the_builder_writes(built: Path) -> None:
    fresh, kept = files(built), files(ROOT)
    assert set(fresh) == set(kept)
    changed = [name for name in fresh if not name.endswith(".sqlite") and fresh[name] != kept[name]]
    assert changed == []
    for name in (n for n in fresh if n.endswith(".sqlite")):
        with opened(built / name) as new, opened(ROOT / name) as old:
            assert list(new.iterdump()) == list(old.iterdump()), name


@pytest.mark.parametrize("folder", folders(), ids=label)
def test_expectations_name_every_signature(folder: Path) -> None:
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    assert set(expected["expect"]) == SIGNATURES
    for verdict in expected["expect"].values():
        assert set([verdict] if isinstance(verdict, str) else verdict) <= VERDICTS
    assert expected["why"].endswith(".")
    assert (expected["schema"] is not None) == (folder / "trace.sqlite").exists()
    assert len(list(folder.iterdir())) >= 2, "a case needs an artifact beside its expectation"


@pytest.mark.parametrize("folder", folders(), ids=label)
def test_files_are_small(folder: Path) -> None:
    assert {f.name: f.stat().st_size for f in folder.iterdir() if f.stat().st_size > 400_000} == {}


@pytest.mark.parametrize("path", traces(), ids=label)
def test_tables_have_every_column_of_their_version(path: Path) -> None:
    version = json.loads((path.parent / "expected.json").read_text(encoding="utf-8"))["schema"]
    with opened(path) as db:
        tables = {r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        seen = {t: len(db.execute(f"PRAGMA table_info({t})").fetchall()) for t in tables & set(COLUMNS)}
        assert seen == {t: COLUMNS[t][version] for t in seen}
        meta = "EXPORT_META_DATA" if version == "2.9.1" else "META_DATA_EXPORT"
        stated = db.execute(f"SELECT value FROM {meta} WHERE name = 'EXPORT_SCHEMA_VERSION'").fetchall()
        assert stated == [(version,)]
        assert any(t.startswith("ENUM_") for t in tables) == (version != "2.9.1")
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("PRAGMA user_version").fetchone() == (0,)
        assert all(db.execute(f"SELECT 1 FROM {t} LIMIT 1").fetchone() for t in tables), "export is lazy"


@pytest.mark.parametrize("path", traces(), ids=label)
def test_ids_join_as_in_real_exports(path: Path) -> None:
    with opened(path) as db:
        lost = db.execute(
            "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k WHERE NOT EXISTS (SELECT 1 FROM"
            " CUPTI_ACTIVITY_KIND_RUNTIME r WHERE r.correlationId = k.correlationId"
            " AND (r.globalTid >> 24) = (k.globalPid >> 24) AND r.start <= k.start)"
        ).fetchone()
        assert lost == (0,), "a kernel without the launch that made it"
        assert db.execute(
            "SELECT count(*) FROM PROCESSES WHERE (globalPid >> 24) & 0xffffff != pid"
        ).fetchone() == (0,)
        late = db.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE end <= start").fetchone()
        assert late == (0,)
        overlapping = db.execute(
            "SELECT count(*) FROM (SELECT start, lag(end) OVER (PARTITION BY globalPid, streamId"
            " ORDER BY start) AS"
            " before FROM CUPTI_ACTIVITY_KIND_KERNEL) WHERE start < before"
        ).fetchone()
        assert overlapping == (0,), "two kernels at once on one stream"


@pytest.mark.parametrize("folder", [p.parent for p in traces() if "confirmed" in p.parent.name], ids=label)
def test_confirmed_traces_are_long_enough(folder: Path) -> None:
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    facts = {(m["metric"], json.dumps(m["params"])): m["value"] for m in expected["measured"]}
    assert facts["window_ns", "{}"] >= 1_000_000_000
    assert facts["kernel_count", '{"family": ""}'] >= 50


def test_every_schema_version_is_there() -> None:
    found = [json.loads(p.read_text(encoding="utf-8"))["schema"] for p in ROOT.glob("*/*/expected.json")]
    assert {"2.9.1", "3.11.1", "3.25.0"} <= set(found)


@pytest.mark.parametrize(
    ("folder", "metric", "low", "high"),
    [
        ("async-pool-growth/near-miss-growth", "pool_growth_ratio", 1.38, 1.5),
        ("fp8-cast-storm/near-miss-follow", "kernel_followed_by", 0.47, 0.5),
        ("um-prefetch-stall/near-miss-wall-share", "api_wall_share", 0.19, 0.2),
        ("offload-pcie-bound/near-miss-copy-share", "copy_busy_share", 0.48, 0.5),
    ],
)
def test_near_misses_are_just_under_the_threshold(folder: str, metric: str, low: float, high: float) -> None:
    expected = json.loads((ROOT / folder / "expected.json").read_text(encoding="utf-8"))
    values = [m["value"] for m in expected["measured"] + expected.get("about", []) if m["metric"] == metric]
    assert values
    assert all(low <= v < high for v in values)
