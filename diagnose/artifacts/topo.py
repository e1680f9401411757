"""`nvidia-smi topo -m` → `gpu_pairs`.

    \tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID
    GPU0\t X \tNV12\t0-51\t0\t\tN/A
    GPU1\tNV12\t X \t0-51\t0\t\tN/A

Cells, from the legend that nvidia-smi prints: X self, NV# bonded NVLinks, PIX, PXB, PHB, NODE, SYS paths over
PCIe. `topo -mp` prints PCIe paths only, also between GPUs joined by NVLink; its legend has no `NV#` line.
A pair is given only when both of its cells are there and agree; a damaged matrix gives problems, never a
guess.
"""

from __future__ import annotations

import re

from diagnose.artifacts.base import Line, Row, Section
from diagnose.artifacts.starts import is_topo_header
from diagnose.artifacts.topo_matrix import Matrix, columns_of, gpu_of
from diagnose.artifacts.unread import TextParsed

_HEAD = 200
_PCIE_ONLY = re.compile(r"\btopo\b.{0,80}\s(?:-mp|--matrix_pci)\b")
_LEGEND = re.compile(r"\s*(X|SYS|NODE|PHB|PXB|PIX|NV#|OK|CNS|GNS|TNS|NS|DR|U)\s+=\s")
_REST = re.compile(r"\s*(?:(?:NIC )?Legend:|NIC\d+:\s*\S+)\s*$")
_NIC_ROW = re.compile(r"\s*(?:NIC\d+|mlx\d+_\w+)\s+(?:X|NV\d|NODE|PIX|PXB|PHB|SYS)")
_GPU_ROW = re.compile(r"\s*(GPU\d{1,3})(?:\s|$)")
_P2P_CELLS = frozenset(("OK", "CNS", "GNS", "TNS", "NS", "DR", "U"))
_P2P_LEGEND = frozenset(("OK", "CNS", "GNS", "TNS"))


class TopoReader:
    kind = "topo"

    def sniff(self, section: Section) -> bool:
        return _has_matrix(section)

    def read(self, section: Section) -> TextParsed:
        """Pairs of all matrices of the section; `Parsed.rows` counts GPU rows read."""
        matrices: list[Matrix] = []
        legend: set[str] = set()
        unread: list[Line] = []
        problems: list[str] = []
        for line in section.lines:
            text = line.text
            if is_topo_header(text):
                matrices.append(Matrix(line.number, columns_of(text)))
            elif match := _LEGEND.match(text):
                legend.add(match.group(1))
            elif (match := _GPU_ROW.match(text)) and matrices:
                matrices[-1].add(gpu_of(match.group(1)) or 0, line)
            elif text.strip() and not _REST.match(text) and not (matrices and _NIC_ROW.match(text)):
                unread.append(line)
        rows: list[Row] = []
        count = 0
        for matrix in matrices:
            pairs = matrix.pairs()
            hides = _hides_nvlink(section.command, legend, [cell for *_, cell in pairs])
            if not hides and not legend and "topo" not in section.command and not _any_nvlink(pairs):
                problems.append(f"line {matrix.line}: neither legend nor command: read as topo -m")
            problems += matrix.problems
            count += len(matrix.rows)
            rows += [_row(section.input, pair, hides) for pair in pairs]
        variant = "-mp" if rows and all(row["hides_nvlink"] for row in rows) else "-m"
        # One GPU has no pairs: an empty table says so. A matrix nobody could read gives no table at all.
        known = bool(rows) or (count == 1 and not problems)
        return TextParsed(self.kind, {"gpu_pairs": rows} if known else {}, problems, count, unread, variant)


class TopoP2pReader:
    """`nvidia-smi topo -p2p r|w|n|a|p`: who may access whom, not over which path."""

    kind = "topo_p2p"

    def sniff(self, section: Section) -> bool:
        return _has_matrix(section) and is_p2p(section)

    def read(self, section: Section) -> TextParsed:
        number = section.lines[0].number
        problem = f"line {number}: P2P matrix (nvidia-smi topo -p2p): recognised, not read yet"
        unread = [line for line in section.lines if _is_prose(line.text)]
        return TextParsed(self.kind, problems=[problem], unread=unread)


def is_p2p(section: Section) -> bool:
    """True for a status matrix: its own words in the cells, or its legend without any path word."""
    if re.search(r"\btopo\b.{0,80}\s(?:-p2p|--p2pstatus)\b", section.command):
        return True
    for line in section.lines[:_HEAD]:
        tokens = line.text.split()
        if tokens and _GPU_ROW.match(line.text) and set(tokens[1:]) & _P2P_CELLS:
            return True
        if (match := _LEGEND.match(line.text)) and match.group(1) in _P2P_LEGEND:
            return True
    return False


def _is_prose(text: str) -> bool:
    shape = is_topo_header(text) or _GPU_ROW.match(text) or _LEGEND.match(text) or _REST.match(text)
    return bool(text.strip()) and not shape


def _has_matrix(section: Section) -> bool:
    head = [line.text for line in section.lines[:_HEAD]]
    return any(is_topo_header(text) for text in head) and any(
        _GPU_ROW.match(text) and not is_topo_header(text) for text in head
    )


def _any_nvlink(pairs: list[tuple[int, int, int, str]]) -> bool:
    return any(cell.startswith("NV") for *_, cell in pairs)


def _hides_nvlink(command: str, legend: set[str], cells: list[str]) -> bool:
    if _PCIE_ONLY.search(command):
        return True
    return "PIX" in legend and "NV#" not in legend and not any(c.startswith("NV") for c in cells)


def _row(source: int, pair: tuple[int, int, int, str], hides: bool) -> Row:
    line, a, b, cell = pair
    return {
        "input": source,
        "line": line,
        "gpu_a": a,
        "gpu_b": b,
        "link": cell,
        "nvlinks": int(cell[2:]) if cell.startswith("NV") else 0,
        "hides_nvlink": hides,
    }
