"""Conformance kits and fakes for plug-in authors.

Subclass the kit of your plug-in's kind and give one fixture::

    from flagkit.testing import BackendContract

    class TestAcme(BackendContract):
        @pytest.fixture
        def module(self):
            return "flagkit_acme"

Each kit says which further fixtures may be given. The built-ins are held to the same.
"""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite(
    "flagkit.testing.common",
    "flagkit.testing.backends",
    "flagkit.testing.parsers",
    "flagkit.testing.reporters",
    "flagkit.testing.switches",
    "flagkit.testing.tuners",
)

from flagkit.testing.backends import BackendContract
from flagkit.testing.parsers import ParserContract
from flagkit.testing.reporters import ReporterContract
from flagkit.testing.switches import SwitchContract
from flagkit.testing.tuners import MemoryTuningLog, TunerContract

__all__ = [
    "BackendContract",
    "MemoryTuningLog",
    "ParserContract",
    "ReporterContract",
    "SwitchContract",
    "TunerContract",
]
