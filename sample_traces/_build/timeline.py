"""A small model of host threads, streams and copy engines that writes the rows a profiler would record.

Host calls advance a thread's clock; device work starts when the call has handed it over and its stream is
free. A synchronising call ends when the work it waits for has ended. Nothing here is random except the
noise drawn from the process's own seeded generator, so a build gives the same rows every time.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from .exporter import NONE_ID, SYNC_TYPE, Export, global_pid
from .kernels import Kernel

US = 1_000
MS = 1_000_000
KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30
GRANULE = 2 * MIB  # block of a managed-memory prefetch

HTOD, DTOH, DTOD, UM_HTOD, UM_DTOH = 1, 2, 8, 11, 12
PAGEABLE, PINNED, DEVICE, UNKNOWN = 0, 1, 2, 7
PREFETCH, FAULT, SPECULATIVE = 1, 2, 3


@dataclass
class Process:
    """One traced process: a host thread, a context on one device, its streams and ids."""

    out: Export
    pid: int
    device: int
    seed: int
    now: int = 0
    context: int = 1
    tid: int = 0
    correlation: int = 100
    grid_id: int = 0
    backtraces: bool = False  # write the eventClass 67 twin of every call, as exports with CUDA backtraces do
    free_at: dict[int, int] = field(default_factory=dict)  # stream -> end of its last work
    rng: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.tid = self.tid or self.pid

    @property
    def gpid(self) -> int:
        """globalPid."""
        return global_pid(self.pid)

    @property
    def gtid(self) -> int:
        """globalTid of the main thread."""
        return self.gpid | self.tid

    # -- noise -------------------------------------------------------------------------------------
    def around(self, mean: float, sigma: float = 0.08) -> int:
        """A lognormal duration with the given mean, at least 1 ns."""
        return max(1, round(mean * self.rng.lognormvariate(-sigma * sigma / 2, sigma)))

    def think(self, mean: float, sigma: float = 0.15) -> None:
        """Host work between two calls."""
        self.now += self.around(mean, sigma)

    # -- host calls --------------------------------------------------------------------------------
    def call(self, name: str, duration: int, *, code: int = 0, driver: bool = False) -> int:
        """Record an API call of a fixed length; returns its correlation id."""
        start, self.now = self.now, self.now + max(1, duration)
        return self._record(
            name, start, self.now, code, driver or (name.startswith("cu") and name[2].isupper())
        )

    def _record(self, name: str, start: int, end: int, code: int, driver: bool) -> int:
        self.correlation += self.rng.choice((1, 1, 1, 2, 3))
        row = {
            "start": start,
            "end": end,
            "globalTid": self.gtid,
            "correlationId": self.correlation,
            "returnValue": code,
            "callchainId": None,
        }
        api = "CUPTI_ACTIVITY_KIND_RUNTIME"
        self.out.add(api, eventClass=1 if driver else 0, nameId=self.out.string(name), **row)
        if self.backtraces:
            bare = name.rsplit("_v", 1)[0]
            self.out.add(api, eventClass=67, nameId=self.out.string(bare), **row)
        return self.correlation

    def create_context(self, name: str, duration: int) -> None:
        """Start-up: a cheap driver query first, then the long call that pays for the context."""
        self.call("cuModuleGetLoadingMode", 700, driver=True)
        self.think(2 * MS)
        self.call("cudaGetDeviceProperties_v2_v12000", self.around(420 * US))
        self.think(0.5 * MS)
        self.call(name, duration)

    def sync(self, name: str, stream: int | None = None, *, extra: int = 0) -> None:
        """Wait for one stream, or for all; `extra` is time the call spends after the device went idle."""
        done = max((t for s, t in self.free_at.items() if stream in (None, s)), default=0)
        start = self.now
        self.now = max(self.now + self.around(2500, 0.2), done + self.around(3 * US, 0.3)) + extra
        number = self._record(name, start, self.now, 0, False)
        kind = "stream" if "Stream" in name else "event" if "Event" in name else "context"
        self.out.add(
            "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
            start=start + 300,
            end=self.now - 200,
            deviceId=self.device,
            contextId=self.context,
            correlationId=number,
            globalPid=self.gpid,
            streamId=stream if kind == "stream" and stream is not None else NONE_ID,
            syncType=SYNC_TYPE[self.out.version][kind],
            eventId=NONE_ID,
        )

    # -- device work -------------------------------------------------------------------------------
    def _place(self, stream: int, duration: int, earliest: int) -> tuple[int, int]:
        start = max(earliest, self.free_at.get(stream, 0) + self.around(1100, 0.3))
        self.free_at[stream] = start + duration
        return start, start + duration

    def launch(self, kernel: Kernel, mean: float, *, stream: int = 7, sigma: float = 0.08) -> None:
        """Launch a kernel of the given mean length."""
        number = self.call(kernel.api, self.around(4600, 0.25))
        start, end = self._place(stream, self.around(mean, sigma), self.now + self.around(1300, 0.3))
        self.grid_id += 1
        text = self.out.string
        self.out.add(
            "CUPTI_ACTIVITY_KIND_KERNEL",
            start=start,
            end=end,
            deviceId=self.device,
            contextId=self.context,
            greenContextId=None,
            streamId=stream,
            correlationId=number,
            globalPid=self.gpid,
            demangledName=text(kernel.name),
            shortName=text(kernel.short),
            mangledName=text(kernel.name) if kernel.plain else None,
            launchType=1,
            cacheConfig=1,
            registersPerThread=kernel.regs,
            gridX=kernel.grid[0],
            gridY=kernel.grid[1],
            gridZ=kernel.grid[2],
            blockX=kernel.block,
            blockY=1,
            blockZ=1,
            staticSharedMemory=kernel.static_shared,
            dynamicSharedMemory=kernel.dynamic_shared,
            localMemoryPerThread=0,
            localMemoryTotal=0,
            gridId=self.grid_id,
            sharedMemoryExecuted=32768,
            graphNodeId=None,
            sharedMemoryLimitConfig=0,
            graphId=0,
            clusterX=0,
            clusterY=0,
            clusterZ=0,
            clusterSchedulingPolicy=0,
            maxPotentialClusterSize=0,
            maxActiveClusters=0,
            tensorSizeMinusOneElements="[]",
        )
        self.think(2 * US, 0.4)

    def copy(
        self, kind: int, size: int, gb_s: float, *, host: int = PINNED, stream: int = 7, sigma: float = 0.015
    ) -> None:
        """An asynchronous copy; from pageable memory the call blocks until the data has left the host."""
        number = self.call("cudaMemcpyAsync_v3020", self.around(6 * US, 0.25))
        start, end = self._place(
            stream, self.around(900 + size / gb_s, sigma), self.now + self.around(1500, 0.3)
        )
        if host == PAGEABLE and size > 64 * 1024:
            self.now = end
            self._stretch(end)
        source, target = {HTOD: (host, DEVICE), DTOH: (DEVICE, host), DTOD: (DEVICE, DEVICE)}[kind]
        self._copy_row(start, end, stream, number, size, kind, source, target, {})
        self.think(2 * US, 0.4)

    def _stretch(self, end: int) -> None:
        last = self.out.rows["CUPTI_ACTIVITY_KIND_RUNTIME"][-2 if self.backtraces else -1]
        last["end"] = end

    def _copy_row(
        self,
        start: int,
        end: int,
        stream: int,
        number: int,
        size: int,
        kind: int,
        source: int,
        target: int,
        more: dict[str, Any],
    ) -> None:
        self.out.add(
            "CUPTI_ACTIVITY_KIND_MEMCPY",
            start=start,
            end=end,
            deviceId=self.device,
            contextId=self.context if number else 0,
            streamId=stream,
            correlationId=number,
            globalPid=self.gpid,
            bytes=size,
            copyKind=kind,
            srcKind=source,
            dstKind=target,
            copyCount=1 if number else None,
            **more,
        )

    def memset(self, size: int, stream: int = 7) -> None:
        """cudaMemsetAsync."""
        number = self.call("cudaMemsetAsync_v3020", self.around(4 * US, 0.25))
        start, end = self._place(stream, self.around(1200 + size / 1500, 0.1), self.now + 1500)
        self.out.add(
            "CUPTI_ACTIVITY_KIND_MEMSET",
            start=start,
            end=end,
            deviceId=self.device,
            contextId=self.context,
            streamId=stream,
            correlationId=number,
            globalPid=self.gpid,
            value=0,
            bytes=size,
            memKind=DEVICE,
        )

    def graph_launch(self, mean: float, stream: int = 7) -> None:
        """One CUDA graph launch in trace mode Graph: its kernels are hidden in one row."""
        number = self.call("cudaGraphLaunch_v10000", self.around(96 * US, 0.15))
        start, end = self._place(stream, self.around(mean, 0.02), self.now + self.around(9 * US, 0.2))
        self.out.add(
            "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
            start=start,
            end=end,
            deviceId=self.device,
            contextId=self.context,
            streamId=stream,
            correlationId=number,
            globalPid=self.gpid,
            graphId=4,
            graphExecId=5,
        )

    # -- managed memory ----------------------------------------------------------------------------
    def migrate(self, start: int, address: int, size: int, kind: int, cause: int, gb_s: float) -> int:
        """One managed-memory transfer row (no correlation id, memory kinds unknown, as in real exports)."""
        end = start + self.around(900 + size / gb_s, 0.01)
        self._copy_row(
            start,
            end,
            0,
            0,
            size,
            kind,
            UNKNOWN,
            UNKNOWN,
            {"migrationCause": cause, "virtualAddress": address},
        )
        return end

    def prefetch(self, address: int, size: int, *, to_host: bool = False, gb_s: float = 6.2) -> None:
        """cudaMemPrefetchAsync: in practice the call blocks for about the time the migration takes."""
        start, at = self.now, self.now + self.around(60 * US, 0.2)
        at = max(at, self.free_at.get(7, 0) + 2 * US)
        for offset in range(0, size, GRANULE):
            at = self.migrate(at, address + offset, GRANULE, UM_DTOH if to_host else UM_HTOD, PREFETCH, gb_s)
            at += self.around(1900, 0.1)
        self.now = at + self.around(40 * US, 0.2)
        self._record("cudaMemPrefetchAsync_v8000", start, self.now, 0, False)

    # -- allocations -------------------------------------------------------------------------------
    def memory_event(
        self,
        number: int,
        address: int,
        size: int,
        *,
        freed: bool,
        pool: tuple[int, int, int] | None,
        kind: int = DEVICE,
    ) -> None:
        """A row of memory usage; pool = (size, used, release threshold), None for plain cudaMalloc."""
        values = (
            {}
            if pool is None
            else {
                "localMemoryPoolAddress": 0x0A_0000_0000,
                "localMemoryPoolSize": pool[0],
                "localMemoryPoolUtilizedSize": pool[1],
                "localMemoryPoolReleaseThreshold": pool[2],
            }
        )
        self.out.add(
            "CUDA_GPU_MEMORY_USAGE_EVENTS",
            start=self.now - 200,
            globalPid=self.gpid,
            deviceId=self.device,
            contextId=self.context,
            address=address,
            pc=0,
            bytes=size,
            memKind=kind,
            memoryOperationType=1 if freed else 0,
            correlationId=number,
            **values,
        )

    # -- ranges ------------------------------------------------------------------------------------
    def range(self, text: str, start: int) -> None:
        """An NVTX push/pop range from `start` to now."""
        self.out.add(
            "NVTX_EVENTS", start=start, end=self.now, eventType=59, text=text, globalTid=self.gtid, domainId=0
        )
