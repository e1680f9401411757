"""Makes the hand-made reports importable as `reports_make` and `reports_hostile` in every import mode."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

for name, file in (("reports_make", "make.py"), ("reports_hostile", "make_hostile.py")):
    if name not in sys.modules:
        spec = spec_from_file_location(name, Path(__file__).with_name(file))
        assert spec is not None and spec.loader is not None
        sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
