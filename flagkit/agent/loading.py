"""Loads the plug-ins the host selected, by module name: no entry points are needed here."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pluggy

from flagkit import hookspecs
from flagkit.agent import graphs
from flagkit.interfaces import TakesOptions

if TYPE_CHECKING:
    from types import ModuleType

    from flagkit.agent.config import Plugin


class Plugins:
    """The agent's plug-in manager."""

    def __init__(self) -> None:
        self._manager = pluggy.PluginManager("flagkit")
        self._manager.add_hookspecs(hookspecs)
        self._manager.register(graphs)

    def load(self, kind: str, plugin: Plugin) -> Any:
        """The object that *plugin*'s ``flagkit_<kind>`` hook gives, with its options.

        Raises what it raises.
        """
        module = importlib.import_module(plugin.module)
        if not self._manager.is_registered(module):
            self._manager.register(module)
        others = [other for other in self._manager.get_plugins() if other is not module]
        found = self._manager.subset_hook_caller(f"flagkit_{kind}", others)()
        if found is None:
            raise TypeError(f"{plugin.module} gives no {kind}")
        if kind == "backend" and isinstance(found, TakesOptions):
            return found.configured(plugin.options)
        return found

    def graph_class(self, backend: str, device_interface: ModuleType) -> type | None:
        """What captures a graph on *device_interface*: the backend's word, then the core's."""
        found: type | None = self._manager.hook.flagkit_graph_class(
            backend=backend, device_interface=device_interface
        )
        return found
