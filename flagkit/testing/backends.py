"""What a backend has to keep to."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from flagkit.interfaces import Availability, StaleGuard, TakesOptions
from flagkit.plugins import Kind, contract_problem
from flagkit.testing.common import HEAVY, VARIABLE, OptionsContract

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flagkit.interfaces import Backend

HARMLESS: tuple[BaseException, ...] = (
    ValueError("shape mismatch"),
    KeyError("x"),
    RuntimeError(""),
    RuntimeError("operation not permitted when stream is capturing"),
    AssertionError("assert 1 == 2"),
)


class BackendContract(OptionsContract):
    """May be given too: ``fatal``, exceptions that say the device's context is dead."""

    kind = Kind.BACKEND

    @pytest.fixture
    def fatal(self) -> Sequence[BaseException]:
        """None, unless given."""
        return ()

    def test_the_probe_answers(self, plugin: Backend) -> None:
        """Yes or no, with a reason, and nothing heavy is loaded into this process."""
        before = set(sys.modules)
        answer = plugin.probe(Path(sys.executable))
        assert isinstance(answer, Availability)
        assert answer.reason.isprintable()
        assert all(isinstance(k, str) and isinstance(v, str) for k, v in answer.facts.items())
        loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
        assert not loaded & set(HEAVY)

    def test_a_missing_python_is_an_answer(self, plugin: Backend, tmp_path: Path) -> None:
        """Not an exception."""
        answer = plugin.probe(tmp_path / "no" / "python")
        assert not answer.ok
        assert answer.reason

    @pytest.mark.skipif(os.name == "nt", reason="makes a shell script")
    @pytest.mark.parametrize("body", ["exit 3", "echo hello", "kill -9 $$", "echo '{}'"])
    def test_a_strange_python_is_an_answer(
        self, plugin: Backend, tmp_path: Path, body: str
    ) -> None:
        """Neither a failure nor other people's output is a yes."""
        strange = tmp_path / "python"
        strange.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        strange.chmod(0o755)
        answer = plugin.probe(strange)
        assert not answer.ok
        assert answer.reason.isprintable()

    def test_environ(self, plugin: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
        """Text variables; another device gives another value."""
        for name in plugin.environ(0):
            monkeypatch.delenv(name, raising=False)
        environ = plugin.environ(0)
        assert isinstance(environ, Mapping)
        for name, value in environ.items():
            assert VARIABLE.fullmatch(name)
            assert isinstance(value, str)
        if environ:
            assert plugin.environ(1) != environ

    def test_vendor_names(self, plugin: Backend) -> None:
        """A FlagTree prefix is empty, None or a word in capitals; a vendor's is None or small."""
        prefix, vendor = plugin.flagtree_prefix, plugin.gems_vendor
        assert prefix is None or prefix == "" or (VARIABLE.fullmatch(prefix) and prefix.isupper())
        assert vendor is None or (VARIABLE.fullmatch(vendor) and vendor.islower())

    def test_fatal(self, plugin: Backend, fatal: Sequence[BaseException]) -> None:
        """A dead context is recognised, and an ordinary error is not taken for one."""
        for exc in HARMLESS:
            assert plugin.is_fatal(exc) is False, exc
        for exc in fatal:
            assert plugin.is_fatal(exc) is True, exc

    def test_stale_guards(self, plugin: Backend) -> None:
        """Each names a file of the benchmark and the exact reason of its mark."""
        for guard in plugin.stale_guards():
            assert isinstance(guard, StaleGuard)
            assert Path(guard.file).name == guard.file
            assert guard.file.endswith(".py")
            assert guard.reason

    def test_device_interface(self, plugin: Backend) -> None:
        """None, or a torch-like module; looked at only where the device is there."""
        answer = plugin.probe(Path(sys.executable))
        if not answer.ok:
            pytest.skip(answer.reason)
        interface = plugin.device_interface()
        if interface is not None:
            assert callable(interface.synchronize)
            assert isinstance(interface.Event, type)

    def test_configured(self, plugin: Backend, options: Mapping[str, Any]) -> None:
        """A backend with options takes them, and another run's do not stay with it."""
        if not isinstance(plugin, TakesOptions):
            assert not plugin.options(), "it has options: add configured(options) to take them"
            pytest.skip("has no options to take")
        kept = json.loads(json.dumps(dict(options), default=str))
        alone = dict(plugin.environ(0))
        one, other = plugin.configured(kept), plugin.configured(dict(kept))
        for found in (one, other):
            assert contract_problem(self.kind, plugin.name, found) == ""
        assert one.environ(0) == other.environ(0)
        assert plugin.environ(0) == alone
        assert [o.opts for o in one.options()] == [o.opts for o in plugin.options()]

    def test_facts_can_be_kept(self, plugin: Backend) -> None:
        """``flagkit doctor --json`` and receipts hold them."""
        json.dumps(dict(plugin.probe(Path(sys.executable)).facts))
