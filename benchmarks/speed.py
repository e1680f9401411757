"""Whole-process CPU, wall and peak memory of `diagnose TRACE` against the C floor, commands in turn.

    python -m benchmarks.speed SMALL.sqlite LARGE.sqlite [--rounds 3]

Machines are noisy: only ratios within one run are worth quoting. Linux (uses wait4's resource usage).
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Run:
    wall_s: float
    cpu_s: float
    peak_mb: float


def timed(command: list[str]) -> Run:
    """One run of a command; its output is thrown away. Raises when it fails to run at all."""
    import time

    begin = time.perf_counter()
    with Path(os.devnull).open("wb") as sink:
        child = subprocess.Popen(command, stdout=sink, stderr=sink)
        _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1, 3):
        raise SystemExit(f"{command[0]} failed with {child.returncode}")
    return Run(time.perf_counter() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def floor_program(folder: Path) -> Path:
    """The C floor, built into `folder` (needs a C compiler and SQLite's header)."""
    out = folder / "floor"
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise SystemExit("no C compiler for the floor: install gcc and libsqlite3-dev")
    subprocess.run([compiler, "-O2", "-o", str(out), str(HERE / "floor.c"), "-lsqlite3"], check=True)
    return out


def median(runs: list[Run]) -> Run:
    return Run(*(statistics.median(getattr(r, f) for r in runs) for f in ("wall_s", "cpu_s", "peak_mb")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("traces", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        floor = str(floor_program(Path(folder)))
        results: dict[Path, dict[str, list[Run]]] = {t: {"floor": [], "diagnose": []} for t in options.traces}
        for _ in range(options.rounds):
            for trace, kinds in results.items():
                kinds["floor"].append(timed([floor, str(trace)]))
                kinds["diagnose"].append(timed([sys.executable, "-m", "diagnose", "run", "-q", str(trace)]))
    print("| trace | MB | floor CPU s | diagnose CPU s | CPU ÷ floor | wall ÷ floor | peak MB |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for trace, kinds in results.items():
        low, ours = median(kinds["floor"]), median(kinds["diagnose"])
        size = trace.stat().st_size / 1e6
        print(
            f"| {trace.name} | {size:.0f} | {low.cpu_s:.2f} | {ours.cpu_s:.2f} "
            f"| {ours.cpu_s / low.cpu_s:.1f} | {ours.wall_s / low.wall_s:.1f} | {ours.peak_mb:.0f} |"
        )


if __name__ == "__main__":
    main()
