"""Untrusted text made safe to show: kernel names, NVTX ranges, paths, log lines.

`visible` keeps what can be read and turns everything that could act on a terminal or hide itself
(control characters, bidirectional marks, zero-width characters) into an escape that can be read.
`short_name` makes a kernel name fit a table; the full name stands in the JSON report only.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

ELLIPSIS = "…"
NAME_LIMIT = 64
_STUB = 6  # least of a function name that still says something
_SCAN = 8_000  # characters of a name that are looked at; real names stay below 5,000

# Printable for `str.isprintable` yet invisible: Unicode 16.0, DerivedCoreProperties.txt,
# Default_Ignorable_Code_Point (the others of that list are not printable), and the braille blank.
_INVISIBLE = frozenset({0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0}).union(
    range(0x180B, 0x1810), range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0)
)
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_PILE = 2  # combining marks kept on one character; more of them paint over neighbouring lines

_TYPES = re.compile(
    r"\b(?:float|double|__half2?|half|Half|__nv_bfloat16|BFloat16|bfloat16_t|half_t|Float[48]\w+|__nv_fp[48]_e\w+"
    r"|float_e\w+_t|int8_t|uint8_t|signed char|unsigned char|int|long|bool)\b"
)
# `(int)4` and `(vllm::Fp8KVCacheDataType)0` are how nsys prints template constants: no element types.
_CONSTANT = re.compile(r"\([\w: ]+\)(?=-?\d)")
_OWNER = re.compile(r"\b([A-Za-z_]\w*)(?:<[^<>()]*>)?\([^()]*\)(?: const)?::[{\[]lambda")
_LAMBDA = re.compile(r"[{\[]lambda\(([^()]+)\)")
_WORDS = re.compile(r"\b[A-Za-z_]\w*")
_TELLING = re.compile(r"[Ff]unctor|[Kk]ernel|gemm|Gemm|conv|reduce|Reduce|Ops?$|^OP_|^cutlass_|^sm\d+_")
_NOT_TELLING = re.compile(r"[Tt]raits|Algorithm|Policy|Params|_t$|^operator$")
# Wrappers of PyTorch's TensorIterator machinery, which say nothing about the operation
# (pytorch: aten/src/ATen/native/cuda/Loops.cuh, CUDALoops.cuh, Reduce.cuh), and of CUTLASS
# (cutlass/device_kernel.h).
_WRAPPERS = frozenset(
    (
        *("gpu_kernel_impl", "gpu_kernel_impl_nocast", "BinaryFunctor", "AUnaryFunctor", "BUnaryFunctor"),
        *("func_wrapper_t", "ReduceOp", "Kernel", "Kernel2", "device_kernel", "kernel"),
    )
)


def visible(text: str) -> str:
    """`text` on one line without any character that acts or hides: those print as `\\x1b`, `\\u202e`."""
    if text.isascii() and text.isprintable():
        return text
    out: list[str] = []
    pile = 0
    for ch in text:
        mark = unicodedata.category(ch) in ("Mn", "Me")
        pile = pile + 1 if mark else 0
        shown = ch.isprintable() and ord(ch) not in _INVISIBLE and pile <= _PILE
        out.append(ch if shown else _escape(ch))
    return "".join(out)


def ascii_only(text: str) -> str:
    """`text` with the signs of our own prose spelt in ASCII, and every other character escaped."""
    if text.isascii():
        return text
    return "".join(ch if ch.isascii() else _ASCII.get(ch) or _escape(ch) for ch in text)


def clip(text: str, limit: int) -> str:
    """The beginning of `text`, with a note of how much was cut."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}{ELLIPSIS} ({len(text) - limit:,} more characters)"


def middle(text: str, limit: int) -> str:
    """Beginning and end of `text`: both tell kernels of one family apart (architecture, tile, layout)."""
    if len(text) <= limit:
        return text
    if limit < 8:
        return text[: max(0, limit - 1)] + ELLIPSIS
    tail = (limit - 1) // 3
    return text[: limit - 1 - tail] + ELLIPSIS + text[len(text) - tail :]


@lru_cache(maxsize=1024)
def short_name(name: str, limit: int = NAME_LIMIT) -> str:
    """A kernel or API name in at most `limit` characters, safe to show.

    Return type, parameters, namespaces and template arguments go; what tells this instance apart
    stays behind a colon: the function whose lambda it runs and the lambda's type, a functor, or the
    element types. `vectorized_elementwise_kernel: direct_copy_kernel_cuda(float)`.
    """
    raw = name[:_SCAN]
    head, arguments = _split(raw)
    if not head:
        return middle(visible(raw if len(name) <= _SCAN else name), limit)
    tail = _telling(arguments, head) if arguments else ""
    if not tail:
        return middle(visible(head), limit)
    head, tail = visible(head), visible(tail)
    room = limit - len(tail) - 2
    if room >= len(head):
        return f"{head}: {tail}"
    # The tail tells instances apart: it is the last to be cut.
    return f"{head[: room - 1]}{ELLIPSIS}: {tail}" if room > _STUB else middle(tail, limit)


def _split(name: str) -> tuple[str, str]:
    """(function without namespace, its template arguments); head is empty if this is no C++ signature."""
    text = _CONSTANT.sub("", name)
    text = text.replace("(anonymous namespace)::", "").replace("<unnamed>::", "").strip()
    if ("<" not in text and "(" not in text) or "operator<" in text or "operator>" in text:
        return "", ""
    depth, opened, round_ones = 0, -1, 0
    for i, ch in enumerate(text):
        if ch == "(":
            if depth == 0:
                return _last_part(text[:i]), ""
            round_ones += 1
        elif ch == ")":
            round_ones -= 1
        elif round_ones > 0:  # `enable_if<((8)>(0))>`: here > compares
            continue
        elif ch == "<":
            opened = i if depth == 0 else opened
            depth += 1
        elif ch == ">":
            depth -= 1
            # `std::enable_if<…>::type f<…>(…)`: the first template is the result's type, not the kernel
            if depth == 0 and not text.startswith("::type ", i + 1):
                return _last_part(text[:opened]), text[opened + 1 : i]
    # A cut name never closes its bracket; what was seen of the arguments still tells.
    return (_last_part(text[:opened]), text[opened + 1 :]) if opened > 0 and depth > 0 else ("", "")


def _last_part(text: str) -> str:
    """`void a::b::f` → `f`; a function called just `kernel` keeps the namespace before it."""
    words = text.rpartition(" ")[2].split("::")
    kept = [w for w in words[-2:] if _WORDS.fullmatch(w)] if words[-1] in _WRAPPERS else words[-1:]
    return "::".join(kept) if _WORDS.fullmatch(words[-1]) else ""


def _telling(arguments: str, head: str) -> str:
    for owner in _OWNER.finditer(arguments):
        if owner[1] not in _WRAPPERS:
            typed = _LAMBDA.search(arguments, owner.start())
            return f"{owner[1]}({_bare(typed[1].partition(',')[0])})" if typed else owner[1]
    types = list(dict.fromkeys(m[0] for m in _TYPES.finditer(arguments)))
    for word in _WORDS.findall(arguments):
        if _TELLING.search(word) and not _NOT_TELLING.search(word) and word not in _WRAPPERS and word != head:
            return f"{word}({types[0]})" if types else word
    return ", ".join(types[:3])


def _bare(type_name: str) -> str:
    return type_name.rpartition("::")[2].strip()


def _escape(ch: str) -> str:
    code = ord(ch)
    if ch in _SHORT:
        return _SHORT[ch]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_ASCII = {
    "✔": "yes", "✘": "no", "≥": ">=", "≤": "<=", "≠": "!=", "×": "x", "·": "|", "µ": "u", "μ": "u", "→": "->",
    "←": "<-", "…": "...", "–": "-", "—": "-", "“": '"', "”": '"', "‘": "'", "’": "'", "−": "-", "±": "+/-",
    "≈": "about ", "█": "#", "─": "-", "•": "*",
}  # fmt: skip
