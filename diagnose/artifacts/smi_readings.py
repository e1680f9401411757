"""Momentary readings of one GPU: `gpu_samples` when they are a series, else `gpu_readings`.

One `nvidia-smi` call says what was true at one moment. Taken into the means of a sampled log it would
move them, so only output that shows the same GPU at least three times (`-l`, a shell loop) counts as a
series; what nobody can put to an nvidia-smi index never does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from diagnose.artifacts.base import Row
from diagnose.artifacts.smi_cells import number

Facts = Mapping[str, tuple[str, int]]  # name of the --query-gpu field → (cell, line)

SERIES = 3

# Column (dmon's name where it means the same), unit, the --query-gpu fields in order of preference.
COLUMNS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("sm", "%", ("utilization.gpu",)),
    ("mem", "%", ("utilization.memory",)),
    ("enc", "%", ("utilization.encoder",)),
    ("dec", "%", ("utilization.decoder",)),
    ("jpg", "%", ("utilization.jpeg",)),
    ("ofa", "%", ("utilization.ofa",)),
    ("fb", "MiB", ("memory.used",)),
    ("fb_total", "MiB", ("memory.total",)),
    ("fb_reserved", "MiB", ("memory.reserved",)),
    ("fb_free", "MiB", ("memory.free",)),
    ("pwr", "W", ("power.draw", "power.draw.average", "power.draw.instant")),
    ("pwr_limit", "W", ("power.limit", "enforced.power.limit")),
    ("gtemp", "C", ("temperature.gpu",)),
    ("mtemp", "C", ("temperature.memory",)),
    ("pclk", "MHz", ("clocks.current.sm",)),
    ("mclk", "MHz", ("clocks.current.memory",)),
    ("rx_kb_s", "KB/s", ("pcie.rx",)),
    ("tx_kb_s", "KB/s", ("pcie.tx",)),
)  # fmt: skip


class Readings:
    """Collects readings of one section; `tables` puts each where it belongs."""

    def __init__(self, source: int) -> None:
        self._source = source
        self._rows: list[Row] = []
        self._visits: Counter[int] = Counter()

    def add(self, facts: Facts, *, gpu: int | None, bus_id: str | None, time: float | None) -> None:
        """One look at one GPU. A column that was not printed gives no row, an unknown cell gives None."""
        before = len(self._rows)
        for column, unit, fields in COLUMNS:
            value: float | None = None
            line = 0
            for name in fields:
                if value is None and name in facts:
                    cell, at = facts[name]
                    value = number(cell, unit)
                    line = at if value is not None or not line else line
            if not line:
                continue
            self._rows.append(
                {
                    "input": self._source,
                    "line": line,
                    "gpu": gpu,
                    "bus_id": bus_id,
                    "time": time,
                    "column": column,
                    "value": value,
                    "unit": unit,
                }
            )
        if gpu is not None and len(self._rows) > before:
            self._visits[gpu] += 1

    def tables(self) -> dict[str, list[Row]]:
        series = {gpu for gpu, count in self._visits.items() if count >= SERIES}
        samples = [row for row in self._rows if row["gpu"] in series]
        singles = [row for row in self._rows if row["gpu"] not in series]
        first = next((row["time"] for row in samples if row["time"] is not None), None)
        rows = [
            {
                "input": row["input"],
                "line": row["line"],
                "gpu": row["gpu"],
                "time": row["time"],
                "second": None if first is None or row["time"] is None else row["time"] - first,
                "column": row["column"],
                "value": row["value"],
                "unit": row["unit"],
            }
            for row in samples
        ]
        return {name: found for name, found in (("gpu_samples", rows), ("gpu_readings", singles)) if found}
