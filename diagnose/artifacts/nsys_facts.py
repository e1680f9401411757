"""The small tables of an nsys export: version, clock, GPUs, processes, diagnostics, program output.

Private text (environment, command lines, host names) is never read into a table here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from diagnose.artifacts.base import Row
from diagnose.artifacts.nsys_sqlite import NsysExport


@dataclass(slots=True)
class TraceFacts:
    """What an export says about itself. Epochs in ns since 1970 (UTC)."""

    product: str = ""
    schema_version: str = ""
    driver: str = ""
    cuda_driver: str = ""
    epoch_ns: int | None = None
    utc_offset_s: int | None = None
    capture: list[tuple[str, str]] = field(default_factory=list)
    wsl: bool = False

    def option(self, key: str) -> str | None:
        """A capture option by name, with or without the `PROCESS_0:` prefix (names are not unique)."""
        for name, value in self.capture:
            if name == key or name.endswith(":" + key):
                return value
        return None


def trace_facts(export: NsysExport) -> TraceFacts:
    facts = TraceFacts()
    for table in ("META_DATA_EXPORT", "EXPORT_META_DATA"):
        if export.has(table, "name", "value"):
            for name, value in export.rows(f"SELECT name, value FROM {table}"):
                if name == "EXPORT_PRODUCT_VERSION":
                    facts.product = str(value)
                elif name == "EXPORT_SCHEMA_VERSION":
                    facts.schema_version = str(value)
            break
    if export.has("META_DATA_CAPTURE", "name", "value"):
        keys = ("GRAPH_TRACE", "COLLECT_", "SKIP_SOME", "CAPTURE_EVENT_TYPE", "RATE_HZ")
        facts.capture = [
            (str(name), str(value))
            for name, value in export.rows("SELECT name, value FROM META_DATA_CAPTURE")
            if any(key in str(name) for key in keys)
        ]
    if export.has("TARGET_INFO_SYSTEM_ENV", "name", "value"):
        wanted = (
            "('NvDriverVersion', 'CudaDriverVersion', 'TargetInstallDir', 'KernelVersion', "
            "'SoftwareReleaseVersion')"
        )
        for name, value in export.rows(
            f"SELECT name, value FROM TARGET_INFO_SYSTEM_ENV WHERE name IN {wanted}"
        ):
            text = str(value)
            if name == "NvDriverVersion":
                facts.driver = dotted_driver(text)
            elif name == "CudaDriverVersion" and text.isdecimal():
                facts.cuda_driver = f"{int(text) // 1000}.{int(text) % 1000 // 10}"
            elif name == "TargetInstallDir" and not facts.product:
                found = re.search(r"nsight-systems[^/]*/(\d[\d.]*)", text)
                facts.product = found.group(1) if found else ""
            elif name in ("KernelVersion", "SoftwareReleaseVersion"):
                facts.wsl = facts.wsl or "microsoft-standard-WSL2" in text
    _clock(export, facts)
    return facts


def _clock(export: NsysExport, facts: TraceFacts) -> None:
    if export.has("TARGET_INFO_SESSION_START_TIME", "utcEpochNs"):
        has_text = export.has("TARGET_INFO_SESSION_START_TIME", "utcTime", "localTime")
        columns = "utcEpochNs, utcTime, localTime" if has_text else "utcEpochNs, NULL, NULL"
        rows = export.rows(f"SELECT {columns} FROM TARGET_INFO_SESSION_START_TIME LIMIT 1")
        if rows and isinstance(rows[0][0], int):
            facts.epoch_ns = rows[0][0]
            facts.utc_offset_s = _offset(rows[0][1], rows[0][2])


def _offset(utc: object, local: object) -> int | None:
    """Local minus UTC in seconds from the two texts of the session record, None when not given."""
    moments = [_moment(str(text)) for text in (utc, local)]
    if moments[0] is None or moments[1] is None:
        return None
    seconds = (moments[1] - moments[0]).total_seconds()
    return int(seconds) if abs(seconds) <= 15 * 3600 and seconds % 900 == 0 else None


def _moment(text: str) -> datetime | None:
    found = re.match(r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)", text)
    if found is None:
        return None
    try:
        return datetime(*(int(part) for part in found.groups()), tzinfo=UTC)  # type: ignore[arg-type,misc]
    except ValueError:
        return None


def moment_of(facts: TraceFacts, time_ns: int) -> datetime | None:
    """Wall clock (UTC) of a time of the trace, None when the export has no session epoch.

    The event clock counts from the session start that `utcEpochNs` names: diagnostics of real exports
    put "Profiling has started" at 0. `ANALYSIS_DETAILS.startTime` is on another clock.
    """
    if facts.epoch_ns is None:
        return None
    try:
        since = timedelta(microseconds=(facts.epoch_ns + time_ns) / 1000)
        return datetime(1970, 1, 1, tzinfo=UTC) + since
    except OverflowError:
        return None


def dotted_driver(text: str) -> str:
    """`52510517` → `525.105.17`: older exports write the driver version without dots.

    Three digits, then two or three, then two (seen: 5154304 = 515.43.04, 47014103 = 470.141.03,
    Windows 51601 = 516.01).
    """
    if "." in text or not text.isdecimal():
        return text
    if len(text) == 5:
        return f"{text[:3]}.{text[3:]}"
    if len(text) in (7, 8):
        return f"{text[:3]}.{text[3:-2]}.{text[-2:]}"
    return text


def normal_bus_id(text: str) -> str:
    """`00000000:99:00.0` and `0000:99:00.0` → `0000:99:00.0`, lower case; "" if it is none."""
    found = re.fullmatch(r"(?:([0-9A-Fa-f]{4,8}):)?([0-9A-Fa-f]{2}):([0-9A-Fa-f]{2})\.([0-7])", text.strip())
    if found is None:
        return ""
    domain = int(found.group(1) or "0", 16)
    return f"{domain:04x}:{found.group(2)}:{found.group(3)}.{found.group(4)}".lower()


def devices(export: NsysExport) -> list[Row]:
    """`trace_devices`. `KERNEL.deviceId` is the CUDA ordinal, which is not `TARGET_INFO_GPU.id`.

    Adapters without compute capability (Windows lists integrated graphics with cuDevice 0) are left out.
    """
    table = "TARGET_INFO_GPU"
    if not export.has(table, "name"):
        return []
    wanted = ("id", "deviceId", "cuDevice", "name", "busLocation", "totalMemory", "smCount")
    columns = [c for c in (*wanted, "computeMajor", "computeMinor") if export.has(table, c)]
    found = [
        dict(zip(columns, r, strict=True)) for r in export.rows(f"SELECT {', '.join(columns)} FROM {table}")
    ]
    old = _old_shape(export)
    out: list[Row] = []
    if "computeMajor" in columns:
        found = [gpu for gpu in found if isinstance(m := gpu["computeMajor"], int) and m > 0]
    for gpu in found:
        major, minor = gpu.get("computeMajor"), gpu.get("computeMinor")
        # In the old shape deviceId numbers the GPUs as CUDA does unless CUDA_VISIBLE_DEVICES reorders.
        ordinal = gpu.get("cuDevice", gpu.get("deviceId") if "cuDevice" not in columns else None)
        if ordinal == 0xFFFFFFFF:  # "unknown" in exports of 2021
            ordinal = 0 if len(found) == 1 else None
        extra = old.get(gpu.get("deviceId"), {}) if "computeMajor" not in columns else {}
        cc = f"{major}.{minor}" if isinstance(major, int) and isinstance(minor, int) else extra.get("cc")
        memory = gpu.get("totalMemory") or extra.get("memory")
        name = str(gpu["name"] or "")
        out.append(
            {
                "device": ordinal if isinstance(ordinal, int) else None,
                "smi_index": None,
                "name": name,
                "bus_id": normal_bus_id(str(gpu.get("busLocation") or "")) or None,
                "cc": cc,
                "memory_bytes": memory if isinstance(memory, int) and memory > 0 else None,
                "sm_count": gpu.get("smCount"),
                "mig": " MIG " in name,
            }
        )
    by_bus = sorted((row for row in out if row["bus_id"]), key=lambda row: str(row["bus_id"]))
    for index, row in enumerate(by_bus):
        row["smi_index"] = index
    return out


def _old_shape(export: NsysExport) -> dict[object, Row]:
    """Compute capability and memory of exports before 2021.5, by device number."""
    table = "TARGET_INFO_CUDA_GPU"
    columns = ("id", "computeCapabilityMajor", "computeCapabilityMinor", "globalMemorySize")
    key = next((c for c in ("deviceId", "id", "gpuId") if export.has(table, c)), None)
    if key is None or not export.has(table, *columns[1:3]):
        return {}
    memory = columns[3] if export.has(table, columns[3]) else "NULL"
    rows = export.rows(f'SELECT "{key}", {columns[1]}, {columns[2]}, {memory} FROM {table}')
    return {
        device: {"cc": f"{major}.{minor}" if isinstance(major, int) else None, "memory": size}
        for device, major, minor, size in rows
    }


def processes(export: NsysExport) -> list[Row]:
    """`processes`: file names only (folders can hold user names)."""
    if not export.has("PROCESSES", "globalPid", "name"):
        return []
    return [
        {"global_pid": gpid, "pid": (gpid >> 24) & 0xFFFFFF, "name": re.split(r"[\\/]", str(name))[-1][:80]}
        for gpid, name in export.rows("SELECT globalPid, name FROM PROCESSES")
        if isinstance(gpid, int)
    ]


def diagnostics(export: NsysExport) -> list[Row]:
    """`diagnostics`: what nsys itself reported as missing or unsupported."""
    if not export.has("DIAGNOSTIC_EVENT", "severity", "text"):
        return []
    pid = "globalPid" if export.has("DIAGNOSTIC_EVENT", "globalPid") else "NULL"
    return [
        {
            "severity": severity if isinstance(severity, int) else 0,
            "pid": (gpid >> 24) & 0xFFFFFF if isinstance(gpid, int) and gpid else None,
            "text": str(text),
        }
        for severity, text, gpid in export.rows(f"SELECT severity, text, {pid} FROM DIAGNOSTIC_EVENT")
    ]


def process_output(export: NsysExport) -> list[tuple[int, str]]:
    """(pid, whole text) of the stdout and stderr of the processes that nsys started."""
    table = "ProcessStreams"
    if not export.has(table, "globalPid", "contentId"):
        return []
    found = [
        (gpid, content)
        for gpid, content in export.rows(f"SELECT globalPid, contentId FROM {table}")
        if isinstance(gpid, int) and isinstance(content, int)
    ]
    texts = export.strings(content for _, content in found)
    return [((gpid >> 24) & 0xFFFFFF, texts[c]) for gpid, c in found if texts.get(c, "").strip()]
