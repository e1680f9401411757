"""What a judgement can be told, and the signatures it uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from diagnose.engine.compiled import SignatureSet
from diagnose.engine.load import bundled_folder, load
from diagnose.errors import UsageError


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """`signature_folders` are added to the bundled ones. `only`: judge these ids alone."""

    signature_folders: tuple[Path, ...] = ()
    overrides: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    hash_inputs: bool = True


def load_signatures(options: JudgeOptions | None = None) -> SignatureSet:
    """All signatures, checked against the registered metrics. Raises SignatureErrors or UsageError."""
    from diagnose.metrics import CLAIMS, EXHIBITS, METRICS

    options = options or JudgeOptions()
    loaded = load(
        [bundled_folder(), *options.signature_folders],
        METRICS,
        overrides=options.overrides,
        exhibits=EXHIBITS,
        claims=CLAIMS,
    )
    if not options.only:
        return loaded
    unknown = [name for name in options.only if name not in loaded.by_id]
    if unknown:
        raise UsageError(
            f"no signature is called {', '.join(unknown)}", hint="diagnose list shows all signatures"
        )
    return SignatureSet({name: loaded.by_id[name] for name in options.only}, loaded.warnings)
