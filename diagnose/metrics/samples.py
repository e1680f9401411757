"""Metrics over periodic GPU samples (`nvidia-smi dmon`), cut to the trace window when clocks align."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from diagnose.artifacts.base import Row
from diagnose.artifacts.chunks import Bools
from diagnose.findings import Fact
from diagnose.metrics.measurements import Measurements
from diagnose.metrics.registry import known, metric, unknown
from diagnose.scope import Grain, Scope

READS = ("gpu_samples",)
BY_DEVICE: tuple[Grain, ...] = ("device", "run")


def smi_index(m: Measurements, device: int) -> int | None:
    """nvidia-smi index of a CUDA ordinal: by bus order in the trace, or the only GPU there is."""
    for row in m.rows("trace_devices"):
        if row["device"] == device:
            return row["smi_index"]  # type: ignore[no-any-return]
    seen = {row["gpu"] for row in m.rows("gpu_samples")}
    return next(iter(seen)) if len(seen) == 1 and len(m.devices_used) <= 1 else None


def _values(m: Measurements, scope: Scope, column: str) -> list[Row] | Fact:
    rows = m.rows("gpu_samples")
    if not rows:
        return unknown("no dmon log", "gpu_samples")
    rows = [row for row in rows if row["column"] == column]
    if scope.device is not None:
        index = smi_index(m, scope.device)
        if index is None:
            return unknown("which GPU of the dmon log this device is cannot be told", "devices")
        rows = [row for row in rows if row["gpu"] == index]
    rows = [row for row in rows if row.get("inside", True) and row["value"] is not None]
    if not rows:
        return unknown(f"the dmon log has no value in column {column}", f"gpu_samples.{column}")
    return rows


def _reduce(m: Measurements, scope: Scope, column: str, how: str) -> Fact:
    found = _values(m, scope, column)
    if isinstance(found, Fact):
        return found
    # A row of a long log stands for `count` samples between `low` and `high`.
    values = np.array([row["value"] for row in found], dtype=np.float64)
    counts = np.array([row.get("count", 1) for row in found], dtype=np.float64)
    high = max(float(row["high"] if "high" in row else row["value"]) for row in found)
    low = min(float(row["low"] if "low" in row else row["value"]) for row in found)
    mean = float((values * counts).sum() / counts.sum())
    value = {"mean": mean, "max": high, "min": low, "range": high - low}[how]
    return known(float(value), f"dmon, {int(counts.sum())} samples")


@metric("number", READS, grains=BY_DEVICE)
def sample_mean(m: Measurements, scope: Scope, *, column: str) -> Fact:
    """Mean of a dmon column (cells that print - or N/A are not values)."""
    return _reduce(m, scope, column, "mean")


@metric("number", READS, grains=BY_DEVICE)
def sample_max(m: Measurements, scope: Scope, *, column: str) -> Fact:
    """Largest value of a dmon column."""
    return _reduce(m, scope, column, "max")


@metric("number", READS, grains=BY_DEVICE)
def sample_min(m: Measurements, scope: Scope, *, column: str) -> Fact:
    """Smallest value of a dmon column."""
    return _reduce(m, scope, column, "min")


@metric("number", READS, grains=BY_DEVICE)
def sample_range(m: Measurements, scope: Scope, *, column: str) -> Fact:
    """Largest minus smallest value of a dmon column."""
    return _reduce(m, scope, column, "range")


@metric("count", READS, grains=BY_DEVICE)
def sample_count(m: Measurements, scope: Scope, *, column: str) -> Fact:
    """Number of values in a dmon column."""
    found = _values(m, scope, column)
    if isinstance(found, Fact):
        return found
    return known(float(sum(row.get("count", 1) for row in found)), "dmon")


@metric("number", READS, grains=BY_DEVICE)
def sample_duration_s(m: Measurements, scope: Scope, *, column: str = "fb") -> Fact:
    """Seconds between the first and last value of a dmon column."""
    found = _values(m, scope, column)
    if isinstance(found, Fact):
        return found
    times = [row["second"] for row in found if row["second"] is not None]
    if not times:
        return unknown("the dmon log has no time column", "gpu_samples.time")
    return known(float(max(times) - min(times)), "dmon")


@metric("number", READS, grains=BY_DEVICE)
def sample_slope_per_s(m: Measurements, scope: Scope, *, column: str) -> Fact:
    """Least-squares slope of a dmon column per second, largest over the GPUs of the scope."""
    found = _values(m, scope, column)
    if isinstance(found, Fact):
        return found
    slopes = [s for s in (_slope(rows) for rows in _by_gpu(found)) if s is not None]
    if not slopes:
        return unknown("the dmon log has no time column or too few rows", "gpu_samples.time")
    return known(max(slopes), f"dmon, {len(found)} samples")


def _by_gpu(rows: list[Row]) -> Iterable[list[Row]]:
    for gpu in sorted({row["gpu"] for row in rows}):
        yield [row for row in rows if row["gpu"] == gpu]


def _slope(rows: list[Row]) -> float | None:
    timed = [(row["second"], row["value"]) for row in rows if row["second"] is not None]
    if len(timed) < 3:
        return None
    x, y = (np.array(v, dtype=np.float64) for v in zip(*timed, strict=True))
    spread: Bools | float = ((x - x.mean()) ** 2).sum()
    if float(spread) == 0.0:
        return None
    return float(((x - x.mean()) * (y - y.mean())).sum() / float(spread))
