"""What a switch has to keep to."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from flagkit.errors import FlagkitError
from flagkit.interfaces import ArmSetup, Excerpt, SwitchVariable, TakesExcerpts, Target
from flagkit.model import Note
from flagkit.plugins import Kind
from flagkit.testing.common import VARIABLE, OptionsContract

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType

    import click

    from flagkit.interfaces import Availability, Backend, StaleGuard, Switch


class SomeBackend:
    """A backend of no vendor, which has everything a switch may ask for."""

    name = "some"
    summary = "stands for any backend in tests"
    flagtree_prefix: str | None = "SOME"
    gems_vendor: str | None = "some"

    def probe(self, python: Path) -> Availability:
        """Always."""
        from flagkit.interfaces import Availability

        return Availability(ok=True)

    def environ(self, device: int) -> Mapping[str, str]:
        """One variable."""
        return {"SOME_VISIBLE_DEVICES": str(device)}

    def device_interface(self) -> ModuleType | None:
        """The host."""
        return None

    def is_fatal(self, exc: BaseException) -> bool:
        """Never."""
        return False

    def stale_guards(self) -> Sequence[StaleGuard]:
        """None."""
        return ()

    def options(self) -> Sequence[click.Option]:
        """None."""
        return ()


class SwitchContract(OptionsContract):
    """May be given too: ``options`` (where the defaults say nothing), ``backend``, ``target``."""

    kind = Kind.SWITCH

    @pytest.fixture
    def backend(self) -> Backend:
        """One of no vendor."""
        return SomeBackend()

    @pytest.fixture
    def target(self) -> Target:
        """This very Python."""
        return Target(python=Path(sys.executable))

    @pytest.fixture
    def arms(
        self, plugin: Switch, backend: Backend, options: Mapping[str, Any], target: Target
    ) -> tuple[ArmSetup, ArmSetup]:
        """Both sides' settings."""
        before, after = (plugin.setup(arm, backend, options, target) for arm in plugin.arms)
        return before, after

    def test_arms(self, plugin: Switch, arms: tuple[ArmSetup, ArmSetup]) -> None:
        """They differ, unless the switch is a control."""
        assert len(plugin.arms) == 2
        assert all(isinstance(arm, str) and arm for arm in plugin.arms)
        assert (arms[0] == arms[1]) is plugin.control
        if not plugin.control:
            assert plugin.arms[0] != plugin.arms[1]

    def test_setup(self, arms: tuple[ArmSetup, ArmSetup]) -> None:
        """Values a process can be started with."""
        for arm in arms:
            assert isinstance(arm, ArmSetup)
            assert all(isinstance(path, Path) for path in arm.pythonpath)
            for name, value in arm.env.items():
                assert VARIABLE.fullmatch(name)
                assert value is None or (isinstance(value, str) and "\0" not in value)

    def test_both_arms_set_the_same_variables(self, arms: tuple[ArmSetup, ArmSetup]) -> None:
        """What the user's own environment holds must not leak into one side alone."""
        assert set(arms[0].env) == set(arms[1].env)

    def test_setup_is_repeatable(
        self,
        plugin: Switch,
        backend: Backend,
        options: Mapping[str, Any],
        target: Target,
        arms: tuple[ArmSetup, ArmSetup],
    ) -> None:
        """Every operator gets the same."""
        again = tuple(plugin.setup(arm, backend, options, target) for arm in plugin.arms)
        assert again == arms

    def test_an_unknown_arm_is_refused(
        self, plugin: Switch, backend: Backend, options: Mapping[str, Any], target: Target
    ) -> None:
        """With an error for people."""
        with pytest.raises(FlagkitError):
            plugin.setup("no-such-arm", backend, options, target)

    def test_variables(
        self,
        plugin: Switch,
        backend: Backend,
        options: Mapping[str, Any],
        arms: tuple[ArmSetup, ArmSetup],
    ) -> None:
        """Each is one that it sets."""
        for variable in plugin.variables(backend, options):
            assert isinstance(variable, SwitchVariable)
            assert variable.name in arms[0].env

    def test_observe(self, plugin: Switch) -> None:
        """Text facts that a journal can hold."""
        facts = plugin.observe()
        assert all(isinstance(k, str) and isinstance(v, str) for k, v in facts.items())
        json.dumps(dict(facts))

    @pytest.mark.parametrize("asked", ["defaults", "flags"])
    def test_excerpt(self, plugin: Switch, options: Mapping[str, Any], asked: str) -> None:
        """Where it takes one: of any bytes, text and facts that its own proof can read."""
        if not isinstance(plugin, TakesExcerpts):
            pytest.skip("takes no excerpt")
        if asked == "flags":
            options = {**options, **{n: True for n, v in options.items() if v is False}}
        names = [variable.encode() for variable in self._names(plugin, options)]
        lines = [b"", b"\xff\x00\n", b"=\n", *names, *(name + b" a=b\n" for name in names)]
        found = plugin.excerpt(iter(lines), options)
        if found is not None:
            assert isinstance(found, Excerpt)
            assert isinstance(found.text, str)
            assert all(isinstance(k, str) and isinstance(v, str) for k, v in found.facts.items())
            assert all(isinstance(n, Note) for n in plugin.prove(found.facts, {}))
            assert all(isinstance(n, Note) for n in plugin.prove({}, found.facts))

    def _names(self, plugin: Switch, options: Mapping[str, Any]) -> list[str]:
        return [variable.name for variable in plugin.variables(SomeBackend(), options)]

    def test_prove_without_facts(self, plugin: Switch) -> None:
        """A side that said nothing is no reason to fail."""
        for note in plugin.prove({}, {}):
            assert isinstance(note, Note)
            assert note.code
            assert note.text
