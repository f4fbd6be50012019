"""Any environment variables, one value against another."""

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

UNSET = "-"
"""Stands for: not set at all. Distinct from the empty value, which programs tell apart."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class EnvSwitch:
    """Variables as given by ``--env-set NAME=OFF,ON``.

    OFF and ON hold no comma; an empty one is the empty value, ``-`` leaves it unset.
    """

    name = "env"
    summary = "any environment variable (--env-set NAME=OFF,ON)"
    arms = ("off", "on")
    control = False

    def setup(
        self, arm: str, backend: Backend, options: Mapping[str, Any], target: Target
    ) -> ArmSetup:
        """Every variable at its value for *arm*."""
        if arm not in self.arms:
            raise UsageError(f"switch 'env' has the arms off and on, not {arm!r}")
        index = self.arms.index(arm)
        return ArmSetup(env={name: values[index] for name, values in _given(options).items()})

    def variables(self, backend: Backend, options: Mapping[str, Any]) -> Sequence[SwitchVariable]:
        """All of them, with the package of ``--env-package``."""
        package = str(options.get("package") or "")
        return tuple(SwitchVariable(name=name, package=package) for name in _given(options))

    def observe(self) -> Mapping[str, str]:
        """Nothing: the agent watches the variables itself."""
        return {}

    def prove(self, before: Mapping[str, str], after: Mapping[str, str]) -> Sequence[Note]:
        """Nothing: what a variable should change is not known here."""
        return ()

    def options(self) -> Sequence[click.Option]:
        """``--env-set``, ``--env-package``."""
        import click

        return (
            click.Option(
                ["--env-set"],
                metavar="NAME=OFF,ON",
                multiple=True,
                required=True,
                help="A variable and its two values; repeatable. An empty value is the empty "
                f"string, {UNSET} leaves the variable unset.",
            ),
            click.Option(
                ["--env-package"],
                metavar="PACKAGE",
                help="The package that reads them: its sources must hold their names.",
            ),
        )


def _given(options: Mapping[str, Any]) -> dict[str, tuple[str | None, str | None]]:
    given: dict[str, tuple[str | None, str | None]] = {}
    for text in options.get("set") or ():
        name, values = _parsed(str(text))
        if name in given:
            raise UsageError(f"--env-set gives {name} twice")
        given[name] = values
    if not given:
        raise UsageError("switch 'env' needs --env-set NAME=OFF,ON")
    return given


def _parsed(text: str) -> tuple[str, tuple[str | None, str | None]]:
    name, equals, rest = text.partition("=")
    values = rest.split(",")
    if not equals or len(values) != 2 or "\0" in rest:
        raise UsageError(f"--env-set needs NAME=OFF,ON with one comma, not {text!r}")
    if not _NAME.fullmatch(name):
        raise UsageError(f"--env-set {text!r}: {name!r} is no name of a variable")
    if name.startswith("FLAGKIT_"):
        raise UsageError(f"--env-set {text!r}: {name} is flagkit's own")
    if name == "PYTHONPATH":
        raise UsageError(f"--env-set {text!r}: use --switch build to compare two paths")
    off, on = (None if value == UNSET else value for value in values)
    if off == on:
        raise UsageError(f"--env-set {text!r}: both values are equal, so nothing differs")
    return name, (off, on)


@hookimpl
def flagkit_switch() -> Switch:
    """The switch ``env``."""
    return EnvSwitch()
