"""Triton's ``Autotuner``, 3.0 and later, and every subclass of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flagkit import hookimpl
from flagkit.tuners.autotuner import hook_autotuner

if TYPE_CHECKING:
    from types import ModuleType

    from flagkit.interfaces import Tuner, TuningLog


class TritonTuner:
    """Replays ``triton.autotune`` from a record: nothing is timed on the replaying side."""

    name = "triton"
    summary = "Triton's autotuner (triton.autotune), 3.0 and later"
    modules: tuple[str, ...] = ("triton.runtime.autotuner",)

    def install(self, module: ModuleType, log: TuningLog) -> None:
        """Hook ``Autotuner``: kernels decorated before and after are both covered."""
        hook_autotuner(module.Autotuner, self.name, log)


@hookimpl
def flagkit_tuner() -> Tuner:
    """Give the tuner."""
    return TritonTuner()
