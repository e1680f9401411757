"""async-pool-growth: an asynchronous memory pool that grows while what is in use stays flat."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from .case import Case, Facts, trace_only
from .devices import L40S
from .kernels import K
from .measure import Measured
from .timeline import GIB, HTOD, MIB, MS, US, Process
from .trace import Trace

SIGNATURE = "async-pool-growth"
STEPS, PER_STEP = 252, 4  # 1,008 asynchronous allocations
BLOCK = 32 * MIB  # the pool grows in blocks of this size


def measure(path: Path) -> tuple[Facts, Facts]:
    """Allocation calls, stream synchronisation, and the pool."""
    m = Measured(path)
    m.busy(0)
    m.api_group("async_alloc")
    m.api_group("stream_sync")
    m.allocations()
    return m.result()


@dataclass
class Pool:
    """A pool's books: its blocks in use, how much of it other live tensors hold, and its reserved size."""

    p: Process
    used: int
    size: int = 0
    threshold: int = 0
    next_address: int = 0x0A_0000_0000
    live: list[tuple[int, int]] = field(default_factory=list)

    def alloc(self, size: int, duration: int, reserved: int) -> None:
        """cudaMallocAsync; `reserved` is what the pool holds after it, rounded up to a block."""
        number = self.p.call("cudaMallocAsync_v11020", duration)
        address, self.next_address = self.next_address, self.next_address + size
        self.live.append((address, size))
        self.used += size
        self.size = max(-(-reserved // BLOCK) * BLOCK, -(-self.used // BLOCK) * BLOCK)
        self._event(number, address, size, freed=False)

    def free(self, place: int = 0) -> None:
        """cudaFreeAsync of one live block: the pool keeps the memory."""
        number = self.p.call("cudaFreeAsync_v11020", self.p.around(2.4 * US, 0.2))
        address, size = self.live.pop(place)
        self.used -= size
        self._event(number, address, size, freed=True)

    def _event(self, number: int, address: int, size: int, *, freed: bool) -> None:
        self.p.memory_event(number, address, size, freed=freed, pool=(self.size, self.used, self.threshold))


def _begin(version: str, seed: int) -> tuple[Trace, Process]:
    trace = Trace(version, [L40S], "550.90.07", "12040", stdout="serving\n", memory_usage=True)
    p = trace.process(4242, seed)
    p.create_context("cudaFree_v3020", p.around(236 * MS))
    # Neither of these is pool memory: pinned host memory, and the weights from plain cudaMalloc.
    p.memory_event(
        p.call("cudaHostAlloc_v3020", p.around(2 * MS)),
        0x7F00_0000_0000,
        64 * MIB,
        freed=False,
        pool=None,
        kind=1,
    )
    p.memory_event(
        p.call("cudaMalloc_v3020", p.around(0.4 * MS)), 0x0B_0000_0000, 15 * GIB, freed=False, pool=None
    )
    p.copy(HTOD, 512 * 1024, 20.0)
    p.sync("cudaStreamSynchronize_v3020", 7)
    return trace, p


def _size(p: Process) -> int:
    """Mostly about 4 MiB, one in six small."""
    if p.rng.random() < 0.16:
        return p.rng.choice((65536, 262144, 1048576))
    return p.rng.choice((3, 3, 4, 4, 4, 5, 6)) * MIB


def storm(growth: float, *, kept: float = 0.0, first: float = 6.0, used: float = 5.0) -> Trace:
    """Decode steps that allocate, run a little, free and synchronise; the synchronisation unmaps idle pool
    memory, so the next allocation is slow. The pool goes from `first` to `first` + `growth` GiB.
    `kept` is the share of blocks that is never freed (a leak)."""
    trace, p = _begin("3.11.1", 31)
    pool = Pool(p, used=int(used * GIB))
    for step in range(STEPS):
        for n in range(PER_STEP):
            reserved = int((first + growth * (step + n / PER_STEP) / STEPS) * GIB)
            pool.alloc(
                _size(p), p.around(190 * US if n == 0 else 3.1 * US, 0.12), pool.used if kept else reserved
            )
            p.think(4 * US)
        p.launch(K["f16_ampere"] if step % 3 else K["softmax"], 270 * US)
        for _ in range(PER_STEP):
            if pool.live and p.rng.random() >= kept:
                pool.free(-1 if kept else 0)
        p.sync("cudaStreamSynchronize_v3020", 7, extra=p.around(1.45 * MS, 0.1))
        p.think(2.1 * MS)
    return trace


def _resource_pool() -> Trace:
    """A data-frame library: the first query fills the pool, which stays; calls are cheap; few waits."""
    trace, p = _begin("3.25.0", 33)
    pool = Pool(p, used=2 * GIB, threshold=24 * GIB)
    for step in range(STEPS):
        for n in range(PER_STEP):
            early = step < 6
            reserved = int(min(24.0, 2.0 + 22.0 * (step * PER_STEP + n + 1) / (6 * PER_STEP)) * GIB)
            pool.alloc(_size(p), p.around(160 * US if early else 2.9 * US, 0.15), reserved)
            p.think(9 * US)
        p.launch(K["stencil"], 2.6 * MS)
        for _ in range(PER_STEP):
            pool.free()
        if step % 16 == 15:
            p.sync("cudaStreamSynchronize_v3020", 7)
        p.think(3.1 * MS)
    return trace


def cases() -> list[Case]:
    """The folders of this signature."""

    def of(name: str, verdict: str, why: str, trace: Trace) -> Case:
        return Case(
            f"{SIGNATURE}/{name}", why, {SIGNATURE: verdict}, trace_only((8, 9)), trace, measure=measure
        )

    return [
        of(
            "confirmed",
            "confirmed",
            "More than 1,000 cudaMallocAsync calls, the pool doubles while the bytes in use stay flat, "
            "and cudaStreamSynchronize takes over 30 % of the time, most of it idle, between allocations.",
            storm(10.0),
        ),
        of(
            "near-miss-growth",
            "absent",
            "As confirmed, but the last-quartile pool size is 1.41 times the first-quartile one; "
            "step 3 asks for 1.5.",
            storm(3.5),
        ),
        of(
            "look-alike-pool-by-design",
            "absent",
            "A pool that grows once and stays, with cheap calls and few waits: many "
            "asynchronous allocations alone are normal.",
            _resource_pool(),
        ),
        of(
            "look-alike-leak",
            "absent",
            "The bytes in use grow as fast as the pool: a leak of the program, not pool growth.",
            storm(0.0, kept=0.75, first=2.0, used=2.0),
        ),
    ]
