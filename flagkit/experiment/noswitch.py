"""Stands for the switch of a single run: nothing is switched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flagkit.interfaces import ArmSetup

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import click

    from flagkit.interfaces import Backend, SwitchVariable, Target
    from flagkit.model import Note


class NoSwitch:
    """A switch without variables."""

    name = ""
    summary = "nothing is switched"
    arms = ("record", "replay")
    control = False

    def setup(
        self, arm: str, backend: Backend, options: Mapping[str, Any], target: Target
    ) -> ArmSetup:
        """Set nothing."""
        return ArmSetup()

    def variables(self, backend: Backend, options: Mapping[str, Any]) -> Sequence[SwitchVariable]:
        """There are none."""
        return ()

    def observe(self) -> Mapping[str, str]:
        """There is nothing to see."""
        return {}

    def prove(self, before: Mapping[str, str], after: Mapping[str, str]) -> Sequence[Note]:
        """There is nothing to prove."""
        return ()

    def options(self) -> Sequence[click.Option]:
        """It has none."""
        return ()
