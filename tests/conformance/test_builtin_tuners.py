"""Every built-in tuner keeps its contract."""

from __future__ import annotations

import pytest

from flagkit.plugins import Kind, Registry
from flagkit.testing import TunerContract
from flagkit.testing.tuners import fresh_module

OTHERS = [name for name in Registry().names(Kind.TUNER) if name != "hostbench"]


class TestHostbench(TunerContract):
    @pytest.fixture
    def module(self):
        return "flagkit.tuners.hostbench"

    @pytest.fixture
    def workload(self):
        def make():
            module = fresh_module("flagkit.suites.hostbench.tuner")

            def decide():
                tuner = module.ChunkTuner("gelu", (1, 2, 4), bench=lambda run: run() and 1.0)
                for key in (("float32", (16,)), ("float64", (16,))):
                    for _ in range(2):
                        tuner.best(key, lambda chunk: chunk)

            return module, decide

        return make


@pytest.mark.parametrize("name", OTHERS)
class TestOthers(TunerContract):
    @pytest.fixture
    def module(self, name):
        return Registry().provider(Kind.TUNER, name).module
