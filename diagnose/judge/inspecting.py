"""What each input is, and what could be judged from the case as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from diagnose.case import TRACE_KIND, collect
from diagnose.catalogue.captures import capture_for
from diagnose.findings import Capture
from diagnose.judge.measure import measure
from diagnose.judge.options import load_signatures
from diagnose.judge.run import tables_present


@dataclass(frozen=True, slots=True)
class InspectedInput:
    """One file. `missing`: (signature, capture) for what the case lacks to judge it fully."""

    path: str
    kind: str
    rows: int
    span: str
    devices: tuple[str, ...]
    problems: tuple[str, ...]
    can_judge: tuple[str, ...]
    missing: tuple[tuple[str, Capture], ...]


def inspect(paths: Sequence[Path]) -> list[InspectedInput]:
    """One entry a file. Raises InputError when nothing can be read."""
    signatures = load_signatures()
    case = collect(paths, hash_inputs=False)
    try:
        m = measure(case, signatures)
        present = tables_present(m)
        judged = tuple(s.id for s in signatures if present & set(s.file.needs.any_of))
        missing = []
        for signature in signatures:
            for table in (*signature.file.needs.any_of, *signature.file.needs.helpful):
                capture = capture_for(table) if table not in present else None
                if capture is not None:
                    missing.append((signature.id, capture))
        out = []
        for one in case.inputs:
            trace = one.kind == TRACE_KIND
            window = m.window if trace else None
            names = tuple(str(r["name"]) for r in m.rows("trace_devices")) if trace else ()
            out.append(
                InspectedInput(
                    one.path,
                    one.kind,
                    sum(m.trace.rows.values()) if trace and m.trace else one.rows,
                    f"{m.window_ns / 1e9:.3f} s" if window else "",
                    names,
                    (*one.problems, *(m.trace.export.problems if trace and m.trace else ())),
                    judged if one.readable else (),
                    tuple(missing) if one.readable else (),
                )
            )
        return out
    finally:
        case.close()
