"""The device's timer: windows of replays of a captured graph between device events.

Launches of the host are never timed on the graph path. Where a call cannot be captured,
the benchmark's own timer is used and the row says so; a dead device is raised.
"""

from __future__ import annotations

import contextlib
import itertools
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flagkit.agent.budget import (
    MARGIN,
    MIN_WINDOWS,
    UNROLL,
    WARMUP_MS,
    WINDOW_MS,
    Footprint,
    choose_unroll,
    grows,
    looks_empty,
    replays_for,
    window_limits,
)
from flagkit.agent.capture import Captured, Capturer
from flagkit.agent.memory import allocated, footprint
from flagkit.agent.outcomes import (
    PROTOCOL,
    chain,
    event_regime,
    graph_regime,
    measured,
    no_work,
    one_line,
    only_refused,
)
from flagkit.agent.streams import test_stream
from flagkit.agent.timing import Measurement, TimedCall, steady
from flagkit.model import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from flagkit.model import Regime

__all__ = ["DeviceTimer", "test_stream"]

FALLBACK_MARK = "BENCHMARK_DIRECT_NO_CUDAGRAPH"

HOST_CALLS = 3
"""Plain calls before the first capture: compilation, tuning, lazily made handles."""

PROBE_REPLAYS = 4
"""Replays of the graph of one call, on both sides alike; the first is not timed."""

LONGER = 8
"""How many times longer the second graph is that confirms a suspicion of no device work."""


class _NotPossibleError(Exception):
    """The graph path ends in *phase*; the device is alive."""

    def __init__(self, phase: str, reason: str) -> None:
        super().__init__(reason)
        self.phase = phase
        self.reason = one_line(reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class _EmptyGraph:
    """What an empty graph is like here: whether the vendor's stack tells, and its replay."""

    told: bool
    replay_ms: float | None


class DeviceTimer:
    """Times calls on one device interface, by graph replays or by the original timer.

    :param interface: the module Triton's driver names; only what it offers is used.
    :param graph_class: the class ``flagkit_graph_class`` gave; None: no graphs here.
    :param requested: ``graph`` or ``event`` (the benchmark's own ``do_bench``).
    :param is_fatal: the backend's rule for a dead context.
    :param emit: where fallback lines go, one line each.
    """

    protocol = PROTOCOL

    def __init__(
        self,
        interface: Any,
        graph_class: type | None,
        *,
        requested: str = "graph",
        is_fatal: Callable[[BaseException], bool],
        emit: Callable[[str], None],
        warmup_ms: float = WARMUP_MS,
        window_ms: float = WINDOW_MS,
    ) -> None:
        self._interface = interface
        self._capturer = Capturer(interface, graph_class)
        self._requested = requested
        self._is_fatal = is_fatal
        self._emit = emit
        self._warmup_ms = warmup_ms
        self._window_ms = window_ms
        self._empty: _EmptyGraph | None = None

    def measure(self, call: TimedCall, plan: Plan | None) -> Measurement:
        """Time *call* by *plan*, or decide one where it is None.

        Raises what the call raised in its first run, what the original timer raised, or a
        dead device's error.
        """
        if self._requested == "event":
            return self._by_original(call, event_regime("event"))
        lacking = self._capturer.lacking()
        if lacking:
            return self._fall_back(call, "capture", lacking)
        try:
            with self._phase("sync"):
                self._interface.synchronize()  # inputs may be in flight on another stream
                stream = self._capturer.side_stream()
            with stream:
                return self._by_graph(call, plan)
        except _NotPossibleError as exc:
            return self._fall_back(call, exc.phase, exc.reason)

    def _by_graph(self, call: TimedCall, plan: Plan | None) -> Measurement:
        call.run()
        with self._phase("sync"):
            self._interface.synchronize()
        empty = self._empty_graph()
        with self._phase("warmup"):
            taken = self._warm(call)
        with self._captured(call, 1) as probe:
            call_ms = self._replay_ms(probe, PROBE_REPLAYS)
            if probe.told_empty:
                return no_work(graph_regime())
        unroll = plan.unroll if plan else choose_unroll(call_ms, taken, self._window_ms)
        with self._captured(call, unroll) as graph:
            done, samples = self._windows(graph, unroll, plan)
        replay_ms = statistics.median(samples) * unroll
        if not empty.told and self._is_empty(call, replay_ms, unroll, empty.replay_ms):
            return no_work(graph_regime())
        return measured(graph_regime(), done, samples)

    def _warm(self, call: TimedCall) -> Footprint:
        """Further plain calls; the last shows what one call takes from the memory."""
        for _ in range(HOST_CALLS - 2):
            call.run()
        before = allocated(self._interface)
        call.run()
        taken = footprint(self._interface, before)
        self._interface.synchronize()
        return taken

    @contextlib.contextmanager
    def _captured(self, call: TimedCall, unroll: int) -> Iterator[Captured]:
        """A graph of *unroll* calls, released at the end whatever happens."""

        def calls() -> None:
            for _ in range(unroll):
                call.run()

        with self._phase("capture"):
            graph = self._capturer.capture(calls)
        try:
            with self._phase("replay"):
                yield graph
        finally:
            graph.release()

    def _windows(self, graph: Captured, unroll: int, plan: Plan | None) -> tuple[Plan, list[float]]:
        """Warm up by replays, then take the plan's windows or decide how many.

        A replayed plan goes the very way it was decided, event for event and wait for wait:
        on one H200 a 3.7 us kernel was 3.4 % slower in every process that decided.
        """
        issued = HOST_CALLS + PROBE_REPLAYS
        first = self._replay_ms(graph, 2)
        if plan is None:
            half = replays_for(self._warmup_ms / 2, first)
        else:
            half = max(1, ((plan.warmup - issued) // unroll - 2) // 2)
        self._timed(graph, half, 1)
        replay_ms = self._timed(graph, half, 1)[0] / half
        if plan is None:
            warmup = issued + unroll * (2 + 2 * half)
            replays, windows = replays_for(self._window_ms * MARGIN, replay_ms), 1
            taken = Plan(warmup=warmup, unroll=unroll, replays=replays, windows=windows)
            least, most = window_limits(replay_ms * replays)
        else:
            taken, most = plan, plan.windows
            least = min(MIN_WINDOWS, plan.windows)
        samples = _samples(self._timed(graph, taken.replays, least), taken)
        while len(samples) < most and (plan is not None or not steady(samples)):
            samples += _samples(self._timed(graph, taken.replays, 1), taken)
        return _with_windows(taken, len(samples)), samples

    def _replay_ms(self, graph: Captured, replays: int) -> float:
        """One replay, from all but the first of *replays* in a row."""
        graph.replay()
        return self._timed(graph, replays - 1, 1)[0] / (replays - 1)

    def _timed(self, graph: Captured, replays: int, windows: int) -> list[float]:
        """Lengths of adjoining windows of *replays*, all queued before any is waited for."""
        marks = [self._interface.Event(enable_timing=True) for _ in range(windows + 1)]
        marks[0].record()
        for mark in marks[1:]:
            for _ in range(replays):
                graph.replay()
            mark.record()
        self._interface.synchronize()
        return [float(start.elapsed_time(end)) for start, end in itertools.pairwise(marks)]

    def _empty_graph(self) -> _EmptyGraph:
        """Learn once what a graph without work is like on this device.

        torch says so when such a capture ends, which settles every later graph exactly.
        Elsewhere the time of its replay is the floor that later ones are held against.
        """
        if self._empty is None:
            told, floor = False, None
            with contextlib.suppress(_NotPossibleError):
                with self._phase("capture"):
                    graph = self._capturer.capture(lambda: None)
                try:
                    with self._phase("replay"):
                        told = graph.told_empty
                        floor = min(self._replay_ms(graph, UNROLL) for _ in range(3))
                finally:
                    graph.release()
            self._empty = _EmptyGraph(told=told, replay_ms=floor)
        return self._empty

    def _is_empty(
        self, call: TimedCall, replay_ms: float, unroll: int, floor_ms: float | None
    ) -> bool:
        """Whether the graph did nothing: short, and no longer with more calls in it.

        Shortness alone would depend on how fast this host launches; growth does not.
        """
        if not looks_empty(replay_ms, unroll, floor_ms):
            return False
        more = max(unroll, UNROLL) * LONGER  # a few calls hide behind the launch of their graph
        with self._captured(call, more) as graph:
            longer_ms = min(self._replay_ms(graph, PROBE_REPLAYS) for _ in range(3))
        return not grows(replay_ms, longer_ms, more - unroll)

    @contextlib.contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        """Turn an error into the end of the graph path, unless the device is dead."""
        try:
            yield
        except _NotPossibleError:
            raise
        except Exception as exc:
            dead = next((each for each in chain(exc) if self._is_fatal(each)), None)
            if dead is not None and not only_refused(exc, self._interface):
                if dead is exc:
                    raise
                raise dead from exc
            raise _NotPossibleError(name, f"{type(exc).__name__}: {exc}") from exc

    def _fall_back(self, call: TimedCall, phase: str, reason: str) -> Measurement:
        reason = one_line(reason)
        op = "_".join(call.op.split()) or "unknown"
        self._emit(f"{FALLBACK_MARK} op={one_line(op)} phase={phase} reason={reason}")
        return self._by_original(call, event_regime("graph", reason, phase))

    def _by_original(self, call: TimedCall, regime: Regime) -> Measurement:
        if call.original_all is None:
            cause = f"{regime.phase}: {regime.fallback_reason}; " if regime.fell_back else ""
            reason = f"{cause}no timer of events is loaded (triton.testing.do_bench)"
            return Measurement(regime=regime, status="failed", reason=reason)
        return measured(regime, None, call.original_all())


def _samples(lengths: Sequence[float], plan: Plan) -> list[float]:
    return [length / (plan.replays * plan.unroll) for length in lengths]


def _with_windows(plan: Plan, windows: int) -> Plan:
    return Plan(warmup=plan.warmup, unroll=plan.unroll, replays=plan.replays, windows=windows)
