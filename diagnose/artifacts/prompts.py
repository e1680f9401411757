"""Prompt lines: what was typed before an output."""

from __future__ import annotations

import re

_MAX = 2000  # a longer line is no prompt

_PROMPTS: tuple[re.Pattern[str], ...] = (
    # (venv) user@host:~/dir$ cmd    [user@host dir]# cmd    user@host:~$
    re.compile(
        r"\s*(?:\([\w .-]{1,40}\) ?)?\[?[\w.+-]+@[\w.-]+[: ][^$#%]{0,200}[$#%](?:\s+(?P<command>.*))?$"
    ),
    re.compile(r"\s*\$\s+(?P<command>\S.*)$"),
    re.compile(r"\s*(?:In ?)?\[\d*\]: ?!\s*(?P<command>\S.*)$"),  # notebooks
    re.compile(r"\s*(?:PS )?[A-Za-z]:\\[^>]{0,200}>\s*(?P<command>\S.*)$"),  # Windows
    re.compile(r"\s*Every \d+(?:\.\d+)?s: (?P<command>\S.*?)(?:\s{3,}.*)?$"),  # watch
)
# `> cmd` and `# cmd` also begin quotations, headings and dmon's headers: only before a known program.
_GUARDED = re.compile(
    r"\s*[>#]\s+(?P<command>(?:sudo\s+)?(?:\S*/)?(?:nvidia-smi|nvidia-debugdump|ibstat|ibstatus|iblinkinfo"
    r"|perfquery|lspci|dmesg|journalctl|nvcc|cat /proc|watch)\b(?:\s.*)?)$"
)
# A command line that lost its prompt: only with a sub-command or option that nvidia-smi has.
_BARE = re.compile(
    r"\s*(?P<command>(?:sudo\s+)?(?:\S*/)?nvidia-smi(?:\.exe)?"
    r"(?:\s+(?:dmon|pmon|topo|nvlink|mig|c2c|-\S+)(?:\s+[\w=,./<>|-]+)*)?)\s*$"
)


def command_of(text: str) -> str | None:
    """The command of a prompt line (empty for a prompt without one), None for any other line."""
    if len(text) > _MAX:
        return None
    if "nvidia-smi" in text and (match := _BARE.match(text)):
        return match["command"].strip()
    if "$" in text or "@" in text or "]:" in text or ":\\" in text or "Every " in text:
        for pattern in _PROMPTS:
            if match := pattern.match(text):
                return (match["command"] or "").strip()
    if (">" in text or "#" in text) and (match := _GUARDED.match(text)):
        return match["command"].strip()
    return None
