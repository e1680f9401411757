"""CUDA API names: one spelling, groups, and what return codes mean.

nsys writes the runtime's names with the CUDA version that introduced them (`cudaMallocAsync_v11020`), the
driver's with their revision (`cuMemAlloc_v2`), and both may end in `_ptsz` or `_ptds`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from diagnose.catalogue import load

_VERSION = re.compile(r"_v\d{4,5}$")
_PER_THREAD = re.compile(r"_pt(?:sz|ds)$")
_REVISION = re.compile(r"_v\d$")


def normalise(name: str) -> str:
    """The name without runtime version and per-thread suffix; the driver's `_v2` stays.

    `cudaMemPrefetchAsync_v2_v12020` → `cudaMemPrefetchAsync_v2`,
    `cudaLaunchKernel_ptsz_v7000` → `cudaLaunchKernel`.
    """
    return _PER_THREAD.sub("", _VERSION.sub("", name))


def group_key(name: str) -> str:
    """The name by which groups are looked up: no trailing revision (`cuMemAlloc_v2` → `cuMemAlloc`)."""
    return _REVISION.sub("", normalise(name))


@dataclass(frozen=True, slots=True)
class Group:
    """One group of calls; `names` and `prefixes` hold those of the included groups too."""

    name: str
    meaning: str
    names: frozenset[str]
    prefixes: tuple[str, ...]

    def holds(self, key: str) -> bool:
        """True when the call with this `group_key` is in the group."""
        return key in self.names or (bool(self.prefixes) and key.startswith(self.prefixes))


@cache
def groups() -> dict[str, Group]:
    """Every group by name."""
    raw = load.data("apis.toml")["group"]
    found = {}
    for name, entry in raw.items():
        parts = [entry, *(raw[other] for other in entry.get("includes", ()))]
        found[name] = Group(
            name,
            entry["meaning"],
            frozenset(call for part in parts for call in part["names"]),
            tuple(prefix for part in parts for prefix in part.get("prefixes", ())),
        )
    return found


@lru_cache(maxsize=4_096)
def groups_of(name: str) -> frozenset[str]:
    """The groups that a call is in, whatever suffixes its name carries; empty for a call of no group."""
    key = group_key(name)
    return frozenset(group.name for group in groups().values() if group.holds(key))


GROUPS: tuple[str, ...] = tuple(groups())


@dataclass(frozen=True, slots=True)
class ReturnCode:
    """A non-zero code. `runtime` or `driver` is empty where that side has no such code.

    An `asynchronous` error belongs to earlier work than the call that returns it.
    """

    number: int
    runtime: str
    driver: str
    asynchronous: bool

    @property
    def name(self) -> str:
        return self.runtime or self.driver


@cache
def return_codes() -> dict[int, ReturnCode]:
    """The known codes by number; 0 (success) is not in it."""
    return {
        entry["number"]: ReturnCode(
            entry["number"],
            entry.get("runtime", ""),
            entry.get("driver", ""),
            entry.get("asynchronous", False),
        )
        for entry in load.data("apis.toml")["code"]
    }


def code_name(code: int, *, driver: bool = False) -> str:
    """`cudaErrorNoKernelImageForDevice` for 209 (`CUDA_ERROR_…` with `driver`); `code 12345` if unknown."""
    known = return_codes().get(code)
    if known is None:
        return "success" if code == 0 else f"code {code}"
    return (known.driver or known.runtime) if driver else (known.runtime or known.driver)


def is_benign(code: int, base_name: str, *, at_end: bool = False, retried: bool = False) -> bool:
    """True when `code` from this call is no failure.

    `at_end`: the call is among the last of its process. `retried`: the same allocation succeeds afterwards.
    Without these two, the codes that depend on them count as failures.
    """
    if code == 0:
        return True
    key = group_key(base_name)
    given = {"": True, "at_end": at_end, "retried": retried}
    return any(
        code in entry["codes"]
        and given[entry.get("when", "")]
        and (not entry["names"] or key in entry["names"])
        for entry in load.data("apis.toml")["benign"]
    )
