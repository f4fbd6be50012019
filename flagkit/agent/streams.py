"""Which stream a test runs on."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def test_stream(interface: Any, stream: Any = None) -> Iterator[str]:
    """Run a whole test body under one non-default stream of *interface*.

    Autograd runs a backward on the stream its forward ran on; with both under one side
    stream, which is also the one captured, backward operators capture. Give the same
    *stream* to every test: the allocator keeps freed memory for the stream it was made on.

    Yields the reason why nothing was done, empty where the stream is current. Raises what
    the device says of work that was in flight before.
    """
    reason = lacking_streams(interface)
    if reason:
        yield reason
        return
    stream = interface.Stream() if stream is None else stream
    interface.synchronize()  # what was made on the default stream may still be in flight
    with interface.stream(stream):
        yield ""
    interface.synchronize()


def open_stream(interface: Any) -> Any | None:
    """A stream for :func:`test_stream`; None where the interface has none."""
    return None if lacking_streams(interface) else interface.Stream()


def lacking_streams(interface: Any) -> str:
    """Why tests cannot run on a stream of their own; empty where they can."""
    if interface is None:
        return "there is no device interface"
    lacks = [each for each in ("Stream", "stream", "synchronize") if not hasattr(interface, each)]
    name = getattr(interface, "__name__", "the device interface")
    return f"{name} has no {', '.join(lacks)}" if lacks else ""


def on_side_stream(interface: Any) -> bool:
    """Whether the current stream is known not to be the default one."""
    current = getattr(interface, "current_stream", None)
    default = getattr(interface, "default_stream", None)
    if current is None:
        return False
    if default is None:  # torch's own streams number the default one 0
        return bool(getattr(current(), "stream_id", 0))
    return bool(current() != default())
