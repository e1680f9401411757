"""A whole trace: its machine, processes and capture settings, around the rows of the timelines."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from .devices import Gpu, info_row
from .exporter import PRODUCT, VM, Export, global_pid
from .timeline import MS, Process

EPOCH = 1_767_600_000_000_000_000  # session start of every sample: 2026-01-05 08:00:00 UTC
HELPERS = (
    (1, "systemd"),
    (731, "sshd"),
    (902, "nvidia-persistenced"),
    (3990, "bash"),
    (4001, "nsys"),
    (4003, "nsys-launcher"),
    (4017, "other"),
    (4018, "other"),
)


@dataclass
class Trace:
    """One capture of one machine."""

    version: str
    gpus: list[Gpu]
    driver: str
    cuda: str
    stderr: str = ""
    stdout: str = "ready\n"
    memory_usage: bool = False
    processes: list[Process] = field(default_factory=list)
    out: Export = field(init=False)
    session_start: int = 120 * MS

    def __post_init__(self) -> None:
        self.out = Export(self.version)

    def process(self, pid: int, seed: int, *, device: int = 0, begin: int | None = None) -> Process:
        """Add a traced process whose first call comes at `begin` (ns of the session)."""
        start = self.session_start + 180 * MS if begin is None else begin
        # Two processes count their correlation ids from the same number: ids repeat, as in real captures.
        added = Process(self.out, pid, device, seed, now=start, context=device + 1)
        self.processes.append(added)
        return added

    def finish(self, path: Path) -> None:
        """Add the tables about the machine and the capture, and write the file."""
        out, version = self.out, self.version
        events = [
            r for t, rows in out.rows.items() if t.startswith("CUPTI_ACTIVITY") for r in rows if "end" in r
        ]
        stop = max(int(r["end"]) for r in events) + 40 * MS
        out.add(
            "ANALYSIS_DETAILS",
            globalVid=VM,
            duration=stop - self.session_start,
            startTime=self.session_start,
            stopTime=stop,
        )
        out.add(
            "TARGET_INFO_SESSION_START_TIME",
            utcEpochNs=EPOCH,
            utcTime="",
            localTime="",
            systemClockNs=self.session_start,
        )
        for ordinal, gpu in enumerate(self.gpus):
            out.add("TARGET_INFO_GPU", **info_row(gpu, ordinal, VM))
        self._streams()
        self._environment()
        self._capture()
        self._programs()
        if out.has("DIAGNOSTIC_EVENT"):
            self._diagnostics(stop)
        product, date, _ = PRODUCT[version]
        table = "META_DATA_EXPORT" if out.has("META_DATA_EXPORT") else "EXPORT_META_DATA"
        major, minor, micro = version.split(".")
        for name, value in (
            ("EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems"),
            ("EXPORT_PRODUCT_VERSION", product),
            ("EXPORT_PRODUCT_DATE", date),
            ("EXPORT_SCHEMA_VERSION", version),
            ("EXPORT_SCHEMA_VERSION_MAJOR", major),
            ("EXPORT_SCHEMA_VERSION_MINOR", minor),
            ("EXPORT_SCHEMA_VERSION_MICRO", micro),
            ("EXPORT_PLATFORM", "linux-desktop"),
            ("EXPORT_ARCH", "x64"),
        ):
            out.add(table, name=name, value=value)
        out.write(path)

    def _streams(self) -> None:
        for p in self.processes:
            common = {"hwId": 0, "vmId": 1, "processId": p.pid, "contextId": p.context}
            self.out.add("TARGET_INFO_CUDA_NULL_STREAM", streamId=7, deviceId=p.device, **common)
            self.out.add(
                "TARGET_INFO_CUDA_CONTEXT_INFO",
                nullStreamId=7,
                deviceId=p.device,
                isGreenContext=0,
                parentContextId=0,
                numMultiprocessors=self.gpus[p.device].sms,
                numTpcs=0,
                workqueueResourceId=0,
                workqueueConcurrencyLimit=0,
                workqueueSharingScope=0,
                **common,
            )
            self.out.add(
                "TARGET_INFO_CUDA_DEVICE",
                gpuId=p.device,
                cudaId=p.device,
                pid=p.pid,
                uuid=None,
                numMultiprocessors=self.gpus[p.device].sms,
            )
            for stream in sorted(p.free_at):
                self.out.add(
                    "TARGET_INFO_CUDA_STREAM",
                    streamId=stream,
                    priority=0,
                    flag=3 if stream == 7 else 2,
                    **common,
                )

    def _environment(self) -> None:
        # nameEnum of Hostname is not known from a public export (it is scrubbed there), so it is 0 here.
        rows = [
            ("CpuCores", 1, "32"),
            ("CpuArchitecture", 3, "x86_64"),
            ("TargetInstallDir", 170, PRODUCT[self.version][2]),
            ("NvDriverVersion", 205, self.driver),
            ("HardwarePlatform", 600, "x86_64"),
            ("OsDescription", 605, "Ubuntu 22.04.5 LTS"),
            ("CudaDriverVersion", 611, self.cuda),
            ("SoftwareReleaseVersion", 618, "5.15.0-105-generic"),
            ("HasNvtxEvents", 809, "1"),
            ("HasCudaEvents", 812, "1"),
            ("SupportsGpuMetrics", 849, "1"),
            ("SupportsUMPageFaults", 854, "1"),
            ("ExportLevel", 904, "0"),
            ("Hostname", 0, "host-1"),
        ]
        for name, number, value in rows:
            self.out.add(
                "TARGET_INFO_SYSTEM_ENV",
                globalVid=VM,
                devStateName="Local (CLI)",
                name=name,
                nameEnum=number,
                value=value,
            )

    def _capture(self) -> None:
        usage = "true" if self.memory_usage else "false"
        for name, value in (
            ("CAPTURE_EVENT_TYPE", "NvtxEvents"),
            ("CAPTURE_EVENT_TYPE", "Cuda"),
            ("RATE_HZ", "0"),
            ("START_TRIGGER", "Immediate"),
            ("STOP_TRIGGER", "Delayed"),
            ("CUDA_GRAPH_TRACE_OPTIONS:MODE", "Graph"),
            ("CUDA_SKIP_SOME_API_CALLS", "true"),
            ("COLLECT_GPU_MEMORY_USAGE", usage),
            ("COLLECT_UVM_CPU_PAGE_FAULTS", "false"),
            ("COLLECT_UVM_GPU_PAGE_FAULTS", "false"),
            ("PROCESS_0:COLLECT_CUDA_TRACE", "true"),
            ("PROCESS_0:COLLECT_GPU_MEMORY_USAGE", usage),
            ("INCLUDE_CHILDREN", "true"),
            ("HAS_ANNOTATIONS", "false"),
        ):
            self.out.add("META_DATA_CAPTURE", name=name, value=value)

    def _programs(self) -> None:
        for pid, name in HELPERS:
            self.out.add("PROCESSES", globalPid=global_pid(pid), pid=pid, name=name)
        for p in self.processes:
            self.out.add("PROCESSES", globalPid=p.gpid, pid=p.pid, name="python3")
            self.out.add("ThreadNames", nameId=self.out.string("python3"), priority=20, globalTid=p.gtid)
            self.out.add(
                "ThreadNames",
                nameId=self.out.string("cuda-EvtHandlr"),
                priority=20,
                globalTid=p.gpid | (p.tid + 9),
            )
        first = self.processes[0]
        for number, (stream, text) in enumerate((("stdout", self.stdout), ("stderr", self.stderr))):
            file_name, content = self.out.string(f"/path/pid_{first.pid}_{stream}.log"), self.out.string(text)
            self.out.add("ProcessStreams", globalPid=first.gpid, filenameId=file_name, contentId=content)
            self.out.add(
                "ANALYSIS_FILE", id=number, filename="", globalPid=first.gpid, content=text, contentId=content
            )

    def _diagnostics(self, stop: int) -> None:
        gpid = self.processes[0].gpid
        count = sum(len(r) for t, r in self.out.rows.items() if t.startswith("CUPTI"))
        for timestamp, source, severity, text, who in (
            (self.session_start, 3, 1, "Profiling has started.", None),
            (
                self.session_start + 3 * MS,
                2,
                1,
                "Process was launched by the profiler, see log files for program output",
                gpid,
            ),
            (self.session_start + 60 * MS, 1, 1, "Common injection library initialized successfully.", gpid),
            (self.session_start + 90 * MS, 1, 1, "CUDA injection initialized successfully.", gpid),
            (stop - 30 * MS, 1, 1, f"Number of CUPTI events produced: {count}, CUPTI buffers: 6.", gpid),
            (stop, 3, 1, "Profiling has stopped.", None),
        ):
            self.out.add(
                "DIAGNOSTIC_EVENT",
                timestamp=timestamp,
                timestampType=1,
                source=source,
                severity=severity,
                text=text,
                globalPid=who,
            )
        if "NVTX_EVENTS" not in self.out.rows:
            self.out.add(
                "DIAGNOSTIC_EVENT",
                timestamp=stop,
                timestampType=2,
                source=3,
                severity=2,
                text="No NVTX events collected. Does the process use NVTX?",
                globalPid=gpid,
            )
