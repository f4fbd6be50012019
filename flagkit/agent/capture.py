"""Capturing calls into a device graph, and leaving the device as it was.

Everything goes through the device interface that Triton names. What it lacks is asked
for at run time: versions of one vendor's stack differ.
"""

from __future__ import annotations

import contextlib
import gc
import warnings
from typing import TYPE_CHECKING, Any

from flagkit.agent.streams import on_side_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

NEEDED = ("Event", "synchronize", "Stream", "stream")
"""What the graph path cannot do without."""


class Captured:
    """A graph ready to be replayed. ``told_empty``: the vendor's stack says it has no node."""

    def __init__(self, graph: Any, told_empty: bool) -> None:
        self._graph = graph
        self.told_empty = told_empty

    def replay(self) -> None:
        """Queue the graph once on the current stream."""
        self._graph.replay()

    def release(self) -> None:
        """Give the graph's executable and memory back. Call it when no replay is in flight.

        MUSA's driver was seen to fail at about 2,048 live executables in one process.
        """
        graph, self._graph = self._graph, None
        reset = getattr(graph, "reset", None)
        if reset is not None:
            # A dead device may refuse; what killed it is already on its way up.
            with contextlib.suppress(Exception):
                reset()


class Capturer:
    """Captures calls on one device interface.

    :param interface: the module Triton's driver names (``torch.cuda``, ``torch_musa``, ...).
    :param graph_class: what ``flagkit_graph_class`` gave; None: no graphs here.
    """

    def __init__(self, interface: Any, graph_class: type | None) -> None:
        self._interface = interface
        self._graph_class = graph_class
        self._stream: Any = None
        # torch's allocator keeps asking an aborted graph whether a stream is its own; it
        # is held here since freeing it would leave the allocator with a dangling pointer.
        self._aborted: list[Any] = []

    def lacking(self) -> str:
        """Why nothing can be captured here; empty where it can be tried."""
        name = getattr(self._interface, "__name__", "the device interface")
        lacks = [each for each in NEEDED if not hasattr(self._interface, each)]
        if lacks:
            return f"{name} has no {', '.join(lacks)}"
        return "" if self._graph_class else f"{name} has no graph class"

    def side_stream(self) -> AbstractContextManager[Any]:
        """What makes a non-default stream current: the default one cannot be captured.

        Under the test's own stream it does nothing, so that a backward runs on the very
        stream that is captured.
        """
        if on_side_stream(self._interface):
            return contextlib.nullcontext()
        if self._stream is None:
            self._stream = self._interface.Stream()
        scope: AbstractContextManager[Any] = self._interface.stream(self._stream)
        return scope

    def capture(self, calls: Callable[[], object]) -> Captured:
        """Capture what *calls* queues on the current stream.

        Raises what *calls* raised, else what the capture itself did. Either way the
        current stream is the same as before and the generators can be used.
        """
        if self._graph_class is None:
            raise RuntimeError(self.lacking())
        graph = self._graph_class()
        try:
            with (
                self._scratch_generator(),
                self._same_stream(),
                _no_collection(),
                warnings.catch_warnings(record=True) as said,
            ):
                warnings.simplefilter("always")
                self._record(graph, calls)
        except BaseException:
            self._aborted.append(graph)
            self._settle()
            raise
        return Captured(graph, any("graph is empty" in str(w.message).lower() for w in said))

    def _record(self, graph: Any, calls: Callable[[], object]) -> None:
        scope = self._scope(graph)
        scope.__enter__()
        try:
            calls()
        except BaseException as exc:
            # The end of a broken capture raises too; the first error is the reason. One that
            # ends well all the same has made an executable, which nobody will replay.
            with contextlib.suppress(Exception):
                scope.__exit__(type(exc), exc, exc.__traceback__)
                Captured(graph, told_empty=False).release()
            raise
        scope.__exit__(None, None, None)

    def _scope(self, graph: Any) -> Any:
        """The interface's own ``graph`` where it has one, on the current stream."""
        graph_scope = getattr(self._interface, "graph", None)
        if graph_scope is None:
            return _bare_capture(self._interface, graph)
        current = getattr(self._interface, "current_stream", None)
        if current is None:
            return graph_scope(graph)
        try:
            return graph_scope(graph, stream=current())
        except TypeError:  # an older one without the parameter
            return graph_scope(graph)

    @contextlib.contextmanager
    def _scratch_generator(self) -> Iterator[None]:
        """Let the capture mark a copy of the device generator's state instead of the real one.

        An aborted capture leaves the state it touched marked for good, and every later
        random call on it fails. Replays advance the copy too, so seeds stay untouched.
        """
        generator = device_generator(self._interface)
        if generator is None:
            with self._kept_state():
                yield
            return
        real = generator.graphsafe_get_state()
        generator.graphsafe_set_state(_copied(generator))
        try:
            yield
        finally:
            generator.graphsafe_set_state(real)

    @contextlib.contextmanager
    def _kept_state(self) -> Iterator[None]:
        """Second best where there is no graph-safe state: put the numbers back afterwards."""
        read = getattr(self._interface, "get_rng_state", None)
        write = getattr(self._interface, "set_rng_state", None)
        state = None
        if read is not None and write is not None:
            with contextlib.suppress(Exception):
                state = read()
        try:
            yield
        finally:
            if state is not None and write is not None:
                with contextlib.suppress(Exception):
                    write(state)

    @contextlib.contextmanager
    def _same_stream(self) -> Iterator[None]:
        """Put the current stream back: ``torch.cuda.graph`` leaves its own after an error."""
        current = getattr(self._interface, "current_stream", None)
        before = current() if current is not None else None
        try:
            yield
        finally:
            if current is not None and current() != before:
                put_back = getattr(self._interface, "set_stream", None)
                if put_back is not None:
                    put_back(before)
                else:
                    self._interface.stream(before).__enter__()

    def _settle(self) -> None:
        """Take the pending error of an aborted capture off the device, and flush its memory.

        torch's allocator goes on believing in the capture and then no longer empties its
        cache by itself when memory runs out. What is raised here is dropped: the abort's
        own error is under way, and a dead device says so again at the next call.
        """
        for name in ("synchronize", "empty_cache"):
            with contextlib.suppress(Exception):
                getattr(self._interface, name)()


@contextlib.contextmanager
def _bare_capture(interface: Any, graph: Any) -> Iterator[None]:
    """Capture on the current stream by the class alone.

    Cached memory is given back first where that can be asked, as ``torch.cuda.graph`` does:
    a graph's pool then does not depend on what ran before.
    """
    interface.synchronize()
    empty = getattr(interface, "empty_cache", None)
    if empty is not None:
        empty()
    graph.capture_begin()
    try:
        yield
    finally:
        graph.capture_end()


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector out: a finaliser that frees memory breaks a capture."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def device_generator(interface: Any) -> Any | None:
    """The current device's generator, where its state can be swapped safely around a capture."""
    generators = getattr(interface, "default_generators", None)
    if not generators:
        return None
    current = getattr(interface, "current_device", None)
    try:
        generator = generators[int(current()) if current is not None else 0]
    except (IndexError, TypeError, ValueError):
        return None
    names = ("graphsafe_get_state", "graphsafe_set_state")
    if not all(hasattr(generator, name) for name in names):
        return None
    try:
        generator.graphsafe_get_state()
    except Exception:  # torch gives every device's generator the names, to be refused when called
        return None
    return generator


def _copied(generator: Any) -> Any:
    """A generator of the same device and state."""
    if hasattr(generator, "clone_state"):  # torch 2.4 and later
        return generator.clone_state()
    copy = type(generator)(device=generator.device)
    copy.set_state(generator.get_state())
    return copy
