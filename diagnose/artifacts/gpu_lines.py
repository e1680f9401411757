"""`GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-…)`: the line that `-L` and every `nvlink` form prints."""

from __future__ import annotations

import re

_GPU = re.compile(r"\s*GPU ([0-9]{1,3}): (.*?)\s*(\(UUID:.*)?$")


def gpu_line(text: str) -> tuple[int, str, bool] | None:
    """(index, name, whether a UUID follows) of such a line; None for any other line."""
    if "GPU " not in text or len(text) > 400:
        return None
    match = _GPU.match(text)
    if match is None or not match.group(2):
        return None
    return int(match.group(1)), match.group(2), match.group(3) is not None
