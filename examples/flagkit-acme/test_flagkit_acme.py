"""All it takes to hold the plug-in to flagkit's contract: ``pytest`` in this folder."""

import pytest

from flagkit.testing import BackendContract


class TestAcme(BackendContract):
    @pytest.fixture
    def module(self):
        return "flagkit_acme"

    @pytest.fixture
    def fatal(self):
        return [RuntimeError("acme core stopped")]
