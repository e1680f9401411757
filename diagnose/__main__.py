"""`python -m diagnose`."""

from __future__ import annotations

import sys

from diagnose.cli import main

if __name__ == "__main__":
    sys.exit(main())
