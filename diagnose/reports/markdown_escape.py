r"""Untrusted text in GitHub-flavoured Markdown: shown literally, linking nothing, notifying nobody.

Rules used: GFM spec 0.29 (backslash escapes 6.1, entities 6.2, code spans 6.3, tables 4.10: `|` is
split before code spans are seen, autolinks 6.9). GitHub turns `@name`, `#123` and `:name:` of the
finished page into links and pictures outside code; a zero-width space (written as an entity) after
the sign prevents it.
"""

from __future__ import annotations

import re

from diagnose.reports.names import visible

_ENTITY = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;"}
_GAP = "&#8203;"
# After the signs of the first group a link, a mention or a picture would begin. `$` begins a formula
# (GitHub documentation, "Writing mathematical expressions": a dollar sign is written in a span).
_ACTS = re.compile(
    r"([@#](?=[\w/-])|:(?=//|100:|1234:|[\w+-]*[A-Za-z+-][\w+-]*:)|www(?=\.)|\bGH(?=-\d))"
    r"|([&<>|])|([\\`*_\[\]~])|\$",
    re.IGNORECASE,
)
_BLOCK = re.compile(r"^(\s*)([-+#=]|\d+(?=[.)](?:\s|$)))")
_PLAIN = re.compile(r"[^`<|]*")
_LINK = re.compile(r"https://[A-Za-z0-9.-]+(?:/[A-Za-z0-9./_~%#?=+-]*)?")


def text(words: str) -> str:
    """Prose on one line: no markup, no HTML, no formula, no link, no mention."""
    out = _ACTS.sub(_prose, visible(words))
    # A sign that begins a block (heading, list, rule) counts only at the start of a line.
    return _BLOCK.sub(lambda m: m[1] + (m[2] + _GAP if m[2].isdigit() else f"&#{ord(m[2])};"), out)


def code(words: str) -> str:
    """A name, path or command, literally. Markdown's own code span where nothing in it can end it."""
    words = visible(words)
    if not words.strip():
        return ""
    if _PLAIN.fullmatch(words):
        return f"`{words}`"
    return f"<code>{_ACTS.sub(_literal, words)}</code>"


def fence(lines: list[str]) -> str:
    """A fenced block of lines that are already visible text; the fence is longer than any inside."""
    body = "\n".join(lines)
    longest = max((len(m) for m in re.findall(r"`+", body)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}text\n{body}\n{marks}"


def link(words: str, url: str) -> str:
    """A link if the address is plain https; else both as text."""
    if _LINK.fullmatch(url):
        return f"[{text(words)}](<{url}>)" if words else f"<{url}>"
    return " ".join(x for x in (text(words), code(url)) if x)


def comment(words: str) -> str:
    """An HTML comment that its content cannot end."""
    return f"<!-- {re.sub('-{2,}|[<>]', ' ', visible(words))} -->"


def _prose(m: re.Match[str]) -> str:
    if m[1]:
        return m[1] + _GAP
    if m[2]:
        return _ENTITY[m[2]]
    return "\\" + m[3] if m[3] else "<span>$</span>"


def _literal(m: re.Match[str]) -> str:
    return m[1] + _GAP if m[1] else _ENTITY.get(m[0], f"&#{ord(m[0])};")
