"""The matrix of `nvidia-smi topo`: header columns, rows, and which cells can be trusted."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from diagnose.artifacts.base import Line

# Cell words of `topo -m`, from the legend printed under the matrix; NV<n> is n bonded NVLinks.
_WORD = r"NV[0-9]{1,3}|NODE|PIX|PXB|PHB|SYS|X"
_CELL = re.compile(rf"(?:{_WORD})\Z")
_GLUED = re.compile(rf"(?:{_WORD}){{2,64}}\Z")
_EACH = re.compile(_WORD)
_LABELS = re.compile(r"(?:GPU[0-9]+|NIC[0-9]+|mlx[0-9]+_(?:bond_)?[0-9]+)+\Z")
_LABEL = re.compile(r"GPU[0-9]+|NIC[0-9]+|mlx[0-9]+_(?:bond_)?[0-9]+")
_AFFINITY = re.compile(r"\b(?:CPU|NUMA|GPU\s+NUMA)\s+(?:Affinity|ID)\b")
_GPU = re.compile(r"GPU([0-9]{1,3})\Z")


def columns_of(text: str) -> list[str]:
    """Column labels of a header line; glued ones (`NIC3NIC4`) come apart; affinity columns are no cells."""
    affinity = _AFFINITY.search(text)
    cells = text[: affinity.start()] if affinity else text
    labels: list[str] = []
    for token in cells.split():
        labels += _LABEL.findall(token) if _LABELS.match(token) else [token]
    return labels


def gpu_of(label: str) -> int | None:
    match = _GPU.match(label)
    return int(match.group(1)) if match else None


def cells_of(text: str, count: int) -> list[str]:
    """The first `count` cells behind a row's label. A blank TAB cell stays, as an empty text."""
    if "\t" in text:
        cells = [part for cell in text.strip(" ").split("\t")[1:] for part in _parts(cell.strip())]
        # Some pastes keep the TAB behind the label only and expand the others.
        if len(cells) >= count and not any(" " in cell for cell in cells[:count]):
            return cells[:count]
    cells = []
    for token in text.split()[1:]:
        if len(cells) >= count:
            break
        cells += _parts(token)
    return cells[:count]


def _parts(token: str) -> list[str]:
    """Glued cells (`SYSSYS`) come apart; everything else stays as it is."""
    return _EACH.findall(token) if _GLUED.match(token) else [token]


@dataclass(slots=True)
class Matrix:
    """One header and its GPU rows. `rows`: GPU → (line, cells by column)."""

    line: int
    labels: list[str]
    rows: dict[int, tuple[int, list[str]]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def gpus(self) -> dict[int, int]:
        """GPU → its column."""
        return {g: at for at, label in enumerate(self.labels) if (g := gpu_of(label)) is not None}

    def add(self, gpu: int, line: Line) -> None:
        """Take a row if its `X` stands on the diagonal and nowhere else; else say that it is damaged."""
        cells = cells_of(line.text, len(self.labels))
        at = self.gpus.get(gpu)
        if gpu in self.rows:
            self.problems.append(f"line {line.number}: second row for GPU{gpu}, not read")
        elif at is None:
            self.problems.append(f"line {line.number}: GPU{gpu} has no column in the header, row not read")
        elif [i for i, cell in enumerate(cells) if cell == "X"] != [at]:
            self.problems.append(
                f"line {line.number}: damaged row of GPU{gpu}, not read: X is off the diagonal"
            )
        else:
            self.rows[gpu] = (line.number, cells)

    def pairs(self) -> list[tuple[int, int, int, str]]:
        """(line, lower GPU, higher GPU, cell) of every pair whose two cells agree; problems for others."""
        found: list[tuple[int, int, int, str]] = []
        columns = self.gpus
        order = sorted(columns)
        missing = [g for g in order if g not in self.rows]
        if missing:
            names = ", ".join(f"GPU{g}" for g in missing)
            self.problems.append(f"line {self.line}: no usable row for {names}: their pairs are unknown")
        bad: dict[int, list[str]] = {}
        for at, a in enumerate(order):
            for b in order[at + 1 :]:
                if a not in self.rows or b not in self.rows:
                    continue
                (line, one), (other_line, other) = self.rows[a], self.rows[b]
                there = one[columns[b]] if columns[b] < len(one) else ""
                back = other[columns[a]] if columns[a] < len(other) else ""
                if there == back and _CELL.match(there):
                    found.append((line, a, b, there))
                else:
                    both = f"{there or 'blank'} and {back or 'blank'}"
                    bad.setdefault(other_line, []).append(f"GPU{a}-GPU{b} ({both})")
        for number, damaged in bad.items():
            more = f" and {len(damaged) - 1} more" if len(damaged) > 1 else ""
            self.problems.append(f"line {number}: cells differ or are no path, not read: {damaged[0]}{more}")
        return found
