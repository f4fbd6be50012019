"""How often a call is captured, replayed and timed: pure rules over timed replays.

Times are milliseconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

WINDOW_MS = 10.0
"""Shortest window between two device events, so that an event's step (32 ns to 1 us,
measured) is at most 0.01 % of it."""

WARMUP_MS = 30.0
"""How long replays run before the first window: clocks and caches."""

MIN_WINDOWS, MAX_WINDOWS = 5, 15
LEAST_WINDOWS = 3
TOTAL_MS = 3000.0
"""A call so slow that :data:`MIN_WINDOWS` windows exceed this gets fewer, not under 3."""

UNROLL = 32
"""Calls in one graph. Latency depends on it (the same kernel: 1.97 us at 32 calls a graph,
5.53 us at 512, measured), so that it is one number for all but slow and large calls."""

MAX_ALLOCATIONS = 4096
"""In one graph: each is bookkeeping in the graph's private pool."""

MARGIN = 1.1
"""Windows are planned this much longer, since clocks still rise after the estimate."""

NODE_MS = 0.0002
"""No device was seen to finish a kernel of a graph in under 0.2 us (H200: about 1 us)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """What one call takes from the device's memory; 0 where the interface does not tell.

    ``free`` is what a graph could still get, in bytes like ``per_call``.
    """

    per_call: int = 0
    allocations: int = 0
    free: int = 0


def choose_unroll(call_ms: float, footprint: Footprint, window_ms: float = WINDOW_MS) -> int:
    """Calls a graph: :data:`UNROLL`, or the largest smaller power of two that fits.

    A graph must not outlast a window, take more than half of the free memory even if none
    of it is reused, or hold more than :data:`MAX_ALLOCATIONS` allocations. A call longer
    than half a window is alone in its graph.
    """
    limits = [float(UNROLL)]
    if call_ms > 0:
        limits.append(window_ms / call_ms)
    if footprint.per_call and footprint.free:
        limits.append(footprint.free / 2 / footprint.per_call)
    if footprint.allocations:
        limits.append(MAX_ALLOCATIONS / footprint.allocations)
    most = min(limits)
    unroll = UNROLL
    while unroll > 1 and unroll > most:
        unroll //= 2
    return unroll


def replays_for(length_ms: float, replay_ms: float) -> int:
    """How many replays last *length_ms*, at least one."""
    if replay_ms <= 0:
        return 1
    return max(1, math.ceil(length_ms / replay_ms))


def window_limits(window_ms: float) -> tuple[int, int]:
    """The fewest and the most windows of *window_ms* that :data:`TOTAL_MS` allows."""
    fit = int(TOTAL_MS / max(window_ms, 1.0))
    return max(LEAST_WINDOWS, min(MIN_WINDOWS, fit)), max(LEAST_WINDOWS, min(MAX_WINDOWS, fit))


def looks_empty(replay_ms: float, unroll: int, floor_ms: float | None) -> bool:
    """Whether a replay is so short that its graph may be empty; to be confirmed by growth.

    *floor_ms* is one replay of an empty graph on this device, None where that is not
    known. It is a constant (launching), while every call with work adds its own.
    """
    if replay_ms < unroll * NODE_MS:
        return True
    return floor_ms is not None and replay_ms < 3 * floor_ms + unroll * NODE_MS


def grows(short_ms: float, long_ms: float, more_calls: int) -> bool:
    """Whether *more_calls* further calls in a graph made its replay longer."""
    return long_ms - short_ms > more_calls * NODE_MS
