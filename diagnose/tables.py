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
        "driver": _c("text", "", "driver version, e.g. 550.54.15"),
        "part_number": _c("text", "", "GPU part number as printed; 20B5-893-A1 begins with the device id"),
        "device_id": _c("text", "", "vendor:device, hex: 10de:20b5 is an A100 PCIe 80GB"),
        "uuid_seen": _c("flag", "", "True: the artifact prints a UUID for it (which is not kept)"),
        "mig": _c("flag", "", "MIG mode now; None where the GPU or the output has none"),
        "mig_devices": _c("int", "", "MIG devices listed for it; None where the output lists none"),
        "ecc": _c("flag", "", "ECC mode now"),
        "driver_model": _c("text", "", "WDDM, TCC or MCDM on Windows"),
    },
    "lost_gpus": _PLACE
    | {
        "gpu": _c("int", "", "nvidia-smi index, when the text names it"),
        "bus_id": _c("text"),
        "text": _c("text", "", "what nvidia-smi prints in its place, cut to 240 characters"),
    },
    "gpu_readings": _PLACE
    | {
        "gpu": _c("int", "", "nvidia-smi index; None when the output does not tell it"),
        "bus_id": _c("text"),
        "time": _c("float", "s", "as in gpu_samples"),
        "column": _c("text", "", "as in gpu_samples; also fb_total, fb_free, fb_reserved, pwr_limit, …"),
        "value": _c("float", "", "one momentary reading, not a series; None when the cell was N/A"),
        "unit": _c("text"),
    },
    "pcie_links": _PLACE
    | {
        "gpu": _c("int", "", "nvidia-smi index"),
        "bus_id": _c("text"),
        "gen_current": _c("int"),
        "gen_max": _c("int", "", "of this GPU in this system"),
        "gen_gpu_max": _c("int", "", "of the GPU alone"),
        "gen_host_max": _c("int", "", "of the root port; None in virtual machines"),
        "width_current": _c("int", "lanes"),
        "width_max": _c("int", "lanes"),
        "replays": _c("int", "", "cumulative replay counter"),
        "loaded": _c("flag", "", "utilisation above 0 in the same reading; None when it does not tell"),
    },
    "pcie_functions": _PLACE
    | {
        "bus_id": _c("text"),
        "device_id": _c("text", "", "vendor:device, hex"),
        "name": _c("text"),
        "is_gpu": _c("flag"),
        "is_bridge": _c("flag"),
        "cap_gt_s": _c("float", "GT/s", "LnkCap speed"),
        "cap_width": _c("int", "lanes"),
        "sta_gt_s": _c("float", "GT/s", "LnkSta speed"),
        "sta_width": _c("int", "lanes"),
        "acs_redirect": _c("flag", "", "ACSCtl has ReqRedir+ or CmpltRedir+; None when not printed"),
    },
    "clock_events": _PLACE
    | {
        "gpu": _c("int"),
        "reason": _c("text", "", "sw_power_cap, hw_thermal_slowdown, … lower case with underscores"),
        "active": _c("flag"),
        "bus_id": _c("text"),
        "counter_us": _c("int", "us", "cumulative time of the reason; None when not printed"),
    },
    "clocks": _PLACE
    | {
        "gpu": _c("int"),
        "name": _c("text", "", "sm | memory | graphics"),
        "current_mhz": _c("float"),
        "max_mhz": _c("float"),
        "bus_id": _c("text"),
    },
    "fabric": _PLACE
    | {
        "gpu": _c("int"),
        "state": _c("text", "", "as printed: Completed, In Progress, N/A gives None"),
        "status": _c("text"),
        "clique": _c("text"),
        "health": _c("text"),
        "bus_id": _c("text"),
    },
    "gpu_processes": _PLACE
    | {
        "gpu": _c("int"),
        "pid": _c("int"),
        "kind": _c("text", "", "C | G | C+G"),
        "memory_bytes": _c("int", "bytes"),
        "bus_id": _c("text"),
        "gpu_instance": _c("int", "", "MIG GPU instance id"),
        "sm": _c("float", "%", "of pmon; None when the cell was -"),
        "mem": _c("float", "%", "of pmon: memory controller, not memory filled"),
        "time": _c("float", "s", "as in gpu_samples"),
        "second": _c("float", "s", "as in gpu_samples"),
    },
    "nvlink_errors": _PLACE
    | {
        "gpu": _c("int"),
        "link": _c("int"),
        "kind": _c("text", "", "replay | recovery | crc; NVLink 5: the printed name without Errors"),
        "count": _c("int", "", "cumulative; None when the cell was N/A"),
    },
    "nvlink_remotes": _PLACE
    | {
        "gpu": _c("int"),
        "link": _c("int"),
        "remote_bus_id": _c("text", "", "device at the other end: a GPU or an NVSwitch"),
        "remote_link": _c("int", "", "link number there; `nvlink -R` only"),
    },
    "nvlink_capabilities": _PLACE
    | {
        "gpu": _c("int"),
        "link": _c("int"),
        "name": _c("text", "", "p2p, p2p_atomics, system_memory_access, …; `link` is false on working links"),
        "supported": _c("flag"),
    },
    "nvlink_old_counters": _PLACE
    | {
        "gpu": _c("int"),
        "link": _c("int"),
        "counter": _c("int", "", "0 or 1; counts nothing until it was configured: 0 is no evidence"),
        "rx_kbytes": _c("int", "KBytes", "as printed"),
        "tx_kbytes": _c("int", "KBytes", "as printed"),
    },
    "ib_ports": _PLACE
    | {
        "adapter": _c("text"),
        "port": _c("int"),
        "state": _c("text", "", "active | down | init | armed"),
        "physical": _c("text", "", "link_up | disabled | polling | …"),
        "rate_gb_s": _c("float", "Gb/s", "as printed"),
        "width": _c("int", "lanes", "None where the tool prints none (ibstat)"),
        "width_supported": _c("int", "lanes"),
        "layer": _c("text", "", "infiniband | ethernet"),
    },
    "kernel_log": _PLACE
    | {
        "bus_id": _c("text"),
        "xid": _c("int"),
        "pid": _c("int"),
        "text": _c("text", "", "message, cut to 240 characters"),
        "when": _c("text", "", "time stamp as printed"),
    },
    "nccl_log": _PLACE
    | {
        "what": _c("text", "", "channel | nvls | env | version | topology | warning | timeout"),
        "rank": _c("int"),
        "transport": _c("text", "", "p2p | shm | net_ib | net_socket of a channel"),
        "name": _c("text", "", "environment variable, warning text, collective"),
        "value": _c("text"),
        "number": _c("float", "", "nvls channels, SeqNum, …"),
    },
    "software": _PLACE | {"name": _c("text"), "version": _c("text")},
    "settings": _PLACE | {"name": _c("text", "", "allow-listed only"), "value": _c("text")},
    "memory_log": _PLACE
    | {
        "what": _c("text", "", "allocated | reserved | free | total | weights | kv_pool | …"),
        "bytes": _c("float", "bytes"),
    },
    "serving_log": _PLACE
    | {
        "what": _c("text", "", "preemption | kv_usage | kv_tokens | max_concurrency"),
        "value": _c("float"),
        "mode": _c("text"),
    },
}
