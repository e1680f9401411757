"""Lines of keys in TOML texts."""

from __future__ import annotations

import pytest

from diagnose.engine.locate import Positions

TEXT = '''\
title = "[[step]] in a text"   # 1
summary = """
[[step]]
when = "not a key"
"""

[facts]
one = { metric = "a" }
"two" = { metric = "b" }
[facts.three]
metric = "c"

[[step]]   # 13
id = "a"
  [[step.way]]
  id = "x"
  [[step.way]]
  when = "1"
[[step]]
id = "b"
[[step.way]]
id = "y"
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("title",), 1),
        (("summary",), 2),
        (("facts",), 7),
        (("facts", "one"), 8),
        (("facts", "one", "metric"), 8),
        (("facts", "two"), 9),
        (("facts", "three"), 10),
        (("facts", "three", "metric"), 11),
        (("step", 0), 13),
        (("step", 0, "id"), 14),
        (("step", 0, "when"), 13),
        (("step", 0, "way", 0, "id"), 16),
        (("step", 0, "way", 1, "when"), 18),
        (("step", 1, "id"), 20),
        (("step", 1, "way", 0, "id"), 22),
        (("nothing",), 1),
        ((), 1),
    ],
)
def test_line(path: tuple[str | int, ...], line: int) -> None:
    assert Positions(TEXT).line(path) == line
