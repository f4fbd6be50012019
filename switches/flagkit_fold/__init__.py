"""FlagGems' fold, off against on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from flagkit import hookimpl
from flagkit.errors import UsageError
from flagkit.interfaces import ArmSetup, SwitchVariable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import click

    from flagkit.interfaces import Backend, Switch, Target
    from flagkit.model import Note

DEFAULT = "FLAGGEMS_FOLD"
"""The public name is not known: a FlagGems that does not read this one is told apart by the
check of the variable's name before the run."""

PACKAGE = "flag_gems"

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class FoldSwitch:
    """One variable that FlagGems' Python reads."""

    name = "fold"
    summary = f"FlagGems' fold ({DEFAULT}, or --fold-var)"
    arms = ("off", "on")
    control = False

    def setup(
        self, arm: str, backend: Backend, options: Mapping[str, Any], target: Target
    ) -> ArmSetup:
        """``0`` for off and ``1`` for on."""
        values = {"off": "0", "on": "1"}
        if arm not in values:
            raise UsageError(f"switch 'fold' has the arms off and on, not {arm!r}")
        return ArmSetup(env={_variable(options): values[arm]})

    def variables(self, backend: Backend, options: Mapping[str, Any]) -> Sequence[SwitchVariable]:
        """The one."""
        return (SwitchVariable(name=_variable(options), package=PACKAGE),)

    def observe(self) -> Mapping[str, str]:
        """Nothing: the agent watches the variable itself."""
        return {}

    def prove(self, before: Mapping[str, str], after: Mapping[str, str]) -> Sequence[Note]:
        """Nothing: what was compiled and launched is compared elsewhere."""
        return ()

    def options(self) -> Sequence[click.Option]:
        """``--fold-var``."""
        import click

        return (
            click.Option(
                ["--fold-var"],
                metavar="NAME",
                default=DEFAULT,
                show_default=True,
                help="The variable that FlagGems reads.",
            ),
        )


def _variable(options: Mapping[str, Any]) -> str:
    name = options.get("var") or DEFAULT
    if not _NAME.fullmatch(str(name)):
        raise UsageError(f"--fold-var {name!r} is no name of a variable")
    return str(name)


@hookimpl
def flagkit_switch() -> Switch:
    """The switch ``fold``."""
    return FoldSwitch()
