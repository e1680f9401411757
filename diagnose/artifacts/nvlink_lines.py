"""One line under a GPU heading of `nvidia-smi nvlink`: which form of the command printed it."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Forms that are recognised so that they are not taken for -s, and not read yet.
OTHER_FORMS = {
    "-e": "error counters",
    "-g": "old utilisation counters",
    "-c": "capabilities",
    "-p": "remote bus ids",
    "-R": "remote links",
}

_LINK = re.compile(r"\s*Link ([0-9]{1,3})([:,])\s*(.*?)\s*\Z")
_ERRORS = re.compile(r"(?:Replay|Recovery|CRC)\b", re.IGNORECASE)
_COUNTER = re.compile(r"(?:(Data|Raw) )?([TR])x[0-9]?: (?:([0-9]{1,20}) KiB|(?:N/A|\[N/A\])(?: KiB)?)\Z")
_OLD_COUNTER = re.compile(r"[TR]x[0-9]?: .*KBytes")
_BUS_ID = re.compile(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:")
_RATE = re.compile(r"([0-9]{1,5}(?:\.[0-9]{1,6})?) GB/s\Z")
_CUT_RATE = re.compile(r"[0-9.]+(?: (?:G(?:B/?)?)?)?\Z")
_INACTIVE = re.compile(r"<?inactive>?\Z", re.IGNORECASE)

# Case differs between drivers: 610 prints "Nvlink" where 5xx print "NVLink".
_SENTENCES = (
    (("unable to retrieve nvlink information", "all links are inactive"), "all_inactive"),
    (("device does not have or support", "nvlink"), "unsupported"),
    (("nvlink queries are not supported", "mig"), "unknown"),
    (("unable to retrieve nvlink information", ""), "unknown"),
)


@dataclass(frozen=True, slots=True)
class Statement:
    """`link` is None for a sentence about the whole GPU. `value`: GB/s for -s, KiB for -gt; None unknown."""

    form: str
    link: int | None
    state: str = ""
    value: float | int | None = None
    transmit: bool = False


def statement_of(text: str) -> Statement | None:
    """What one line says, tested in an order that keeps every other form away from -s."""
    if len(text) > 400 or "ink" not in text:
        return None
    match = _LINK.match(text) if "Link " in text else None
    if match is None:
        return _sentence(text)
    link, mark, rest = int(match.group(1)), match.group(2), match.group(3)
    if mark == ",":
        return Statement("-c", link)
    if _ERRORS.match(rest):
        return Statement("-e", link)
    if counter := _COUNTER.match(rest):
        form = {"Data": "-gt d", "Raw": "-gt r", None: "-gt"}[counter.group(1)]
        value = None if counter.group(3) is None else int(counter.group(3))
        return Statement(form, link, value=value, transmit=counter.group(2) == "T")
    if _OLD_COUNTER.match(rest):
        return Statement("-g", link)
    if _BUS_ID.match(rest):
        return Statement("-p", link)
    if rest.startswith("Remote Device"):
        return Statement("-R", link)
    if rate := _RATE.match(rest):
        return Statement("-s", link, "active", float(rate.group(1)))
    if _INACTIVE.match(rest):
        return Statement("-s", link, "inactive")
    # Blank: a web page swallowed `<inactive>`. Cut: `26.5` may have been `26.562`.
    if not rest or _CUT_RATE.match(rest):
        return Statement("-s", link, "unknown")
    return None


def _sentence(text: str) -> Statement | None:
    low = text.strip().lower().removeprefix("nvml: ")
    for words, state in _SENTENCES:
        if low.startswith(words[0]) and words[1] in low:
            return Statement("-s", None, state)
    return None
