"""`nvidia-smi -L`: index and name of each GPU, MIG devices under it.

    GPU 0: NVIDIA H200 (UUID: GPU-…)
      MIG 1c.3g.71gb  Device  0: (UUID: MIG-…)

The closing parenthesis is often lost in a paste. `nvidia-smi nvlink -c` prints the same lines for GPUs that
have no link to tell of: nothing about links follows from them.
"""

from __future__ import annotations

import re

from diagnose.artifacts.base import Line, Section
from diagnose.artifacts.devices import name_of
from diagnose.artifacts.gpu_lines import gpu_line
from diagnose.artifacts.smi_tables import Block, SmiTables
from diagnose.artifacts.unread import TextParsed, place

_MIG = re.compile(r"\s*MIG \S.{0,40}?Device +[0-9]{1,2}: ?\(UUID:")
_SHARE = 0.8
_MOST = 20_000


class SmiListReader:
    kind = "smi_L"

    def sniff(self, section: Section) -> bool:
        texts = [line.text for line in section.lines[:_MOST] if line.text.strip()]
        if section.command:
            texts = [text for text in texts if text != section.command]
        headings = sum(1 for text in texts if (g := gpu_line(text)) is not None and g[2])
        children = sum(1 for text in texts if _MIG.match(text))
        return headings > 0 and headings + children >= _SHARE * len(texts)

    def read(self, section: Section) -> TextParsed:
        """`Parsed.rows` counts GPUs."""
        blocks: list[Block] = []
        orphans: list[int] = []
        unread: list[Line] = []
        for line in section.lines:
            if (heading := gpu_line(line.text)) is not None:
                block = Block(line.number, gpu=heading[0])
                block.facts["name"] = (heading[1], line.number)
                if heading[2]:
                    block.facts["uuid"] = ("seen", line.number)
                blocks.append(block)
            elif _MIG.match(line.text):
                if blocks:
                    blocks[-1].mig_devices += 1
                else:
                    orphans.append(line.number)
            elif line.text.strip() and line.text != section.command:
                unread.append(line)
        tables = SmiTables(section.input)
        for block in blocks:
            if name_of(block.cell("name")):
                tables.add(block)
        problems = [f"{place(orphans)}: MIG device above any GPU line, not counted"] if orphans else []
        return TextParsed(self.kind, tables.tables(), problems + tables.problems(), len(blocks), unread)


READERS = (SmiListReader(),)
