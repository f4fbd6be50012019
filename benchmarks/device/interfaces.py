"""Interfaces that are not torch.cuda, made of it: what another vendor's module would offer."""

from __future__ import annotations

from types import ModuleType
from typing import Any

WITHOUT = ("default_generators", "graph", "set_stream", "memory_stats", "CUDAGraph")


def full() -> ModuleType:
    """All public names of torch.cuda, in a module of its own."""
    import torch

    torch.cuda.init()  # default_generators is an empty tuple before
    module = ModuleType("proxy_device")
    names = (name for name in dir(torch.cuda) if not name.startswith("__"))
    vars(module).update({name: getattr(torch.cuda, name) for name in names})
    return module


def bare() -> ModuleType:
    """As little as a vendor may offer: no generators, no ``graph``, another graph class."""
    import torch

    module = full()
    for name in WITHOUT:
        vars(module).pop(name, None)

    class ProxyGraph(torch.cuda.CUDAGraph):  # type: ignore[misc]
        pass

    vars(module)["ProxyGraph"] = ProxyGraph
    return module


def named(name: str) -> Any:
    """``cuda``, ``full`` or ``bare``."""
    import torch

    return {"cuda": lambda: torch.cuda, "full": full, "bare": bare}[name]()
