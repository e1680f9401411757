"""Makes the hand-made reports importable as `reports_make` in every import mode of pytest."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

if "reports_make" not in sys.modules:
    spec = spec_from_file_location("reports_make", Path(__file__).with_name("make.py"))
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["reports_make"] = module
    spec.loader.exec_module(module)
