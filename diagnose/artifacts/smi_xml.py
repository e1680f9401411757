"""`nvidia-smi -q -x`, any version of its document type.

Read as it streams, through expat, line by line: every value keeps its line, and a document that breaks off
gives what stood before the break. The document type that nvidia-smi names is never fetched. A document
that brings its own declarations (an internal subset, any entity) is refused: nvidia-smi prints none, and
entities can expand without bound.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from xml.parsers import expat

from diagnose.artifacts.base import Line, Section
from diagnose.artifacts.smi_cells import stamp, whole
from diagnose.artifacts.smi_paths import field_of_xml
from diagnose.artifacts.smi_tables import Block, Process, SmiTables, not_all_shown
from diagnose.artifacts.starts import start_kind
from diagnose.artifacts.unread import TextParsed

_DEPTH = 32
_LONG = 100_000  # of one line
_CELL = 400  # of one value
_OWN_ENTITIES = re.compile(r"&(?!(?:lt|gt|amp|quot|apos|#[0-9]{1,6}|#x[0-9A-Fa-f]{1,5});)")
_VERSIONS = {
    "driver_version": "driver",
    "kmd_version": "driver",
    "cuda_version": "driver_cuda",
    "cuda_umd_version": "driver_cuda",
}


class Refused(Exception):
    """The document brings declarations of its own, or is nested deeper than any output of nvidia-smi."""


class SmiXmlReader:
    kind = "xml"

    def sniff(self, section: Section) -> bool:
        return any(start_kind(line.text) == "xml" for line in section.lines[:2000])

    def read(self, section: Section) -> TextParsed:
        """`Parsed.rows` counts <gpu> elements."""
        return _Reading(section).parse()


@dataclass(slots=True)
class _Document:
    blocks: list[Block] = field(default_factory=list)
    driver: str | None = None
    time: float | None = None
    attached: tuple[int, int] | None = None


class _Reading:
    def __init__(self, section: Section) -> None:
        self.section = section
        self.tables = SmiTables(section.input)
        self.problems: list[str] = []
        self.unread: list[Line] = []
        self.documents: list[_Document] = []
        self.parser: expat.XMLParserType | None = None
        self.line = 0
        self.path: list[str] = []
        self.text: list[str] = []
        self.size = 0
        self.ended = self.broken = False
        self.block: Block | None = None
        self.process: Process | None = None

    def parse(self) -> TextParsed:
        for line in self.section.lines:
            if start_kind(line.text) == "xml" and self._is_first(line.text):
                if self.path:
                    self._broken("the document breaks off")
                self._begin()
            if self.parser is None or len(line.text) > _LONG:
                if line.text.strip() and line.text != self.section.command:
                    self.unread.append(line)
                continue
            self._feed(line)
        if self.path:
            self._broken("the document breaks off")
        return self._result()

    def _is_first(self, text: str) -> bool:
        """True for the line that begins a document: the declaration, or what stands first without one.

        After a break only a declaration begins anew: the rest of a refused document is not read either.
        """
        return text.lstrip().startswith("<?xml") or (self.parser is None and not self.broken)

    def _begin(self) -> None:
        self.ended = self.broken = False
        parser = expat.ParserCreate()
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EntityDeclHandler = self._entity
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        self.parser = parser
        self.documents.append(_Document())
        self.path, self.text, self.block, self.process = [], [], None, None

    def _feed(self, line: Line) -> None:
        assert self.parser is not None
        self.line = line.number
        try:
            self.parser.Parse(_source(line) + "\n", False)
        except Refused as refused:
            self._broken(str(refused))
        except expat.ExpatError as error:
            self._broken(f"not well-formed ({expat.ErrorString(error.code)})")
        else:
            if self.ended:
                self.parser = None

    def _broken(self, why: str) -> None:
        self.problems.append(f"line {self.line}: nvidia-smi XML: {why}; read up to here")
        self.parser, self.broken = None, True
        self.path = []

    # --- expat handlers -------------------------------------------------------------------------

    def _doctype(self, name: str, system: str | None, public: str | None, internal: bool) -> None:
        del name, system, public
        if internal:
            raise Refused("the document type has declarations inside, refused")

    def _entity(self, *_: object) -> None:
        raise Refused("declares an entity, refused")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self.path) >= _DEPTH:
            raise Refused("nested too deep, refused")
        self.path.append(tag.lower())
        self.text, self.size = [], 0
        if tag == "gpu" and len(self.path) == 2:
            self.block = Block(self.line, bus=attributes.get("id"))
            self.documents[-1].blocks.append(self.block)
        elif tag == "mig_device" and self.block is not None:
            self.block.mig_devices += 1

    def _characters(self, data: str) -> None:
        self.size += len(data)
        if self.size <= _CELL:
            self.text.append(data)

    def _end(self, tag: str) -> None:
        del tag
        path = tuple(self.path)
        value = "".join(self.text).strip() if self.size <= _CELL else ""
        self.path.pop()
        self.text, self.size = [], 0
        if not self.path:
            self.ended = True
        elif len(path) == 2 and path[1] == "gpu":
            self.block = None
        elif self.block is not None:
            self._value(path[2:], value)
        elif len(path) == 2:
            self._header(path[1], value)

    def _header(self, tag: str, value: str) -> None:
        document = self.documents[-1]
        if tag in _VERSIONS:
            found = self.tables.software(_VERSIONS[tag], value, self.line)
            if _VERSIONS[tag] == "driver":
                document.driver = document.driver or found
        elif tag == "attached_gpus" and (count := whole(value)) is not None:
            document.attached = (count, self.line)
        elif tag == "timestamp":
            document.time = stamp(value)

    def _value(self, path: tuple[str, ...], value: str) -> None:
        assert self.block is not None
        if path[:2] == ("processes", "process_info"):
            self._process(path[2:], value)
        elif (name := field_of_xml(path)) == "gpu_firmware":
            self.tables.software(name, value, self.line)
        elif name is not None:
            self.block.facts.setdefault(name, (value, self.line))

    def _process(self, path: tuple[str, ...], value: str) -> None:
        if not path:  # </process_info>
            if self.process is not None and self.process.pid >= 0 and self.block is not None:
                self.block.processes.append(self.process)
            self.process = None
            return
        process = self.process = self.process or Process(self.line, -1)
        number = whole(value)
        if path == ("pid",) and number is not None:
            process.pid, process.line = number, self.line
        elif path == ("gpu_instance_id",):
            process.instance = number
        elif path == ("type",):
            process.kind = value if value in ("C", "G", "C+G", "M+C") else None
        elif path == ("used_memory",):
            process.memory = value

    def _result(self) -> TextParsed:
        count = 0
        for document in self.documents:
            shown = len(document.blocks)
            count += shown
            attached, line = document.attached or (None, 0)
            if attached is not None and attached != shown:
                self.problems.append(not_all_shown(line, attached, shown))
            for index, block in enumerate(document.blocks):
                block.gpu = index if attached == shown else None
                self.tables.add(block, driver=document.driver, time=document.time)
        problems = self.problems + self.tables.problems()
        return TextParsed(SmiXmlReader.kind, self.tables.tables(), problems, count, self.unread)


def _source(line: Line) -> str:
    """The line as XML. Cleaning takes entities off, which a process name may need: then the raw line."""
    if "&" not in line.raw or not line.raw.lstrip().startswith("<") or "\x1b" in line.raw:
        return _OWN_ENTITIES.sub("&amp;", line.text) if "&" in line.text else line.text
    return _OWN_ENTITIES.sub("&amp;", line.raw)


READERS = (SmiXmlReader(),)
