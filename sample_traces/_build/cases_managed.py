"""um-prefetch-stall: managed memory prefetched again and again."""

from __future__ import annotations

from pathlib import Path

from .case import Case, Facts, trace_only
from .devices import T4
from .kernels import K
from .measure import Measured
from .timeline import FAULT, GRANULE, HTOD, KIB, MIB, MS, SPECULATIVE, UM_DTOH, UM_HTOD, US, Process
from .trace import Trace

SIGNATURE = "um-prefetch-stall"
BASE = 0x7F2D_0000_0000
SLICES, SLICE = 8, 10 * GRANULE


def measure(path: Path) -> tuple[Facts, Facts]:
    """Prefetch calls and managed-memory transfers."""
    m = Measured(path)
    m.busy(0)
    m.api_group("prefetch")
    m.managed()
    return m.result()


def _begin(version: str, seed: int, managed: int) -> tuple[Trace, Process]:
    driver = "52510517" if version == "2.9.1" else "550.54.15"  # old exports print the driver as bare digits
    trace = Trace(version, [T4], driver, "12000" if version == "2.9.1" else "12040", stdout="engine ready\n")
    p = trace.process(4242, seed)
    p.backtraces = version == "2.9.1"
    p.create_context("cudaMallocManaged_v6000", p.around(188 * MS))
    for _ in range(managed - 1):
        p.call("cudaMallocManaged_v6000", p.around(41 * US))
    p.think(24 * MS)
    return trace, p


def _stall(wait: float, host: float, passes: int = 9) -> Trace:
    """Each pass prefetches every weight slice, runs its layer, waits, and prefetches the slice back."""
    trace, p = _begin("2.9.1", 41, 3)
    p.launch(K["fill_f32"], 60 * US)
    for _ in range(passes):
        for piece in range(SLICES):
            p.prefetch(BASE + piece * SLICE, SLICE)
            for _ in range(3):
                p.launch(K["int8_conv"], wait * MS / 3)
            p.sync("cudaStreamSynchronize_v3020", 7)
            p.prefetch(BASE + piece * SLICE, SLICE, to_host=True)
            p.think(host * MS)
    return trace


def _faults() -> Trace:
    """No prefetch at all: kernels fault their pages in, the host faults the results back."""
    trace, p = _begin("3.25.0", 43, 2)
    for turn in range(9):
        before = p.now
        p.launch(K["stencil"], 104 * MS, sigma=0.02)
        at = before + 60 * US
        for n in range(84):
            address = BASE + n * 512 * KIB
            at = p.migrate(at, address, 128 * KIB, UM_HTOD, FAULT, 2.1) + p.around(0.9 * MS)
            if n % 4 == 0:
                at = p.migrate(at, address + 128 * KIB, 320 * KIB, UM_HTOD, SPECULATIVE, 6.0) + p.around(
                    40 * US
                )
        p.sync("cudaDeviceSynchronize_v3020")
        at = p.now + 50 * US
        for n in range(16):
            at = p.migrate(at, BASE + n * 512 * KIB, 64 * KIB, UM_DTOH, FAULT, 2.4) + p.around(60 * US)
        p.now = at
        p.think((4 + turn % 2) * MS)
        p.launch(K["mul_f32"], 90 * US)
        for _ in range(5):
            p.launch(K["add_f32"], 70 * US)
    p.sync("cudaDeviceSynchronize_v3020")
    return trace


def _once() -> Trace:
    """The right use: everything is prefetched once, then the kernels run."""
    trace, p = _begin("3.11.1", 44, 3)
    p.launch(K["fill_f32"], 60 * US)
    for piece in range(3):
        p.prefetch(BASE + piece * 64 * MIB, 64 * MIB)
    for _ in range(60):
        p.launch(K["stencil"], 0.7 * MS)
        p.launch(K["add_f32"], 110 * US)
        p.copy(HTOD, 4096, 6.0)
        p.sync("cudaStreamSynchronize_v3020", 7)
        p.think(41 * MS)
    return trace


def cases() -> list[Case]:
    """The folders of this signature."""

    def of(name: str, verdict: str, why: str, trace: Trace) -> Case:
        return Case(
            f"{SIGNATURE}/{name}", why, {SIGNATURE: verdict}, trace_only((7, 5)), trace, measure=measure
        )

    return [
        of(
            "confirmed",
            "confirmed",
            "cudaMemPrefetchAsync takes over 30 % of API time and over 20 % of the steady wall time of its "
            "thread, the same 2 MiB granules move nine times, and no kernel runs meanwhile.",
            _stall(9.2, 2.0),
        ),
        of(
            "near-miss-wall-share",
            "absent",
            "As confirmed, but the prefetch calls take just under 20 % of the steady wall time (step 2 "
            "asks for "
            "20 %) and under half of API time; counting the eventClass 67 twins would double it.",
            _stall(12.0, 16.6),
        ),
        of(
            "look-alike-page-faults",
            "absent",
            "Page faults (migrationCause 2) move the pages and there is no prefetch call: "
            "another fault with another cure.",
            _faults(),
        ),
        of(
            "look-alike-prefetch-once",
            "absent",
            "All prefetches are in the first tenth of the window: one prefetch is the right use.",
            _once(),
        ),
    ]
