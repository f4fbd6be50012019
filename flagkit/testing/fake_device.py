"""The fake device behind :mod:`flagkit.testing.fakes`: its clock, graphs and generators."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

CAPTURING = "operation not permitted when stream is capturing"
INVALIDATED = "operation failed due to a previous error during capture"
POISONED = "Offset increment outside graph capture encountered unexpectedly."
DEAD = "CUDA error: an illegal memory access was encountered"


class FakeDeviceError(RuntimeError):
    """What the fake device raises."""


@dataclass(slots=True, kw_only=True)
class Script:
    """How the device behaves. Times are microseconds of its clock.

    ``growth`` maps the nodes of a graph to the factor on each one's time, since a larger
    graph runs its nodes slower on real devices. ``graph_limit`` is the number of live
    executables at which capturing fails.
    """

    launch_us: float = 8.0
    replay_us: float = 5.0
    empty_us: float = 1.5
    growth: Callable[[int], float] = lambda calls: 1.0
    graph_limit: int = 2048
    tells_empty: bool = True
    memory: int = 80 << 30


@dataclass(slots=True)
class _State:
    """A generator's state, shared by every generator that was set to it."""

    seed: int = 0
    offset: int = 0
    capturing: bool = False


class FakeStream:
    """A stream: an identity, nothing more, since the device runs one thing at a time."""

    def __init__(self, device: FakeDevice) -> None:
        self.stream_id = device.next_stream()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FakeStream) and other.stream_id == self.stream_id

    def __hash__(self) -> int:
        return hash(self.stream_id)


class FakeGenerator:
    """The device's random numbers, as torch's generators count them."""

    def __init__(self, device: FakeDevice, state: _State | None = None) -> None:
        self.device = device
        self.state = state or _State()

    def graphsafe_get_state(self) -> FakeGenerator:
        """A handle on the same state."""
        return FakeGenerator(self.device, self.state)

    def graphsafe_set_state(self, other: FakeGenerator) -> None:
        """Use *other*'s state from now on."""
        self.state = other.state

    def clone_state(self) -> FakeGenerator:
        """A generator with a state of its own, equal to this one's."""
        return FakeGenerator(self.device, _State(self.state.seed, self.state.offset))

    def get_state(self) -> tuple[int, int]:
        """Seed and offset, as a copy."""
        return self.state.seed, self.state.offset

    def set_state(self, state: tuple[int, int]) -> None:
        """Set seed and offset; the mark of an aborted capture stays, as on real devices."""
        self.state.seed, self.state.offset = state


class FakeDevice:
    """One device and its clock."""

    def __init__(self, script: Script | None = None) -> None:
        self.script = script or Script()
        self.host_us = 0.0
        self.busy_us = 0.0
        self.launches = 0
        self.replays = 0
        self.live_graphs = 0
        self.allocated_bytes = 0
        self.allocations = 0
        self.dead = ""
        self.capture: FakeGraph | None = None
        self._streams = 0
        self.default = FakeStream(self)
        self.current = self.default
        self.generator = FakeGenerator(self)

    def next_stream(self) -> int:
        """Number streams from 0, the default one."""
        self._streams += 1
        return self._streams - 1

    def check(self) -> None:
        """A dead context answers everything with its error."""
        if self.dead:
            raise FakeDeviceError(self.dead)

    def run(self, length_us: float) -> None:
        """Queue work of *length_us* on the device."""
        self.busy_us = max(self.host_us, self.busy_us) + length_us

    def kernel(self, length_us: float, stream: FakeStream | None = None) -> None:
        """Launch a kernel on *stream*, the current one by default."""
        self.check()
        stream = stream or self.current
        if self.capture is None:
            self.launches += 1
            self.host_us += self.script.launch_us
            self.run(length_us)
        elif stream == self.capture.stream:
            self.capture.nodes.append(length_us)
        else:
            # Autograd's case: the forward ran elsewhere, and its stream is not captured.
            self.capture.broken = True
            raise FakeDeviceError(f"CUDA error: {INVALIDATED}")

    def synchronize(self) -> None:
        """Wait for the device; forbidden while capturing."""
        self.check()
        if self.capture is not None:
            self.capture.broken = True
            raise FakeDeviceError(f"CUDA error: {CAPTURING}")
        self.host_us = max(self.host_us, self.busy_us)

    def random(self) -> int:
        """Draw a number by a kernel of 2 us."""
        state = self.generator.state
        if state.capturing and self.capture is None:
            raise FakeDeviceError(POISONED)
        self.kernel(2.0)
        state.offset += 4
        return hash((state.seed, state.offset))

    def allocate(self, size: int) -> None:
        """Take *size* bytes and give them back, as a call that drops its result does."""
        self.check()
        if self.capture is not None:
            self.capture.taken += size
            if self.capture.taken > self.script.memory:
                self.capture.broken = True
                raise FakeDeviceError("CUDA out of memory.")
        self.allocated_bytes += size
        self.allocations += 1

    def kill(self, message: str = DEAD) -> None:
        """The context is dead from now on."""
        self.dead = message


@dataclass(eq=False)
class FakeGraph:
    """What a capture recorded. The interface's graph class derives from it."""

    device: FakeDevice
    nodes: list[float] = field(default_factory=list)
    stream: FakeStream | None = None
    broken: bool = False
    taken: int = 0
    _state: _State | None = None
    _live: bool = False

    def capture_begin(self, *args: Any, **options: Any) -> None:
        """Start recording the current stream."""
        device = self.device
        device.check()
        if device.current == device.default:
            raise FakeDeviceError("Cannot capture on the default stream.")
        if device.capture is not None:
            raise FakeDeviceError(f"CUDA error: {CAPTURING}")
        self.stream, self._state = device.current, device.generator.state
        self._state.capturing = True
        device.capture = self

    def capture_end(self) -> None:
        """Stop recording. After a broken capture the generator stays marked."""
        device = self.device
        device.capture = None
        device.check()
        if self.broken:
            raise FakeDeviceError(f"CUDA error: {INVALIDATED}")
        if self._state is not None:
            self._state.capturing = False
        if device.live_graphs >= device.script.graph_limit:
            raise FakeDeviceError("out of resources: too many graph executables")
        device.live_graphs += 1
        self._live = True
        if not self.nodes and device.script.tells_empty:
            warnings.warn("The CUDA Graph is empty.", UserWarning, stacklevel=2)

    def replay(self) -> None:
        """Queue all nodes at once."""
        device = self.device
        device.check()
        if not self._live:
            raise FakeDeviceError("replay before a capture ended well")
        device.replays += 1
        device.host_us += device.script.replay_us
        factor = device.script.growth(len(self.nodes))
        device.run(device.script.empty_us + sum(self.nodes) * factor)

    def reset(self) -> None:
        """Free the executable."""
        if self._live:
            self._live = False
            self.device.live_graphs -= 1


class FakeEvent:
    """A mark in the device's queue."""

    def __init__(self, device: FakeDevice) -> None:
        self._device = device
        self._at: float | None = None

    def record(self) -> None:
        """Mark the end of what is queued now."""
        self._device.check()
        self._at = max(self._device.host_us, self._device.busy_us)

    def elapsed_time(self, end: FakeEvent) -> float:
        """Milliseconds between two marks that the device has passed."""
        self._device.check()
        if self._at is None or end._at is None or end._at > self._device.host_us:
            raise FakeDeviceError("both events must be recorded and complete")
        return (end._at - self._at) / 1e3
