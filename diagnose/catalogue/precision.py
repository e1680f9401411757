"""The record that the name parsers fill, and how it reads in a report."""

from __future__ import annotations

from dataclasses import dataclass

_WORDS = {
    "e4m3": "FP8 E4M3",
    "e5m2": "FP8 E5M2",
    "fp8": "FP8",
    "e2m1": "FP4",
    "f16": "FP16",
    "bf16": "BF16",
    "f32": "FP32",
    "f64": "FP64",
    "tf32": "TF32",
    "i8": "INT8",
    "u8": "UINT8",
    "i32": "INT32",
    "i64": "INT64",
    "cf32": "complex FP32",
    "cf64": "complex FP64",
}


def word(dtype: str) -> str:
    """`bf16` → `BF16`; an unlisted type in capitals."""
    return _WORDS.get(dtype, dtype.upper())


@dataclass(frozen=True, slots=True)
class Precision:
    """Types of one kernel. None = the name does not tell, never "none used".

    `in_a`, `in_b`: operands in memory. `math`: multiplier type when it differs from the operands (TF32).
    `acc`: accumulator. `out`: result in memory. `arch`: architecture tag in the name ("90"), not the GPU's.
    `decoded_by`: parser. `certain`: False for hints and for letters whose meaning is a guess.
    `scaled`: type of block scales ("ue8m0", "ue4m3", "mx") when operands are block-scaled.
    """

    in_a: str | None = None
    in_b: str | None = None
    math: str | None = None
    acc: str | None = None
    out: str | None = None
    arch: str | None = None
    decoded_by: str = ""
    certain: bool = True
    scaled: str | None = None

    @property
    def known(self) -> bool:
        return bool(self.in_a or self.out)

    @property
    def label(self) -> str:
        """For people: `FP8 E4M3 → BF16`, `FP32 (TF32) → FP32`, `? → FP32`; empty when nothing is certain."""
        if not self.certain or not self.known:
            return ""
        left = word(self.in_a) if self.in_a else "?"
        if self.in_b and self.in_b != self.in_a:
            left += f" × {word(self.in_b)}"
        if self.math and self.math != self.in_a:
            left += f" ({word(self.math)})"
        return f"{left} → {word(self.out)}" if self.out else left


UNKNOWN = Precision(certain=False)
