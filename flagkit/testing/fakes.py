"""A device without hardware: a scripted clock behind a torch-like interface.

Two shapes are offered, as the field has them: :func:`cuda_like` (default generators with
graph-safe states, ``CUDAGraph``) and :func:`musa_like` (no default generators,
``MUSAGraph``). The device runs one thing at a time; launching costs the host time, and
what a capture forbids fails with the words the real ones use.
"""

from __future__ import annotations

from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

from flagkit.testing.fake_device import (
    CAPTURING,
    DEAD,
    INVALIDATED,
    POISONED,
    FakeDevice,
    FakeDeviceError,
    FakeEvent,
    FakeGraph,
    FakeStream,
    Script,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "CAPTURING",
    "DEAD",
    "INVALIDATED",
    "POISONED",
    "FakeDevice",
    "FakeDeviceError",
    "Script",
    "cuda_like",
    "is_dead",
    "musa_like",
]


def cuda_like(script: Script | None = None) -> tuple[ModuleType, FakeDevice]:
    """An interface as torch.cuda offers it, and the device behind it."""
    interface, device = _interface("fake_cuda", "CUDAGraph", script)
    vars(interface)["default_generators"] = (device.generator,)
    return interface, device


def musa_like(script: Script | None = None) -> tuple[ModuleType, FakeDevice]:
    """An interface as torch_musa offers it: no default generators, no ``set_stream``."""
    script = script or Script(tells_empty=False)
    interface, device = _interface("fake_musa", "MUSAGraph", script)
    del vars(interface)["set_stream"]
    return interface, device


def _interface(name: str, graph_name: str, script: Script | None) -> tuple[ModuleType, FakeDevice]:
    device = FakeDevice(script)
    interface = ModuleType(name)

    @contextmanager
    def stream(other: FakeStream | None) -> Iterator[None]:
        before, device.current = device.current, other or device.current
        try:
            yield
        finally:
            device.current = before

    class Graph(FakeGraph):
        def __init__(self) -> None:
            super().__init__(device)

    class Scope:
        """As torch.cuda.graph: after an error in its end, its own stream stays current."""

        def __init__(self, graph: Graph, pool: Any = None, stream: Any = None) -> None:
            self._graph, self._before = graph, device.current
            self._stream = stream or FakeStream(device)

        def __enter__(self) -> None:
            device.synchronize()
            self._before, device.current = device.current, self._stream
            self._graph.capture_begin()

        def __exit__(self, *error: object) -> None:
            self._graph.capture_end()
            device.current = self._before

    Graph.__name__ = Graph.__qualname__ = graph_name
    vars(interface).update(
        {
            graph_name: Graph,
            "graph": Scope,
            "Event": lambda enable_timing=False: FakeEvent(device),
            "Stream": lambda: FakeStream(device),
            "stream": stream,
            "set_stream": lambda other: setattr(device, "current", other),
            "current_stream": lambda: device.current,
            "default_stream": lambda: device.default,
            "current_device": lambda: 0,
            "synchronize": device.synchronize,
            "is_initialized": lambda: True,
            "get_rng_state": lambda: device.generator.get_state(),
            "set_rng_state": lambda state: device.generator.set_state(state),
            "manual_seed_all": lambda seed: device.generator.set_state((seed, 0)),
            "memory_allocated": lambda: 0,
            "memory_reserved": lambda: 0,
            "mem_get_info": lambda: (device.script.memory, device.script.memory),
            "memory_stats": lambda: {
                "allocated_bytes.all.allocated": device.allocated_bytes,
                "allocation.all.allocated": device.allocations,
            },
        }
    )
    return interface, device


def is_dead(exc: BaseException) -> bool:
    """The backend's ``is_fatal`` for fakes, by the marks of real ones."""
    text = str(exc)
    return any(mark in text for mark in ("illegal memory access", "device-side assert"))
