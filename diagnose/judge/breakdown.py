"""Where GPU time went: kernel time by operation class and precision, per device."""

from __future__ import annotations

import numpy as np

from diagnose.catalogue import dtypes, kernels
from diagnose.findings import TimeShare
from diagnose.metrics.measurements import Measurements
from diagnose.scope import Scope

# Names beyond these carry no visible share; they count as one row of unclassified time.
MAX_NAMES = 20_000


def breakdown(m: Measurements) -> list[TimeShare]:
    """Rows in falling order of time for each device; empty when kernels cannot be counted on."""
    if m.trace is None or m.kernels_problem(Scope()) is not None:
        return []
    table = m.kernel_table.all
    names = m.trace.kernel_names.names
    codes = np.unique(table.code)[:MAX_NAMES].tolist()
    classes = kernels.classify([names[c] for c in codes])
    groups = {
        code: (kernels.label(classes.op_class[i]), _precision(names[code])) for i, code in enumerate(codes)
    }
    totals: dict[tuple[int, str, str], list[int]] = {}
    top: dict[tuple[int, str, str], tuple[int, str]] = {}
    whole: dict[int, int] = {}
    for device, code, count, time in zip(
        table.device.tolist(), table.code.tolist(), table.count.tolist(), table.sum_ns.tolist(), strict=True
    ):
        label, precision = groups.get(code, ("Unclassified", ""))
        key = (device, label, precision)
        row = totals.setdefault(key, [0, 0])
        row[0] += count
        row[1] += time
        whole[device] = whole.get(device, 0) + time
        top[key] = max(top.get(key, (-1, "")), (time, names[code]))
    rows = [
        TimeShare(
            device if device >= 0 else None,
            label,
            precision,
            count,
            time,
            time / whole[device] if whole[device] else 0.0,
            top[(device, label, precision)][1],
        )
        for (device, label, precision), (count, time) in totals.items()
    ]
    return sorted(rows, key=lambda r: (r.device if r.device is not None else -1, -r.time_ns, r.family))


def _precision(name: str) -> str:
    found = dtypes.decode(name)
    return found.label
