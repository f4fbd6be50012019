"""Nothing against nothing: the control. What it shows is noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flagkit import hookimpl
from flagkit.errors import UsageError
from flagkit.interfaces import ArmSetup

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import click

    from flagkit.interfaces import Backend, Switch, SwitchVariable, Target
    from flagkit.model import Note


class AaSwitch:
    """Changes nothing."""

    name = "aa"
    summary = "the control: both sides equal, so that any difference is noise"
    arms = ("same", "same")
    control = True

    def setup(
        self, arm: str, backend: Backend, options: Mapping[str, Any], target: Target
    ) -> ArmSetup:
        """Nothing."""
        if arm not in self.arms:
            raise UsageError(f"both arms of switch 'aa' are called same, not {arm!r}")
        return ArmSetup()

    def variables(self, backend: Backend, options: Mapping[str, Any]) -> Sequence[SwitchVariable]:
        """None."""
        return ()

    def observe(self) -> Mapping[str, str]:
        """Nothing."""
        return {}

    def prove(self, before: Mapping[str, str], after: Mapping[str, str]) -> Sequence[Note]:
        """Nothing: there is no arm to see."""
        return ()

    def options(self) -> Sequence[click.Option]:
        """None."""
        return ()


@hookimpl
def flagkit_switch() -> Switch:
    """The switch ``aa``."""
    return AaSwitch()
