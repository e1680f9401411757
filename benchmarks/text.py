"""CPU and memory of reading long logs, against counting and splitting their lines.

python -m benchmarks.text LOG...
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.speed import timed

READ = (
    "import sys; from pathlib import Path; from diagnose.artifacts.text import read_text; "
    "read_text(Path(sys.argv[1]), 0)"
)
SPLIT = "import sys\nfor line in open(sys.argv[1], errors='replace'):\n    line.split()"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", nargs="+", type=Path)
    options = parser.parse_args()
    print("| log | MB | floor s | read s | ratio | peak MB |\n|---|--:|--:|--:|--:|--:|")
    for log in options.logs:
        floor = (
            timed(["grep", "-c", "", str(log)]).cpu_s + timed([sys.executable, "-c", SPLIT, str(log)]).cpu_s
        )
        read = timed([sys.executable, "-c", READ, str(log)])
        size = log.stat().st_size / 1e6
        print(
            f"| {log.name} | {size:.0f} | {floor:.1f} | {read.cpu_s:.1f} | {read.cpu_s / floor:.1f} "
            f"| {read.peak_mb:.0f} |"
        )


if __name__ == "__main__":
    main()
