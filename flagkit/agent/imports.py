"""Calls back when the benchmark imports a module, and never imports one itself."""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    Callback = Callable[[ModuleType], None]


class ImportWatcher(MetaPathFinder):
    """Runs callbacks right after a named module was executed.

    A patch has to be in place before anybody copies the original out of the module
    (``from triton.testing import do_bench``), and importing triton on the benchmark's
    behalf would change what is measured.

    :param complain: told about a callback that raised; the import itself goes on.
    """

    def __init__(self, complain: Callable[[str], None]) -> None:
        self._complain = complain
        self._wanted: dict[str, list[Callback]] = {}

    def when(self, name: str, callback: Callback) -> None:
        """Call *callback* with module *name* once it is there: now, or after its import."""
        module = sys.modules.get(name)
        spec = getattr(module, "__spec__", None)
        if module is not None and not getattr(spec, "_initializing", False):
            self._call(callback, module)
        else:
            self._wanted.setdefault(name, []).append(callback)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Let the other finders find *fullname*, and wrap its loader if it is wanted."""
        if fullname not in self._wanted:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Watched(spec.loader, self._loaded)
                return spec
        return None

    def _loaded(self, module: ModuleType) -> None:
        for callback in self._wanted.pop(module.__name__, ()):
            self._call(callback, module)

    def _call(self, callback: Callback, module: ModuleType) -> None:
        try:
            callback(module)
        except Exception as error:
            self._complain(f"hooking {module.__name__}: {type(error).__name__}: {error}")


class _Watched(Loader):
    """The module's own loader, with a call after it. Steps aside once it has loaded."""

    def __init__(self, loader: Any, loaded: Callback) -> None:
        self._loader = loader
        self._loaded = loaded

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._loaded(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)
