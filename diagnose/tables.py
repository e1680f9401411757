"""The contract between readers and metrics: every table's columns, types, units and meaning.

Event streams of a trace are never held whole: they are yielded as column chunks of 64-bit integers
(`artifacts/base.py`) whose canonical column names stand in `STREAMS`. Everything else is a small
table of plain rows (`list[dict]`) or a polars frame with the columns of `TABLES`.
A cell that is unknown is None, never 0 and never an empty text.
Every row of a text artifact carries `input` (index into the case's inputs) and `line` (1-based).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["int", "float", "text", "flag"]


@dataclass(frozen=True, slots=True)
class Column:
    kind: Kind
    unit: str = ""
    meaning: str = ""


def _c(kind: Kind, unit: str = "", meaning: str = "") -> Column:
    return Column(kind, unit, meaning)


_PLACE = {"input": _c("int", "", "index of the input file"), "line": _c("int", "", "1-based line")}

# Canonical columns of the event streams. All values are int64; `*_id` point into the trace's strings.
STREAMS: dict[str, dict[str, Column]] = {
    "kernels": {
        "start_ns": _c("int", "ns"),
        "end_ns": _c("int", "ns"),
        "device": _c("int", "", "CUDA ordinal"),
        "context": _c("int"),
        "stream": _c("int"),
        "global_pid": _c("int", "", "nsys global pid; pid = (global_pid >> 24) & 0xffffff"),
        "correlation": _c("int", "", "joins to api_calls on (pid, correlation)"),
        "name_id": _c("int", "", "demangled name, else short, else mangled"),
        "graph_node": _c("int", "", "set when the kernel ran as a node of a CUDA graph"),
    },
    "graph_launches": {
        "start_ns": _c("int", "ns"),
        "end_ns": _c("int", "ns"),
        "device": _c("int"),
        "global_pid": _c("int"),
    },
    "copies": {
        "start_ns": _c("int", "ns"),
        "end_ns": _c("int", "ns"),
        "device": _c("int"),
        "stream": _c("int"),
        "global_pid": _c("int"),
        "correlation": _c("int"),
        "bytes": _c("int", "bytes"),
        "kind": _c("int", "", "1 HtoD, 2 DtoH, 8 DtoD, 10 PtoP, 11/12/13 unified HtoD/DtoH/DtoD"),
        "src_memory": _c("int", "", "0 pageable, 1 pinned, 2 device, 4 managed, 7 unknown"),
        "dst_memory": _c("int"),
        "um_cause": _c("int", "", "1 prefetch, 2 fault, 3 speculative, 4 eviction, 5 access counters"),
        "address": _c("int", "", "virtual address of a unified-memory move"),
    },
    "memsets": {
        "start_ns": _c("int", "ns"),
        "end_ns": _c("int", "ns"),
        "device": _c("int"),
        "global_pid": _c("int"),
    },
    "api_calls": {
        "start_ns": _c("int", "ns"),
        "end_ns": _c("int", "ns"),
        "global_tid": _c("int"),
        "correlation": _c("int"),
        "name_id": _c("int"),
        "return_code": _c("int", "", "cudaError_t or CUresult; 0 is success"),
    },
    "allocations": {
        "start_ns": _c("int", "ns"),
        "global_pid": _c("int"),
        "device": _c("int"),
        "address": _c("int"),
        "bytes": _c("int", "bytes"),
        "memory_kind": _c("int", "", "as src_memory"),
        "operation": _c("int", "", "0 allocation, 1 deallocation"),
        "pool_address": _c("int"),
        "pool_size": _c("int", "bytes", "reserved by the pool after the operation"),
        "pool_used": _c("int", "bytes", "in use after the operation"),
        "pool_threshold": _c("int", "bytes", "release threshold"),
    },
}

TABLES: dict[str, dict[str, Column]] = {
    # --- from a trace -----------------------------------------------------------------------
    "trace_devices": {
        "device": _c("int", "", "CUDA ordinal; None when the export does not tell"),
        "smi_index": _c("int", "", "rank by bus id, as nvidia-smi numbers GPUs; None if unknown"),
        "name": _c("text"),
        "bus_id": _c("text", "", "domain:bus:device.function, lower case"),
        "cc": _c("text", "", "compute capability, '8.9'"),
        "memory_bytes": _c("int", "bytes"),
        "sm_count": _c("int"),
        "mig": _c("flag"),
    },
    "processes": {"pid": _c("int"), "global_pid": _c("int"), "name": _c("text")},
    "diagnostics": {
        "severity": _c("int", "", "1 info, 2 warning, 3 error"),
        "pid": _c("int"),
        "text": _c("text"),
    },
    # --- from text --------------------------------------------------------------------------
    "gpu_samples": _PLACE
    | {
        "gpu": _c("int", "", "nvidia-smi index"),
        "time": _c("float", "s", "seconds since 1970 as if local time were UTC; None without a date"),
        "second": _c("float", "s", "seconds since the first row; None without any time column"),
        "column": _c("text", "", "name as dmon prints it: sm, mem, fb, rxpci, …"),
        "value": _c("float", "", "None when the cell was - or N/A"),
        "unit": _c("text"),
    },
    "gpu_pairs": _PLACE
    | {
        "gpu_a": _c("int"),
        "gpu_b": _c("int", "", "gpu_a < gpu_b"),
        "link": _c("text", "", "NV<n>, PIX, PXB, PHB, NODE, SYS"),
        "nvlinks": _c("int", "", "bonded links; 0 for a PCIe path"),
        "hides_nvlink": _c("flag", "", "from `topo -mp`, which prints PCIe paths only"),
    },
    "nvlinks": _PLACE
    | {
        "gpu": _c("int"),
        "gpu_name": _c("text"),
        "link": _c("int", "", "None for a statement about the whole GPU"),
        "state": _c("text", "", "active | inactive | all_inactive | unsupported | unknown"),
        "gb_s": _c("float", "gb_s", "raw rate, one direction"),
    },
    "nvlink_counters": _PLACE
    | {
        "gpu": _c("int"),
        "link": _c("int"),
        "snapshot": _c("int", "", "0, 1, … in order of appearance"),
        "tx_bytes": _c("int", "bytes", "cumulative"),
        "rx_bytes": _c("int", "bytes", "cumulative"),
    },
    "text_lines": _PLACE
    | {
        "pattern": _c("text", "", "id in catalogue/texts.toml"),
        "value": _c("float", "", "number captured by the pattern, in the pattern's unit"),
        "excerpt": _c("text", "", "the matching line, cut to 240 characters"),
        "origin": _c("text", "", "log | process_output"),
        "pid": _c("int", "", "process whose output it is, when known"),
    },
    "devices": _PLACE
    | {
        "gpu": _c("int", "", "nvidia-smi index"),
        "name": _c("text"),
        "bus_id": _c("text"),
        "cc": _c("text"),
        "memory_bytes": _c("int", "bytes"),
    },
}
