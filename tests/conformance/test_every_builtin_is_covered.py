"""No built-in is left without its kit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flagkit.plugins import Kind, Registry

HERE = Path(__file__).parent


@pytest.mark.parametrize("kind", [Kind.BACKEND, Kind.SWITCH])
def test_each_has_a_class(kind):
    text = (HERE / f"test_builtin_{kind.group.partition('.')[2]}.py").read_text(encoding="utf-8")
    covered = set(re.findall(r'return "(\w+)"', text))
    registry = Registry()
    own = [registry.provider(kind, name) for name in registry.names(kind)]
    assert {p.module for p in own if p.distribution == "flagkit"} <= covered
