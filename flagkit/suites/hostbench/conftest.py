"""One thread for the linear algebra, and a fixture where flagkit's plug-in is not there."""

from __future__ import annotations

import os
import statistics
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

AGENT = "flagkit.agent.plugin"
SAMPLES, WINDOW_S = 10, 0.01

# Before NumPy is imported. With a thread a core, whatever else runs on the machine makes
# the threads wait for each other: rows of matmul were seen to differ twentyfold.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")


def measure(fn: Callable[[], object], **_: object) -> float:
    """The median over windows of back-to-back calls, in ms."""
    fn()
    return statistics.median(_window(fn) for _ in range(SAMPLES))


def _window(fn: Callable[[], object]) -> float:
    calls, start = 0, time.perf_counter()
    while True:
        fn()
        calls += 1
        spent = time.perf_counter() - start
        if spent >= WINDOW_S:
            return spent / calls * 1000.0


class PlainFixture:
    """The fixture's stand-in."""

    @pytest.fixture
    def flagkit_bench(self) -> Callable[..., float]:
        """Times a call and gives milliseconds."""
        return measure


def pytest_configure(config: pytest.Config) -> None:
    """A fixture of a conftest would hide the plug-in's own, so it is made only without."""
    if not config.pluginmanager.hasplugin(AGENT):
        config.pluginmanager.register(PlainFixture(), "hostbench-plain-fixture")
