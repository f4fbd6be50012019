"""Every hook. pluggy registers plug-ins; ordinary method calls do the work.

A plug-in is a module named by an entry point in the hook's group; the entry point's
name is what people type. A hook is called once, right after its module is imported,
and returns one object of the type given. Since 0.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pluggy import HookspecMarker

if TYPE_CHECKING:
    from types import ModuleType

    from flagkit.interfaces import Backend, LogParser, Reporter, Switch, Tuner

hookspec = HookspecMarker("flagkit")


@hookspec(firstresult=True)
def flagkit_backend() -> Backend:  # type: ignore[empty-body]
    """A family of devices. Group ``flagkit.backends``.

    Called on the host and again in the benchmark's process::

        @hookimpl
        def flagkit_backend():
            return AcmeBackend()
    """


@hookspec(firstresult=True)
def flagkit_graph_class(backend: str, device_interface: ModuleType) -> type | None:
    """The type that captures and replays a graph on *device_interface*; None: pass.

    Asked in the benchmark's process, of the loaded backend's module first; the core's
    rule comes last: the one class with ``capture_begin``, ``capture_end`` and ``replay``.
    ``backend`` is the backend's name::

        @hookimpl
        def flagkit_graph_class(device_interface):
            return device_interface.ACMEGraph
    """


@hookspec(firstresult=True)
def flagkit_switch() -> Switch:  # type: ignore[empty-body]
    """What differs between the sides. Group ``flagkit.switches``.

    Called on the host and again in the benchmark's process::

        @hookimpl
        def flagkit_switch():
            return FastMathSwitch()
    """


@hookspec(firstresult=True)
def flagkit_parser() -> LogParser:  # type: ignore[empty-body]
    """One format of logs. Group ``flagkit.parsers``. Called on the host::

    @hookimpl
    def flagkit_parser():
        return AcmeLogParser()
    """


@hookspec(firstresult=True)
def flagkit_reporter() -> Reporter:  # type: ignore[empty-body]
    """One way to show reports. Group ``flagkit.reporters``. Called on the host::

    @hookimpl
    def flagkit_reporter():
        return ExcelReporter()
    """


@hookspec(firstresult=True)
def flagkit_tuner() -> Tuner:  # type: ignore[empty-body]
    """One family of autotuners. Group ``flagkit.tuners``.

    Called on the host, for its name, and in the benchmark's process::

        @hookimpl
        def flagkit_tuner():
            return AcmeTuner()
    """
