"""Which class of a device interface captures and replays graphs: the core's own rule."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from flagkit import hookimpl

if TYPE_CHECKING:
    from types import ModuleType

METHODS = ("capture_begin", "capture_end", "replay")
"""What makes a class a graph: torch.cuda's ``CUDAGraph`` and torch_musa's ``MUSAGraph``."""


class GraphClassError(LookupError):
    """Several classes of an interface could be the graph: only its backend can tell."""


@hookimpl(trylast=True)
def flagkit_graph_class(backend: str, device_interface: ModuleType) -> type | None:
    """The core's answer to the hook, given only where no backend has one."""
    return find_graph_class(device_interface, backend)


def find_graph_class(interface: Any, backend: str = "") -> type | None:
    """The one class on *interface* that has all of :data:`METHODS`; None: there is none.

    A class that another candidate derives from does not count, so that a compiled base
    and its Python face are one. Raises :class:`GraphClassError` for several.
    """
    found = {
        id(each): each
        for each in (_attribute(interface, name) for name in dir(interface))
        if isinstance(each, type) and all(callable(getattr(each, m, None)) for m in METHODS)
    }
    leaves = [
        each
        for each in found.values()
        if not any(other is not each and issubclass(other, each) for other in found.values())
    ]
    if len(leaves) > 1:
        names = ", ".join(sorted(each.__qualname__ for each in leaves))
        raise GraphClassError(
            f"{getattr(interface, '__name__', 'the device interface')} has {len(leaves)} classes "
            f"that capture graphs ({names}); let backend {backend or 'module'!r} implement "
            "flagkit_graph_class and return one"
        )
    return leaves[0] if leaves else None


def _attribute(interface: Any, name: str) -> Any:
    """An attribute, or None: lazy ones of a vendor's module may raise anything when read."""
    with contextlib.suppress(Exception):
        return getattr(interface, name)
    return None
