"""Builds tiny nsys SQLite exports from plain Python rows.

Times are ns. A text in a column of `NAMED` becomes an id of StringIds. Process ids become nsys global
ids (pid in bits 24 to 47). Any table or column can be left out, renamed or declared otherwise.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
MEMCPY = "CUPTI_ACTIVITY_KIND_MEMCPY"
MEMSET = "CUPTI_ACTIVITY_KIND_MEMSET"
GRAPH = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
RUNTIME = "CUPTI_ACTIVITY_KIND_RUNTIME"
MEMORY = "CUDA_GPU_MEMORY_USAGE_EVENTS"
NAMED = ("demangledName", "shortName", "mangledName", "nameId", "textId", "contentId")
LAUNCH, GRAPH_LAUNCH = "cudaLaunchKernel_v7000", "cudaGraphLaunch_v10000"


def gpid(pid: int) -> int:
    return (1 << 56) | (pid << 24)


def gtid(pid: int, tid: int) -> int:
    return gpid(pid) | tid


class Trace:
    """Rows by table; `write` makes the file. `strings` maps text to its id in StringIds."""

    def __init__(self) -> None:
        self.tables: dict[str, list[dict[str, Any]]] = {}
        self.strings: dict[str, int] = {}

    def add(self, table: str, **row: Any) -> None:
        self.tables.setdefault(table, []).append(row)

    def id(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings) + 1)

    def kernel(
        self,
        start: int | None,
        end: int | None,
        name: Any = "k",
        *,
        short: Any = None,
        corr: int | None = 0,
        device: int = 0,
        stream: int = 7,
        context: int = 1,
        pid: int = 100,
        node: int | None = None,
    ) -> None:
        self.add(
            KERNEL,
            start=start,
            end=end,
            deviceId=device,
            contextId=context,
            streamId=stream,
            correlationId=corr,
            globalPid=gpid(pid),
            demangledName=name,
            shortName=name if short is None else short,
            graphNodeId=node,
        )

    def api(
        self,
        start: int | None,
        end: int | None,
        name: Any,
        *,
        corr: int = 0,
        pid: int = 100,
        tid: int = 1,
        code: int | None = 0,
        event_class: int = 0,
    ) -> None:
        self.add(
            RUNTIME,
            start=start,
            end=end,
            eventClass=event_class,
            globalTid=gtid(pid, tid),
            correlationId=corr,
            nameId=name,
            returnValue=code,
        )

    def launch(self, start: int, end: int, name: Any = "k", *, at: int | None = None, **kernel: Any) -> None:
        """A kernel and the launch call that made it, 1 ns long at `at` (default: 1 ns before the kernel)."""
        kernel.setdefault("corr", 1 + len(self.tables.get(RUNTIME, [])))
        at = start - 1 if at is None else at
        self.api(at, at + 1, LAUNCH, corr=kernel["corr"], pid=kernel.get("pid", 100))
        self.kernel(start, end, name, **kernel)

    def copy(
        self,
        start: int,
        end: int,
        size: int | None = 1,
        kind: int | None = 1,
        *,
        src: int | None = 1,
        dst: int | None = 2,
        cause: int | None = None,
        address: int | None = None,
        device: int = 0,
        pid: int = 100,
        corr: int = 0,
        stream: int = 7,
    ) -> None:
        self.add(
            MEMCPY,
            start=start,
            end=end,
            deviceId=device,
            streamId=stream,
            globalPid=gpid(pid),
            correlationId=corr,
            bytes=size,
            copyKind=kind,
            srcKind=src,
            dstKind=dst,
            migrationCause=cause,
            virtualAddress=address,
        )

    def memset(self, start: int, end: int, *, device: int = 0, pid: int = 100) -> None:
        self.add(MEMSET, start=start, end=end, deviceId=device, globalPid=gpid(pid))

    def graph(self, start: int, end: int, *, device: int = 0, pid: int = 100) -> None:
        self.add(GRAPH, start=start, end=end, deviceId=device, globalPid=gpid(pid))

    def memory(
        self,
        start: int,
        size: int,
        *,
        free: bool = False,
        kind: int = 2,
        pid: int = 100,
        pool: tuple[int, int] | None = None,
        pool_address: int = 1,
        threshold: int | None = None,
    ) -> None:
        self.add(
            MEMORY,
            start=start,
            globalPid=gpid(pid),
            deviceId=0,
            address=0,
            bytes=size,
            memKind=kind,
            memoryOperationType=int(free),
            localMemoryPoolAddress=pool_address if pool else None,
            localMemoryPoolSize=pool[0] if pool else None,
            localMemoryPoolUtilizedSize=pool[1] if pool else None,
            localMemoryPoolReleaseThreshold=threshold,
        )

    def gpu(self, name: str = "NVIDIA H100 80GB HBM3", **columns: Any) -> None:
        row = {
            "id": 0,
            "name": name,
            "busLocation": "0000:17:00.0",
            "totalMemory": 85_000_000_000,
            "smCount": 132,
            "cuDevice": 0,
            "computeMajor": 9,
            "computeMinor": 0,
        }
        self.add("TARGET_INFO_GPU", **(row | columns))

    def write(
        self,
        path: Path,
        *,
        without: Mapping[str, Iterable[str]] | None = None,
        drop: Iterable[str] = (),
        types: Mapping[str, str] | None = None,
        backwards: bool = False,
        page_size: int = 4096,
    ) -> Path:
        """`without`: table → columns left out. `drop`: tables left out. `backwards`: columns in reverse.

        `types`: column → declared type (default INTEGER; "" declares none).
        """
        rows = {t: list(r) for t, r in self.tables.items() if t not in set(drop)}
        for content in rows.values():
            for row in content:
                row.update({c: self.id(v) for c, v in row.items() if c in NAMED and isinstance(v, str)})
        if "StringIds" not in set(drop):
            rows["StringIds"] = [{"id": i, "value": text} for text, i in self.strings.items()]
        if "META_DATA_EXPORT" not in set(drop):
            rows.setdefault("META_DATA_EXPORT", [{"name": "EXPORT_SCHEMA_VERSION", "value": "3.11.1"}])
        connection = sqlite3.connect(path)
        connection.execute(f"PRAGMA page_size = {page_size}")
        for table, content in rows.items():
            columns = [
                c for c in (content[0] if content else {"id": 0}) if c not in (without or {}).get(table, ())
            ]
            columns = columns[::-1] if backwards else columns
            declared = ", ".join(f'"{c}" {(types or {}).get(c, _declared(c))}' for c in columns)
            connection.execute(f'CREATE TABLE "{table}" ({declared})')
            marks = ", ".join("?" * len(columns))
            connection.executemany(
                f'INSERT INTO "{table}" VALUES ({marks})', [[row[c] for c in columns] for row in content]
            )
        connection.commit()
        connection.close()
        return path


def _declared(column: str) -> str:
    return "TEXT" if column in ("name", "value", "text", "busLocation", "utcTime", "localTime") else "INTEGER"
