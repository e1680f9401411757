"""Operation class and families of kernels, from their names.

`classify` takes the distinct names of a trace (a few hundred) and answers with one class a name and one
boolean array a family; both come from `kernels.toml`, whose patterns run on the linear engine of polars.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

from diagnose.catalogue import load

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

UNKNOWN = "unknown"

# What a kernel is stands near the start of its name; nsys keeps names up to 260,000 characters.
MAX_NAME = 4_000


@dataclass(frozen=True, slots=True)
class OpClass:
    """One entry of the ordered list; `name` may come twice."""

    name: str
    label: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Family:
    """A set of kernels that signatures ask for; the examples bind the tests, not the program."""

    name: str
    label: str
    pattern: str
    must_match: tuple[str, ...]
    must_not_match: tuple[str, ...]


@cache
def op_class_list() -> tuple[OpClass, ...]:
    """The classes in order of trial."""
    return tuple(
        OpClass(entry["name"], entry["label"], load.any_of(entry["patterns"], any_case=True))
        for entry in load.data("kernels.toml")["class"]
    )


def op_classes() -> tuple[str, ...]:
    """Every class name once, in order, `unknown` last."""
    return (*dict.fromkeys(entry.name for entry in op_class_list()), UNKNOWN)


@cache
def families() -> dict[str, Family]:
    """Families by name. `includes` in the file adds another family's patterns."""
    raw = load.data("kernels.toml")["family"]

    def patterns(name: str) -> list[str]:
        entry = raw[name]
        return [*entry["patterns"], *(p for other in entry.get("includes", ()) for p in patterns(other))]

    return {
        name: Family(
            name,
            entry["label"],
            load.any_of(patterns(name)),
            tuple(entry["must_match"]),
            tuple(entry["must_not_match"]),
        )
        for name, entry in raw.items()
    }


def family_choices() -> tuple[str, ...]:
    """Every value that a `family` parameter may take: families, then `class:<op class>`."""
    return (*families(), *(f"class:{name}" for name in op_classes()))


def label(family: str) -> str:
    """What a family, `class:<op class>` or bare op class is called in a report."""
    if family in families():
        return families()[family].label
    name = family.removeprefix("class:")
    if name == UNKNOWN:
        return "Unclassified"
    return next((entry.label for entry in op_class_list() if entry.name == name), family)


class KernelClasses:
    """Answer of `classify`, in the order of `names`. Everything is worked out when it is first asked for."""

    def __init__(self, names: Sequence[str]) -> None:
        import polars as pl

        self.names = tuple(names)
        self._text = pl.Series(self.names, dtype=pl.String).str.slice(0, MAX_NAME)
        self._found: dict[str, NDArray[np.bool_]] = {}

    @cached_property
    def op_class(self) -> tuple[str, ...]:
        """The operation class of each name, `unknown` where no pattern hits."""
        import numpy as np

        rest = self._text
        for word in load.data("kernels.toml")["ignore"]:
            rest = rest.str.replace_all(word, "", literal=True)
        classes = np.full(len(self.names), UNKNOWN, dtype=object)
        places = np.arange(len(self.names))
        # Each pattern sees only the names that no earlier class took.
        for entry in op_class_list():
            if not len(places):
                break
            hit = rest.str.contains(entry.pattern)
            mask = hit.to_numpy()
            if mask.any():
                classes[places[mask]] = entry.name
                places, rest = places[~mask], rest.filter(~hit)
        return tuple(classes.tolist())

    def in_family(self, family: str) -> NDArray[np.bool_]:
        """True where the name is in `family` (`""` is every kernel, `class:<op class>` one class).

        Raises KeyError for a family that does not exist. The array is shared: do not change it.
        """
        if family not in self._found:
            self._found[family] = self._search(family)
        return self._found[family]

    def _search(self, family: str) -> NDArray[np.bool_]:
        import numpy as np

        if family == "":
            return np.ones(len(self.names), dtype=np.bool_)
        if not family.startswith("class:"):
            return self._text.str.contains(families()[family].pattern).to_numpy()
        wanted = family.removeprefix("class:")
        if wanted not in op_classes():
            raise KeyError(family)
        return np.fromiter((name == wanted for name in self.op_class), np.bool_, len(self.names))

    def families_of(self, index: int) -> tuple[str, ...]:
        """Names of the families that kernel `index` is in."""
        return tuple(name for name in families() if self.in_family(name)[index])


def classify(names: Sequence[str]) -> KernelClasses:
    """Class and families of distinct kernel names: about 40 ms for 500 names, all families 20 ms more."""
    return KernelClasses(names)
