"""Prefixes that log collectors and launchers put before every line, and box bars around it."""

from __future__ import annotations

import re
from collections.abc import Sequence

_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_ZONE = r"(?:Z|[+-]\d\d:?\d\d)?"
_SENDER = r"(?:[\w.-]+ (?:[\w./-]+\[\d+\]|kernel): ?)"  # host and program

# Each takes at most one blank after itself: a TAB or blank behind it belongs to the line.
# Not here: the uptime stamp of dmesg and `host:pid:tid [n] ` of NCCL, which are part of those logs,
# and ASCII bars, which draw the table of nvidia-smi.
PREFIXES: tuple[re.Pattern[str], ...] = (
    re.compile(rf"\d{{4}}-\d\d-\d\d[T ]{_CLOCK}{_ZONE}(?: {_SENDER}| )"),  # collector, `journalctl -o iso`
    re.compile(rf"[A-Z][a-z]{{2}} [ \d]\d {_CLOCK} {_SENDER}?"),  # syslog, journalctl, `ts`
    re.compile(rf"\[\d{{4}}-\d\d-\d\d[T ]{_CLOCK}{_ZONE}\] ?"),
    re.compile(r"\[\d+,\d+\]<std(?:out|err)>: ?"),  # mpirun --tag-output
    re.compile(r"\[\d+\]<std(?:out|err)>:? ?"),
    re.compile(r"\[(?:rank|default)\d+\]: ?"),  # torch.distributed, torchrun --tee
    re.compile(r"\[pod/[\w./-]+\] ?"),  # kubectl logs --prefix
    re.compile(r"[\w.-]+[-_]\d+ +\| "),  # docker compose logs
    re.compile(r"\[\d+\] "),
    re.compile(r"> ?"),  # quoted mail or markdown
    re.compile(r"\s*[│┃║] ?"),
)
_END_BAR = re.compile(r"\s*[│┃║]\s*$")

_SHARE = 0.9  # "nearly all lines"
_LEAST = 3
_SAMPLE = 400
_DEPTH = 3  # `[80746] [rank0]: …` is two deep


def common_prefixes(texts: Sequence[str]) -> tuple[re.Pattern[str], ...]:
    """The prefixes that at least nine of ten non-blank lines carry, outermost first (looks at a sample)."""
    step = max(1, len(texts) // _SAMPLE)
    sample = [t for t in texts[::step] if t.strip()]
    if len(sample) < _LEAST:
        return ()
    found: list[re.Pattern[str]] = []
    while len(found) < _DEPTH:
        for pattern in PREFIXES:
            hits = sum(1 for t in sample if pattern.match(t))
            if hits >= _SHARE * len(sample):
                found.append(pattern)
                sample = [t[m.end() :] if (m := pattern.match(t)) else t for t in sample]
                break
        else:
            break
    return tuple(found)


def unprefix(text: str, prefixes: tuple[re.Pattern[str], ...]) -> str:
    """The line without the given prefixes (those it carries), and without a closing box bar."""
    for pattern in prefixes:
        if match := pattern.match(text):
            text = text[match.end() :]
            if "│" in match.group() or "┃" in match.group() or "║" in match.group():
                text = _END_BAR.sub("", text) if text.rstrip()[-1:] in ("│", "┃", "║") else text
    return text
