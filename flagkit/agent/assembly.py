"""Puts the agent's parts together for one process: journals, timer, tuners, patches."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from flagkit.agent.device import DeviceTimer
from flagkit.agent.facts import device_facts, imported_modules, versions
from flagkit.agent.flaggems import FlagGemsAdapter
from flagkit.agent.imports import ImportWatcher
from flagkit.agent.inputs import Generators
from flagkit.agent.journal import FileJournal, NullJournal
from flagkit.agent.launches import Launches
from flagkit.agent.loading import Plugins
from flagkit.agent.outcomes import told
from flagkit.agent.outputs import OutputCheck
from flagkit.agent.patches import patch_triton_testing
from flagkit.agent.plan import PlanBook
from flagkit.agent.session import Session
from flagkit.agent.streams import open_stream, test_stream
from flagkit.agent.timing import HostTimer
from flagkit.agent.tuning import TuningJournal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flagkit.agent.config import AgentConfig
    from flagkit.agent.timing import Timer
    from flagkit.interfaces import Backend, StaleGuard, Switch, Tuner


class Assembly:
    """Owns what lives as long as the process."""

    def __init__(self, config: AgentConfig) -> None:
        self.config = config
        self._plugins = Plugins()
        self._backend: Backend | None = None
        self._switch: Switch | None = None
        self._stream: Any = None
        self._timer: DeviceTimer | None = None
        self._journal = self._file("measurements.jsonl")
        self._tuning_file = self._file("tuning.jsonl")
        self.session = Session(
            config,
            self._journal,
            PlanBook.load(config.replay),
            make_timer=self._make_timer,
            is_fatal=self._is_fatal,
            plain_run=self._plain_run,
            check=self._output_check(),
        )
        self._watcher = ImportWatcher(lambda text: self.session.note("hook", text))
        self._gems = FlagGemsAdapter(self.session)
        self._tuning = TuningJournal(
            write=self._tuning_file.write,
            current=lambda: (self.session.current.node, self.session.next_call),
            note=self.session.note,
            replay=config.replay / "tuning.jsonl" if config.replay else None,
            across_builds=config.across_builds,
            generators=lambda: Generators(self.session.interface),
        )
        self._launches = Launches(
            self._tuning_file.write,
            lambda: self.session.current.node,
            skip=lambda: self._tuning.in_tuner,
            decisions=lambda: self._tuning.decisions,
        )

    def start(self) -> None:
        """Load the plug-ins and wait for the modules to patch. Each fails by itself."""
        self._journal.start()
        self._tuning_file.start()
        if self.config.backend:
            self._backend = self._load("backend", self.config.backend)
            if self._backend is None:
                self.session.interface = ModuleType("no_device_interface")
        if self.config.switch:
            self._switch = self._load("switch", self.config.switch)
        sys.meta_path.insert(0, self._watcher)
        self._watcher.when(
            "triton.testing",
            lambda m: patch_triton_testing(m, self.session, lambda: self._tuning.in_tuner),
        )
        for plugin in self.config.tuners:
            tuner: Tuner | None = self._load("tuner", plugin)
            for name in tuner.modules if tuner else ():
                self._watcher.when(name, partial(self._install, tuner))

    def stale_guards(self) -> Sequence[StaleGuard]:
        """The skip marks to lift: only where FlagGems itself runs on this backend's vendor."""
        gems = sys.modules.get("flag_gems")
        if self._backend is None or gems is None:
            return ()
        if getattr(gems, "vendor_name", None) != self._backend.gems_vendor:
            return ()
        try:
            return tuple(self._backend.stale_guards())
        except Exception as error:
            self.session.note("backend-failed", f"stale_guards() raised {told(error)}")
            return ()

    def collected(self) -> None:
        """The suite is imported: hook FlagGems' classes, ask the switch what it sees."""
        self._gems.install()
        if self._switch is not None:
            try:
                facts = dict(self._switch.observe())
            except Exception as error:
                self.session.note("switch", f"observe() raised {type(error).__name__}: {error}")
                facts = {}
            if facts:
                self._journal.write({"kind": "switch", "facts": facts})
        self._device("start")

    def stream(self) -> Any:
        """A context in which the device works on one stream of its own, where it can."""
        interface = self._interface()
        if interface is None:
            return nullcontext()
        if self._stream is None:
            # One for all tests: the allocator keeps freed memory for the stream it was made on.
            self._stream = open_stream(interface)
        return test_stream(interface, self._stream)

    def survived(self, error: BaseException) -> None:
        """Look whether the device still works after *error* ended a test.

        Work outside a timed call (inputs, a forward) may kill it too. A dead device says so
        again when it is waited for; an allocation that was refused does not.
        """
        if self.session.fatal or not self._is_fatal(error):
            return
        try:
            self.session.interface.synchronize()  # type: ignore[union-attr]
        except Exception as again:
            if self._is_fatal(again):
                self.session.fatal = told(again)

    def finish(self) -> None:
        """Ask the device once more, for what changed while measuring."""
        self._device("end")

    def close(self) -> None:
        """Close the journals and step out of the imports."""
        self._journal.close()
        self._tuning_file.close()
        if self._watcher in sys.meta_path:
            sys.meta_path.remove(self._watcher)

    def _file(self, name: str) -> FileJournal | NullJournal:
        directory = self.config.directory
        if directory is None:
            return NullJournal()
        return FileJournal(directory / name, self._complain)

    def _output_check(self) -> OutputCheck | None:
        directory = self.config.directory
        if not self.config.check or directory is None:
            return None
        return OutputCheck(
            directory, interface=lambda: self.session.interface, is_fatal=self._is_fatal
        )

    def _complain(self, text: str) -> None:
        self.session.emit(f"[flagkit] {text}")

    def _load(self, kind: str, plugin: Any) -> Any:
        try:
            return self._plugins.load(kind, plugin)
        except Exception as error:
            self.session.note(
                "plugin-failed", f"{kind} {plugin.name}: {type(error).__name__}: {error}"
            )
            return None

    def _install(self, tuner: Any, module: ModuleType) -> None:
        tuner.install(module, self._tuning)

    def _plain_run(self, call: str, run: Callable[[], None]) -> None:
        self._launches.run(call, run)

    def _interface(self) -> ModuleType | None:
        """The device's module, once the benchmark has loaded what it stands on.

        A backend that failed to load or whose interface cannot be had gives an empty one:
        each call then falls back to the benchmark's own timer and says why. The host's clock
        would measure launches, not work.
        """
        if self.session.interface is None and self._backend is not None:
            if "torch" not in sys.modules:
                return None
            try:
                self.session.interface = self._backend.device_interface()
            except Exception as error:
                self.session.note("device-interface", f"no device interface: {told(error)}")
                self.session.interface = ModuleType("no_device_interface")
        return self.session.interface

    def _make_timer(self) -> Timer:
        interface = self._interface()
        if interface is None:
            return HostTimer()
        if self._timer is None:
            self._timer = self._device_timer(interface)
        return self._timer

    def _device_timer(self, interface: ModuleType) -> DeviceTimer:
        graph_class = None
        name = self._backend.name if self._backend else ""
        try:
            graph_class = self._plugins.graph_class(name, interface)
        except Exception as error:
            self.session.note("graph-class", f"no graph class: {told(error)}")
        return DeviceTimer(
            interface,
            graph_class,
            requested=self.config.timing,
            is_fatal=self._is_fatal,
            emit=self.session.emit,
        )

    def _is_fatal(self, error: BaseException) -> bool:
        try:
            return self._backend is not None and bool(self._backend.is_fatal(error))
        except Exception as again:  # the error that it was asked of is the one to be journalled
            self.session.note("backend-failed", f"is_fatal() raised {told(again)}")
            return False

    def _device(self, when: str) -> None:
        interface = self._interface()
        if interface is None or self._backend is None:
            facts: dict[str, Any] = {"versions": versions()} if when == "start" else {}
        else:
            facts = device_facts(self._backend.name, interface, 0)
        modules = imported_modules()
        self._journal.write({"kind": "facts", "when": when, "device": facts, "modules": modules})
