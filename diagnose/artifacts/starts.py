"""Lines that begin a recognised artifact, so that a file without prompts can be cut into sections.

Only artifacts with an unmistakable first line are here. Logs (NCCL, kernel, serving) have none: they
are recognised as a whole by `other_text`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

# Column names that `nvidia-smi dmon` prints, by driver 384 to 610 (help text of 570 and public outputs).
_COLUMNS = (
    "pwr temp gtemp mtemp sm mem enc dec jpg ofa mclk pclk pviol tviol fb bar1 ccpm sbecc dbecc pci"
    " rxpci txpci gract smutil smocc intutil mmaact dfma hmma imma dram fp64 fp32 fp16 pcitx pcirx"
    " nvlrx nvltx"
)
DMON_COLUMNS = frozenset(_COLUMNS.split())
_GPM_NUMBERED = re.compile(r"(?:nvdec|nvjpg|nvofa|nvl?\d|nvl\w)\w*$")

# Fields of --query-gpu and --query-compute-apps (`nvidia-smi --help-query-gpu`), whole or by their group.
_FIELDS = (
    "timestamp index name gpu_name gpu_bus_id gpu_uuid gpu_serial uuid serial count pstate driver_version"
    " compute_cap vbios_version pid process_name used_gpu_memory used_memory compute_mode fan.speed"
    " persistence_mode display_active display_mode"
)
_QUERY_FIELDS = frozenset(_FIELDS.split())
_QUERY_GROUPS = (
    "utilization.", "memory.", "temperature.", "power.", "clocks.", "pcie.", "pci.", "ecc.", "mig.",
    "clocks_event_reasons", "clocks_throttle_reasons", "fabric.", "encoder.", "retired_pages.",
)  # fmt: skip
_QUERY_FIELD = re.compile(r"[a-z][A-Za-z0-9_.]*(?: \[[^\]]{1,12}\])?$")


def dmon_names(text: str) -> list[str] | None:
    """Column names of a dmon header line (lower case, with `date` and `time`), None for any other line."""
    if "gpu" not in text or len(text) > 2000:
        return None
    body = text.strip()
    if not body.startswith("#"):
        return None
    body = body[1:]
    names = [n.strip().lower() for n in (body.split(",") if "," in body else body.split())]
    while names and not names[-1]:
        names.pop()
    if "gpu" not in names or "pid" in names:
        return None
    at = names.index("gpu")
    columns = names[at + 1 :]
    known = sum(1 for n in columns if n in DMON_COLUMNS or _GPM_NUMBERED.match(n))
    if not set(names[:at]) <= {"date", "time"} or not columns or known * 2 < len(columns):
        return None
    return names


_PMON = re.compile(r"\s*#\s?(?:Date\b.*)?(?:Time\b.*)?gpu\s+pid\s+type")
_TOPO_LABEL = re.compile(r"(?:GPU\d+|NIC\d+|mlx\d+_\w+)+$")
_GPU_LINE = re.compile(r"\s*GPU \d{1,3}: .*\(UUID:")
_SMI_Q = re.compile(r"\s*(?:=+NVSMI LOG=+|GPU [0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\s*$")
_XML = re.compile(r"\s*<(?:\?xml|!DOCTYPE nvidia_smi_log|nvidia_smi_log)\b")
_IB = re.compile(r"\s*(?:CA '|Infiniband device '|CA/RT PortInfo:|# Port (?:counters|info):)")
_LSPCI = re.compile(r"\s*(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] \S")


def is_topo_header(text: str) -> bool:
    """First line of a matrix: `GPU0 GPU1 … CPU Affinity`, with or without its leading TAB, cells or none."""
    tokens = text.split(None, 2)
    if not tokens or len(text) > 4000 or not _TOPO_LABEL.match(tokens[0]) or not tokens[0].startswith("GPU"):
        return False
    if len(tokens) == 1:
        return text[:1].isspace() or tokens[0].count("GPU") > 1
    return bool(_TOPO_LABEL.match(tokens[1])) or (tokens[1] in ("CPU", "NUMA") and "Affinity" in text)


def is_query_header(text: str) -> bool:
    """Header of `--query-gpu … --format=csv`: every field looks like one, at least half are known."""
    if not text[:1].islower() or len(text) > 20_000:
        return False
    fields = [f.strip() for f in text.split(",")]
    if len(fields) < 2 or not all(_QUERY_FIELD.match(f) for f in fields):
        return False
    names = [f.split(" ")[0] for f in fields]
    return 2 * sum(n in _QUERY_FIELDS or n.startswith(_QUERY_GROUPS) for n in names) >= len(names)


# kind, a word that must be in the line (cheap), the test.
_STARTS: tuple[tuple[str, str, Callable[[str], object]], ...] = (
    ("xml", "<", _XML.match),
    ("smi_q", "NVSMI LOG", _SMI_Q.match),
    ("smi_q", "GPU 0", _SMI_Q.match),
    ("smi_table", "| NVIDIA-SMI", str.strip),
    ("pmon", "pid", _PMON.match),
    ("dmon", "gpu", dmon_names),
    ("gpu_list", "UUID:", _GPU_LINE.match),
    ("topo", "GPU", is_topo_header),
    ("query_gpu", ", ", is_query_header),
    ("ib", "CA ", _IB.match),
    ("ib", "Infiniband device", _IB.match),
    ("ib", "Port", _IB.match),
    ("lspci", "NVIDIA Corporation", _LSPCI.match),
    ("lspci", "PCI bridge", _LSPCI.match),
)


def start_kind(text: str) -> str:
    """Kind of the artifact this line begins, empty text for none."""
    for kind, word, test in _STARTS:
        if word in text and test(text):
            return kind
    return ""
