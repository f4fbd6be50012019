"""Every built-in reporter keeps its contract."""

from __future__ import annotations

import pytest

from flagkit.plugins import Kind, Registry
from flagkit.testing import ReporterContract


@pytest.mark.parametrize("name", Registry().names(Kind.REPORTER))
class TestReporters(ReporterContract):
    @pytest.fixture
    def module(self, name):
        return Registry().provider(Kind.REPORTER, name).module
