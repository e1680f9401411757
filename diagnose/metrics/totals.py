"""Small tables made from finished states: kernel totals and API totals as parallel arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diagnose.artifacts.chunks import Bools, Ints
from diagnose.scope import Scope
from diagnose.states.api_calls import ApiTotals
from diagnose.states.kernels import KernelTotals, Totals
from diagnose.states.trace_pass import TracePass


@dataclass(frozen=True, slots=True)
class Columns:
    """Parallel arrays, one entry per key of a totals state. `owner`: pid of kernels, tid of API calls."""

    owner: Ints
    device: Ints
    code: Ints
    count: Ints
    sum_ns: Ints
    max_ns: Ints
    first_start: Ints
    last_start: Ints
    last_end: Ints

    def where(self, mask: Bools) -> Columns:
        return Columns(*(getattr(self, name)[mask] for name in self.__slots__))


def _columns(totals: Totals, *, with_device: bool) -> Columns:
    keys = list(totals)
    fields = ("count", "sum_ns", "max_ns", "first_start", "last_start", "last_end")
    arrays = [np.array([getattr(totals[k], f) for k in keys], dtype=np.int64) for f in fields]
    owner = np.array([k[0] for k in keys], dtype=np.int64)
    device = np.array([k[1] if with_device else -1 for k in keys], dtype=np.int64)
    return Columns(owner, device, np.array([k[-1] for k in keys], dtype=np.int64), *arrays)


class KernelTable:
    """Kernel totals per (pid, device, name)."""

    def __init__(self, state: KernelTotals, trace: TracePass) -> None:
        self.all = _columns(state.totals, with_device=True)
        self.trace = trace
        self._families: dict[str, Bools] = {}

    def select(self, scope: Scope, family: str = "") -> Columns:
        """Rows of the scope and family; a pid of -1 stands for exports without process ids."""
        mask = np.ones(len(self.all.code), dtype=np.bool_)
        if scope.device is not None:
            mask &= self.all.device == scope.device
        if scope.pid is not None:
            mask &= (self.all.owner == scope.pid) | (self.all.owner == -1)
        if family:
            mask &= self.trace.union_family(family).flags[self.all.code]
        return self.all.where(mask)


class ApiTable:
    """API totals per (thread, name). Thread ids are nsys global ids; pid = (tid >> 24) & 0xffffff."""

    def __init__(self, state: ApiTotals, trace: TracePass) -> None:
        self.all = _columns(state.totals, with_device=False)
        self.state = state
        self.trace = trace
        self.pid = np.where(self.all.owner < 0, -1, (self.all.owner >> 24) & 0xFFFFFF)
        self.pids = sorted({int(p) for p in self.pid if p >= 0})

    @property
    def unnamed_share(self) -> float:
        total = int(self.all.count.sum())
        return int(self.all.count[self.all.code == 0].sum()) / total if total else 0.0

    def select(self, scope: Scope, group: str = "") -> Columns:
        mask = np.ones(len(self.all.code), dtype=np.bool_)
        if scope.pid is not None:
            mask &= self.pid == scope.pid
        if group:
            mask &= self.trace.group(group).flags[self.all.code]
        return self.all.where(mask)

    def count(self, group: str, scope: Scope) -> int:
        return int(self.select(scope, group).count.sum())

    def failed(self, group: str, scope: Scope, codes: frozenset[int] | None = None) -> int:
        """Calls of the group that returned an error (one of `codes` when given)."""
        flags = self.trace.group(group).flags
        return sum(
            count
            for (pid, code, returned), (count, _) in self.state.failures.items()
            if flags[code]
            and (scope.pid is None or pid == scope.pid)
            and (codes is None or returned in codes)
        )

    def succeeded(self, group: str, scope: Scope | None = None) -> int:
        scope = scope or Scope()
        return self.count(group, scope) - self.failed(group, scope)
