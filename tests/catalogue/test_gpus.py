"""Cards are found as tools spell them; what has no source is never a fact."""

from __future__ import annotations

import pytest

from diagnose.catalogue import gpus, load

CARDS = gpus.all_gpus()

# Compute capabilities and form factors as NVIDIA lists them (developer.nvidia.com/cuda-gpus; product briefs).
KNOWN = [
    ("NVIDIA H100 80GB HBM3", "h100-sxm5-80", "9.0", "SXM"),
    ("NVIDIA H100 PCIe", "h100-pcie", "9.0", "PCIe"),
    ("NVIDIA A100-PCIE-40GB", "a100-pcie-40", "8.0", "PCIe"),
    ("A100-PCIE-40GB", "a100-pcie-40", "8.0", "PCIe"),
    ("NVIDIA A100 80GB PCIe", "a100-pcie-80", "8.0", "PCIe"),
    ("nvidia  a100-sxm4-80gb ", "a100-sxm4-80", "8.0", "SXM"),
    ("NVIDIA L40S", "l40s", "8.9", "PCIe"),
    ("Tesla T4", "t4", "7.5", "PCIe"),
    ("NVIDIA A30 MIG 2g.12gb", "a30", "8.0", "PCIe"),
    ("NVIDIA GeForce RTX 4090", "rtx-4090", "8.9", "PCIe"),
    ("NVIDIA B200", "b200", "10.0", "SXM"),
    ("NVIDIA GH200 480GB", "gh200-96", "9.0", ""),
]


@pytest.mark.parametrize(("name", "card", "cc", "form"), KNOWN)
def test_found_by_name(name: str, card: str, cc: str, form: str) -> None:
    found = gpus.find(name)
    assert found is not None
    assert found.id == card
    assert found.fact("cc") == gpus.compute_capability(name) == cc
    assert gpus.form(name) == form


def test_all_cards_are_there() -> None:
    assert len(CARDS) == 72
    assert len({card.id for card in CARDS}) == 72


@pytest.mark.parametrize("card", CARDS, ids=lambda c: c.id)
def test_card_is_well_formed(card: gpus.Gpu) -> None:
    known_sources = load.data("gpus.toml")["sources"]
    assert card.sources
    assert set(card.sources) <= set(known_sources)
    assert all(i == i.lower() and len(i) == 4 for i in card.pci_device_ids)
    for field in card.unsourced:
        head = field.partition(".")[0]
        assert head == "*" or head in card.raw, f"unsourced names no field: {field}"
        assert card.fact(field) is None
        assert card.fact(head) is None or "." in field
    for table in ("nvlink", "dense_tflops"):
        given = card.fact(table) or {}
        assert not {f"{table}.{key}" for key in given} & set(card.unsourced)


def test_unsourced_stays_readable_but_is_no_fact() -> None:
    card = gpus.find("NVIDIA H20-3e")
    assert card is not None
    assert card.unsourced == ("*",)
    assert card.fact("cc") is None
    assert card.fact("mem_gb") is None
    assert card.raw["mem_gb"] == 141
    assert gpus.compute_capability("NVIDIA H20-3e") == ""


def test_unsourced_keys_leave_the_rest_of_a_table() -> None:
    card = gpus.find("NVIDIA L4")
    assert card is not None
    rates = card.fact("dense_tflops")
    assert rates is not None
    assert "int4" not in rates
    assert rates["fp16"] == 121
    assert card.fact("dense_tflops.int4") is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("NVIDIA L40S", "none"),
        ("Tesla T4", "none"),
        ("NVIDIA A100-PCIE-40GB", "bridge"),  # PCIe A100s do have NVLink, by bridge
        ("NVIDIA GeForce RTX 3090", "bridge"),
        ("NVIDIA H100 80GB HBM3", "nvswitch"),
        ("NVIDIA A30", ""),  # no source
        ("Some Other Card", ""),
    ],
)
def test_nvlink_kind(name: str, kind: str) -> None:
    assert gpus.nvlink_kind(name) == kind


def test_l40s_memory_is_48_gb() -> None:
    card = gpus.find("NVIDIA L40S")
    assert card is not None
    assert card.fact("mem_gb") == 48
    assert card.fact("mem_type") == "GDDR6"


def test_names_that_fit_several_cards() -> None:
    assert gpus.find("Orin") is None
    assert {c.id for c in gpus.candidates("Orin")} == {
        "orin-agx-64",
        "orin-agx-32",
        "orin-nx-16",
        "orin-nx-8",
    }
    assert gpus.compute_capability("Orin") == "8.7"
    assert gpus.agreed("Orin", "mem_gb") is None
    assert gpus.form("Tesla V100-PCIE...") == "PCIe"
    assert gpus.find("Tesla V100-PCIE...") is None
    assert gpus.candidates("...") == ()


def test_unknown_names_are_read_for_the_form_only() -> None:
    assert gpus.find("NVIDIA X900") is None
    assert gpus.form("NVIDIA X900-SXM9-200GB") == "SXM"
    assert gpus.form("NVIDIA X900 PCIe") == "PCIe"
    assert gpus.form("NVIDIA X900 NVL") == "PCIe"
    assert gpus.form("NVIDIA X900") == ""
    assert gpus.compute_capability("NVIDIA X900") == ""


def test_mig() -> None:
    assert gpus.is_mig("NVIDIA A30 MIG 2g.12gb")
    assert not gpus.is_mig("NVIDIA A30")


@pytest.mark.parametrize(
    ("text", "card"),
    [
        ("20b5", "a100-pcie-80"),
        ("0x20B510DE", "a100-pcie-80"),
        ("10de:20f1", "a100-pcie-40"),
        ("0x26B910DE", "l40s"),
        ("25b6", None),  # A2 and A16
        ("ffff", None),
        ("", None),
        ("nonsense", None),
    ],
)
def test_by_device_id(text: str, card: str | None) -> None:
    found = gpus.by_device_id(text)
    assert (found.id if found else None) == card


@pytest.mark.parametrize(
    ("generation", "gigatransfers", "coding"),
    [(1, 2.5, 8 / 10), (2, 5, 8 / 10), (3, 8, 128 / 130), (4, 16, 128 / 130), (5, 32, 128 / 130)],
)
@pytest.mark.parametrize("width", [1, 4, 8, 16])
def test_pcie_rates_follow_from_the_line_rate(
    generation: int, gigatransfers: float, coding: float, width: int
) -> None:
    assert gpus.pcie_gb_s(generation, width) == pytest.approx(gigatransfers * coding / 8 * width, abs=0.01)


def test_pcie_unlisted() -> None:
    assert gpus.pcie_gb_s(9, 16) is None
    assert gpus.pcie_gb_s(4, 3) is None


def test_first_compute_capabilities() -> None:
    assert gpus.min_compute_capability("fp8") == "8.9"
    assert gpus.min_compute_capability("bf16") == "8.0"
    assert gpus.min_compute_capability("nvfp4") == "10.0"
    assert gpus.min_compute_capability("fp3") == ""


def test_native_formats_agree_with_the_first_compute_capability() -> None:
    for card in CARDS:
        native = set(card.raw["tensor_native"])
        cc = float(card.raw["cc"])
        assert bool(native & {"fp8_e4m3", "fp8_e5m2"}) == (cc >= 8.9), card.id
        assert ("bf16" in native) == (cc >= 8.0), card.id
        assert ("nvfp4" in native) == (cc >= 10.0), card.id
