"""What a tuner's plug-in has to keep to, and a log to try one with."""

from __future__ import annotations

import contextlib
import importlib.util
from typing import TYPE_CHECKING, Any

import pytest

from flagkit.plugins import Kind
from flagkit.testing.common import PluginContract

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType

    from flagkit.interfaces import Tuner
    from flagkit.model import Decision


class MemoryTuningLog:
    """A tuning log that keeps everything in memory.

    :param recorded: an earlier log to replay from; None records.
    """

    def __init__(self, recorded: MemoryTuningLog | None = None) -> None:
        self.replaying = recorded is not None
        self.decisions: list[tuple[Decision, str]] = []
        self.reasons: list[str] = []
        self.notes: list[tuple[str, str]] = []
        self.uses: list[Decision] = []
        self.tunings = 0
        self._known: dict[tuple[str, str, str], Decision] = {}
        if recorded is not None:
            self._known = {decision.identity: decision for decision, _ in recorded.decisions}

    @property
    def states(self) -> list[str]:
        """The state of every decision, in order."""
        return [state for _, state in self.decisions]

    @property
    def configs(self) -> list[Mapping[str, Any]]:
        """The configuration of every decision, in order."""
        return [decision.config for decision, _ in self.decisions]

    def lookup(
        self,
        tuner: str,
        kernel: str,
        key: str,
        *,
        source_hash: str = "",
        candidates_hash: str = "",
    ) -> Decision | None:
        """What was recorded, of this version of the kernel."""
        found = self._known.get((tuner, kernel, key))
        return found if found is not None and found.source_hash == source_hash else None

    def decided(self, decision: Decision, state: str, reason: str = "") -> None:
        """Keep it."""
        self.decisions.append((decision, state))
        self.reasons.append(reason)

    def note(self, code: str, text: str) -> None:
        """Keep it."""
        self.notes.append((code, text))

    def used(self, decision: Decision) -> None:
        """Keep it."""
        self.uses.append(decision)

    @contextlib.contextmanager
    def _tuning(self) -> Iterator[None]:
        self.tunings += 1
        yield

    def tuning(self, tuner: str) -> Any:
        """Count it."""
        return self._tuning()


class TunerContract(PluginContract):
    """May be given too, and should: ``workload``.

    It returns a function that gives a fresh copy of the tuner's module each time, and a
    function that makes the tuners in it decide at least once.
    """

    kind = Kind.TUNER

    @pytest.fixture
    def workload(self) -> Callable[[], tuple[ModuleType, Callable[[], None]]]:
        """Skipped, unless given."""
        pytest.skip("no `workload` given")

    def test_modules(self, plugin: Tuner) -> None:
        """At least one, by its full name."""
        assert plugin.modules
        assert isinstance(plugin.modules, tuple)
        for name in plugin.modules:
            assert all(part.isidentifier() for part in name.split("."))

    def test_record(self, plugin: Tuner, workload: Callable[[], Any]) -> None:
        """The tuner times as it always does, and what it chose is kept."""
        log = MemoryTuningLog()
        run(plugin, workload, log)
        assert log.states
        assert set(log.states) == {"recorded"}
        assert log.tunings > 0
        assert log.uses

    def test_replay(self, plugin: Tuner, workload: Callable[[], Any]) -> None:
        """The same is chosen, and nothing is timed."""
        first = MemoryTuningLog()
        run(plugin, workload, first)
        second = MemoryTuningLog(first)
        run(plugin, workload, second)
        assert set(second.states) <= {"replayed", "rebuilt"}
        assert second.configs == first.configs
        assert second.tunings == 0
        assert {use.identity for use in second.uses} == {use.identity for use in first.uses}

    def test_a_missing_entry(self, plugin: Tuner, workload: Callable[[], Any]) -> None:
        """The tuner tunes, and says that it had to."""
        log = MemoryTuningLog(MemoryTuningLog())
        run(plugin, workload, log)
        assert set(log.states) == {"missed"}
        assert log.tunings > 0

    def test_installing_twice(self, plugin: Tuner, workload: Callable[[], Any]) -> None:
        """Changes nothing."""
        once, twice = MemoryTuningLog(), MemoryTuningLog()
        run(plugin, workload, once)
        module, decide = workload()
        plugin.install(module, twice)
        plugin.install(module, twice)
        decide()
        assert len(twice.decisions) == len(once.decisions)


def run(plugin: Tuner, workload: Callable[[], Any], log: MemoryTuningLog) -> None:
    """Install into a fresh module and make its tuners decide."""
    module, decide = workload()
    plugin.install(module, log)
    decide()


def fresh_module(name: str) -> ModuleType:
    """A new copy of the module *name* that ``sys.modules`` does not know."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
