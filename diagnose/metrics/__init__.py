"""Named measurements over tables and states; importing this package registers all of them."""

from diagnose.metrics import (
    allocations,
    api_calls,
    copies,
    devices,
    kernels,
    links,
    managed,
    pairs,
    samples,
    steps,
    text,
)
from diagnose.metrics.registry import CLAIMS, EXHIBITS, METRICS, Metric, Param

__all__ = [
    "CLAIMS",
    "EXHIBITS",
    "METRICS",
    "Metric",
    "Param",
    "allocations",
    "api_calls",
    "copies",
    "devices",
    "kernels",
    "links",
    "managed",
    "pairs",
    "samples",
    "steps",
    "text",
]
