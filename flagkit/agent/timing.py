"""What timing one call gives, and the host's timer."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

from flagkit.model import Plan, Regime

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flagkit.model import RowStatus

WINDOW_MS = 10.0
"""Shortest window between two clock readings. Event timers step by 32 ns to 1 us and the
host's by less, so that a step is under 0.01 % of a window."""

SHORT_WINDOW_MS = 1.0
"""A window under this is told: a timer's step of 1 us is more than 0.1 % of it, and what
starts a window is no longer small."""

WARMUP_MS = 50.0
"""How long the host warms up before a plan is decided: caches, frequency, lazy imports."""

MIN_WINDOWS, MAX_WINDOWS = 10, 20
MARGIN, MOST_TRIES = 1.1, 5
"""Windows are planned this much longer. Where the first is too short all the same, since calls
have become faster, it counts as warm-up and a longer one is tried, so often at most."""

STEADY = 0.005
"""Windows are added until the median's half-samples agree within this fraction, or the cap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedCall:
    """One request to time *fn*.

    ``grad_to_none`` are tensors whose gradient is dropped before each call.
    ``original_all`` times *fn* the way the benchmark's own timer would and gives its samples
    in ms; None where there is no such timer. ``op`` is for messages.
    """

    fn: Callable[[], Any]
    op: str = ""
    node: str = ""
    grad_to_none: Sequence[Any] = ()
    original_all: Callable[[], Sequence[float]] | None = None

    def run(self) -> None:
        """Call *fn* once, gradients dropped before: a backward must not accumulate."""
        for tensor in self.grad_to_none:
            tensor.grad = None
        self.fn()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What came of a timed call. ``samples_ms`` has one entry a window."""

    regime: Regime
    status: RowStatus = "ok"
    samples_ms: tuple[float, ...] = ()
    plan: Plan | None = None
    reason: str = ""

    @property
    def latency_ms(self) -> float | None:
        """The median sample; None where nothing was timed."""
        return statistics.median(self.samples_ms) if self.samples_ms else None

    @property
    def short_windows(self) -> bool:
        """Whether a window was far shorter than planned: the other side was so much slower."""
        if self.plan is None or self.latency_ms is None:
            return False
        return self.latency_ms * self.plan.unroll * self.plan.replays < SHORT_WINDOW_MS


class Timer(Protocol):
    """Times one call. Raises only what *fn* raised in its first call, or a dead device."""

    def measure(self, call: TimedCall, plan: Plan | None) -> Measurement:
        """Time *call* by *plan*, or decide one where it is None."""
        ...


class Latency(float):
    """A latency in ms that knows which timed call it came from.

    It is what a benchmark gets back from its timer. Arithmetic gives a plain ``float``,
    so a number that was averaged or converted no longer claims to be one call's.
    """

    __slots__ = ("call",)

    call: str

    def __new__(cls, value: float, call: str | None = None) -> Latency:
        """A number of ms that belongs to the timed call *call*.

        Without one it is a plain float: ``statistics.mean`` makes what it found of the type
        of what it was given.
        """
        if call is None:
            return cast("Latency", float(value))
        self = super().__new__(cls, value)
        self.call = call
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy as itself: results are deep-copied into dictionaries by some benchmarks."""
        return (Latency, (float(self), self.call))


class HostTimer:
    """Times by the host's monotonic clock, for backends without a device interface.

    :param clock: nanoseconds, :func:`time.perf_counter_ns` unless a test scripts it.
    """

    protocol = "flagkit-host-1"

    def __init__(
        self,
        clock: Callable[[], int] = time.perf_counter_ns,
        *,
        warmup_ms: float = WARMUP_MS,
        window_ms: float = WINDOW_MS,
    ) -> None:
        self._clock = clock
        self._warmup_ms = warmup_ms
        self._window_ms = window_ms

    @property
    def regime(self) -> Regime:
        """Every host row's: back-to-back calls, caches as the calls before left them."""
        return Regime(requested="host", resolved="host", cache="hot", protocol=self.protocol)

    def measure(self, call: TimedCall, plan: Plan | None) -> Measurement:
        """Time *call* in windows of back-to-back calls."""
        fn = call.run if call.grad_to_none else call.fn
        if plan is None:
            plan, samples = self._decide(fn)
        else:
            self._run(fn, plan.warmup)
            samples = [self._window(fn, plan) for _ in range(plan.windows)]
        return Measurement(regime=self.regime, samples_ms=tuple(samples), plan=plan)

    def _decide(self, fn: Callable[[], Any]) -> tuple[Plan, list[float]]:
        warmup, per_call_ms = self._warm(fn)
        replays = self._fitting(per_call_ms)
        length_ms, tries = self._run(fn, replays), 1
        while length_ms < self._window_ms and tries < MOST_TRIES:
            warmup += replays  # no window: too short
            replays = self._fitting(length_ms / replays)
            length_ms, tries = self._run(fn, replays), tries + 1
        samples = [length_ms / replays]
        plan = Plan(warmup=warmup, unroll=1, replays=replays, windows=MAX_WINDOWS)
        while len(samples) < MAX_WINDOWS:
            samples.append(self._window(fn, plan))
            if len(samples) >= MIN_WINDOWS and steady(samples):
                break
        return Plan(warmup=warmup, unroll=1, replays=replays, windows=len(samples)), samples

    def _fitting(self, per_call_ms: float) -> int:
        return max(1, round(self._window_ms * MARGIN / max(per_call_ms, 1e-6)))

    def _warm(self, fn: Callable[[], Any]) -> tuple[int, float]:
        """Warm up by time; calls made, and ms of one.

        Each run of calls is twice as long as the one before, and the last is the estimate:
        the first calls are slow, and a clock read after each call would count as part of it.
        """
        calls, times, spent_ms = 0, 1, 0.0
        while True:
            length_ms = self._run(fn, times)
            calls, spent_ms = calls + times, spent_ms + length_ms
            if spent_ms >= self._warmup_ms:
                return calls, length_ms / times
            times *= 2

    def _window(self, fn: Callable[[], Any], plan: Plan) -> float:
        return self._run(fn, plan.replays) / plan.replays

    def _run(self, fn: Callable[[], Any], times: int) -> float:
        """Length in ms of so many back-to-back calls."""
        numbers = range(times)
        start = self._clock()
        for _ in numbers:
            fn()
        return (self._clock() - start) / 1e6


def steady(samples: Sequence[float]) -> bool:
    """Whether both halves of *samples* have nearly the same median."""
    middle = len(samples) // 2
    one, other = statistics.median(samples[:middle]), statistics.median(samples[middle:])
    return abs(one - other) <= STEADY * max(one, other)
