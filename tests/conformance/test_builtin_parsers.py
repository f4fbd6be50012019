"""Every built-in parser keeps its contract, with a sample where one is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from flagkit.plugins import Kind, Registry
from flagkit.testing import ParserContract

SAMPLES = Path(__file__).parent / "samples"


@pytest.mark.parametrize("name", Registry().names(Kind.PARSER))
class TestParsers(ParserContract):
    @pytest.fixture
    def module(self, name):
        return Registry().provider(Kind.PARSER, name).module

    @pytest.fixture
    def sample(self, name):
        path = SAMPLES / f"{name}.sample"
        return path.read_bytes() if path.is_file() else b""
