"""Kernels of the samples: names as nsys writes them, and launch shapes, read from `kernels.tsv`.

The names are those of public traces and of shipped libraries (cuBLASLt, cuDNN, PyTorch, vLLM,
TransformerEngine, NCCL), spelled as nsys demangles: `(int)4`, `<unnamed>`, `[lambda(float) (instance 1)]`.
A short name `=` marks a plain C name: mangled, demangled and short name are the same text.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Kernel:
    """Name and launch shape."""

    name: str
    short: str
    grid: tuple[int, int, int]
    block: int
    regs: int
    static_shared: int
    dynamic_shared: int
    api: str

    @property
    def plain(self) -> bool:
        """True for a C name, which needs no demangling."""
        return self.short == self.name


def _read() -> dict[str, Kernel]:
    lines = (Path(__file__).resolve().parent / "kernels.tsv").read_text(encoding="utf-8").splitlines()
    found = {}
    for line in lines[1:]:
        key, short, grid, block, regs, static, dynamic, api, name = line.split("\t")
        x, y, z = (int(n) for n in grid.split("x"))
        short = name if short == "=" else short
        found[key] = Kernel(name, short, (x, y, z), int(block), int(regs), int(static), int(dynamic), api)
    return found


K = _read()
