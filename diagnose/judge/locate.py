"""Finds the API call and the NVTX ranges around exhibit rows: one scan a table, for those rows only."""

from __future__ import annotations

from dataclasses import replace

from diagnose.artifacts.nsys_sqlite import NsysExport
from diagnose.catalogue import apis
from diagnose.findings import ExhibitRow

PUSH_POP, START_END = 59, 60  # eventType of NVTX ranges
DEEPEST = 8


def locate(export: NsysExport, rows: list[ExhibitRow]) -> list[ExhibitRow]:
    """The rows with `tid`, `api_call` and `range_path` filled in where the export tells."""
    calls = _calls(export, rows)
    placed: list[tuple[ExhibitRow, int | None, int]] = []
    for row in rows:
        call = calls.get((row.pid, row.correlation)) if row.correlation is not None else None
        if call is not None:
            start, tid, name = call
            placed.append((replace(row, tid=tid & 0xFFFFFF, api_call=apis.normalise(name)), tid, start))
        elif row.tid is not None and row.pid is not None:
            placed.append((row, None, row.start_ns))
        else:
            placed.append((row, None, row.start_ns))
    paths = _ranges(export, [(tid, at) for _, tid, at in placed if tid is not None])
    return [
        replace(row, range_path=paths.get((tid, at), "")) if tid is not None else row
        for row, tid, at in placed
    ]


def _calls(export: NsysExport, rows: list[ExhibitRow]) -> dict[tuple[int | None, int], tuple[int, int, str]]:
    table = "CUPTI_ACTIVITY_KIND_RUNTIME"
    wanted = sorted({row.correlation for row in rows if row.correlation is not None})
    if not wanted or not export.has(table, "correlationId", "globalTid", "start", "nameId"):
        return {}
    marks = ",".join("?" * len(wanted[:500]))
    skip = " AND eventClass IS NOT 67" if export.has(table, "eventClass") else ""
    found = export.rows(
        f"SELECT correlationId, globalTid, start, nameId FROM {table} WHERE correlationId IN ({marks}){skip}",
        tuple(wanted[:500]),
    )
    ids = {int(str(r[3])) for r in found if isinstance(r[3], int)}
    names = export.strings(ids)
    out: dict[tuple[int | None, int], tuple[int, int, str]] = {}
    for correlation, tid, start, name in found:
        if isinstance(correlation, int) and isinstance(tid, int) and isinstance(start, int):
            pid = (tid >> 24) & 0xFFFFFF
            out[(pid, correlation)] = (start, tid, names.get(name, "") if isinstance(name, int) else "")
    return out


def _ranges(export: NsysExport, places: list[tuple[int, int]]) -> dict[tuple[int, int], str]:
    """(thread, time) → texts of the enclosing ranges, outermost first, joined by " / "."""
    table = "NVTX_EVENTS"
    if not places or not export.has(table, "start", "end", "eventType", "globalTid"):
        return {}
    text = "text" if export.has(table, "text") else "NULL"
    text_id = "textId" if export.has(table, "textId") else "NULL"
    places = list(dict.fromkeys(places))[:100]
    around = " OR ".join('(globalTid = ? AND start <= ? AND "end" >= ?)' for _ in places)
    found = export.rows(
        f'SELECT globalTid, start, "end", {text}, {text_id} FROM {table} '
        f"WHERE eventType IN ({PUSH_POP}, {START_END}) AND ({around})",
        tuple(v for tid, at in places for v in (tid, at, at)),
    )
    names = export.strings(int(str(r[4])) for r in found if isinstance(r[4], int))
    out = {}
    for tid, at in places:
        inside = [
            (r[1], -int(str(r[2])), str(r[3]) if r[3] is not None else names.get(r[4], ""))  # type: ignore[call-overload]
            for r in found
            if r[0] == tid and int(str(r[1])) <= at <= int(str(r[2]))
        ]
        texts = [t for _, _, t in sorted(inside) if t]
        if len(texts) > DEEPEST:
            texts = [*texts[:2], "…", *texts[-(DEEPEST - 3) :]]
        out[(tid, at)] = " / ".join(texts)
    return out
