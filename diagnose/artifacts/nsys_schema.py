"""Where each canonical column of a stream stands in an nsys SQLite export.

The layout is decided by the tables and columns found, never by the version number: columns come,
go and change order between export schemas 2.7 and 3.25 (measured over 634 public exports).
Documented by NVIDIA: https://docs.nvidia.com/nsight-systems/UserGuide/index.html, "SQLite Schema Reference".
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StreamTable:
    """`columns`: canonical name → candidates, first found wins. `required`: without them no rows are read."""

    table: str
    columns: dict[str, tuple[str, ...]]
    required: tuple[str, ...] = ("start_ns", "end_ns")
    where: tuple[tuple[str, str], ...] = ()  # (column that must exist, SQL condition)
    often_null: frozenset[str] = frozenset()


STREAM_TABLES: dict[str, StreamTable] = {
    "kernels": StreamTable(
        "CUPTI_ACTIVITY_KIND_KERNEL",
        {
            "start_ns": ("start",),
            "end_ns": ("end",),
            "device": ("deviceId",),
            "context": ("contextId",),
            "stream": ("streamId",),
            "global_pid": ("globalPid",),
            "correlation": ("correlationId",),
            "name_id": ("demangledName", "shortName", "mangledName"),
            "graph_node": ("graphNodeId",),
        },
        often_null=frozenset({"graph_node"}),
    ),
    # One row a launch when CUDA graphs are traced as a whole; its kernels are not listed then.
    "graph_launches": StreamTable(
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
        {
            "start_ns": ("start",),
            "end_ns": ("end",),
            "device": ("deviceId",),
            "global_pid": ("globalPid",),
        },
    ),
    "copies": StreamTable(
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        {
            "start_ns": ("start",),
            "end_ns": ("end",),
            "device": ("deviceId",),
            "stream": ("streamId",),
            "global_pid": ("globalPid",),
            "correlation": ("correlationId",),
            "bytes": ("bytes",),
            "kind": ("copyKind",),
            "src_memory": ("srcKind",),
            "dst_memory": ("dstKind",),
            "um_cause": ("migrationCause",),
            "address": ("virtualAddress",),
        },
        often_null=frozenset({"um_cause", "address", "src_memory", "dst_memory"}),
    ),
    "memsets": StreamTable(
        "CUPTI_ACTIVITY_KIND_MEMSET",
        {
            "start_ns": ("start",),
            "end_ns": ("end",),
            "device": ("deviceId",),
            "global_pid": ("globalPid",),
        },
    ),
    "api_calls": StreamTable(
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        {
            "start_ns": ("start",),
            "end_ns": ("end",),
            "global_tid": ("globalTid",),
            "correlation": ("correlationId",),
            "name_id": ("nameId",),
            "return_code": ("returnValue",),
        },
        # eventClass 67 repeats each call for its backtrace: its time would be counted twice.
        where=(("eventClass", "eventClass IS NOT 67"),),
        often_null=frozenset(),
    ),
    "allocations": StreamTable(
        "CUDA_GPU_MEMORY_USAGE_EVENTS",
        {
            "start_ns": ("start",),
            "global_pid": ("globalPid",),
            "device": ("deviceId",),
            "address": ("address",),
            "bytes": ("bytes",),
            "memory_kind": ("memKind",),
            "operation": ("memoryOperationType",),
            "pool_address": ("localMemoryPoolAddress",),
            "pool_size": ("localMemoryPoolSize",),
            "pool_used": ("localMemoryPoolUtilizedSize",),
            "pool_threshold": ("localMemoryPoolReleaseThreshold",),
        },
        required=("start_ns",),
        often_null=frozenset({"pool_address", "pool_size", "pool_used", "pool_threshold"}),
    ),
}

# Any one of these makes a file an nsys export (a reduced one may lack the others).
MARKERS = (
    "META_DATA_EXPORT",
    "EXPORT_META_DATA",
    "TARGET_INFO_GPU",
    "TARGET_INFO_SYSTEM_ENV",
    "ANALYSIS_DETAILS",
    "NVTX_EVENTS",
    "StringIds",
)


def is_export(tables: set[str]) -> bool:
    """An nsys export has `StringIds` or an activity table; nvprof databases have `StringTable` instead."""
    if "StringTable" in tables:
        return False
    return any(t in MARKERS or t.startswith("CUPTI_ACTIVITY_KIND_") for t in tables)
