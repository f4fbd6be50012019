"""The event timer's step, read off a log's own latencies.

A timer that steps by 1.024 us shows a 4 us kernel as 4 or 5 steps: +25 % without any
cause. The step is not documented by the vendors and differs between driver versions
(NVIDIA 32 ns and 1.024 us, Moore Threads 20 to 40 ns were seen), so it is inferred.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flagkit.model import Row, RunLog

NS_PER_MS = 1_000_000

SHORTEST_NS, LONGEST_NS = 10, 4096
"""Steps looked for. Tables print six decimals of a millisecond, so that a step near 1 ns
cannot be told from rounding."""

LONGEST_LATENCY_MS = 8.0
"""Above it a float32 (what event timers return) no longer resolves 1 ns."""

FEWEST = 6
"""Distinct latencies needed: fewer are multiples of a common number by chance."""

KNOWN_NS = (1024, 32, 20)
"""Steps that were seen: NVIDIA's older and newer drivers, the finest of Moore Threads. Their
halves were not, so that few latencies tell them."""

CHANCE = 0.001
"""How likely latencies may be multiples of any other step by chance, where the timer steps by a
half of it. A step that is too long says of too many rows that the timer cannot tell them apart:
without this much evidence none is named."""

MOST = 256
"""Distinct latencies looked at, the shortest first: a step shows best in them."""

AT_ONCE = 1024
"""Latencies looked through for shorter ones at a time."""

ON_STEP, ON_HALF_STEP = 0.75, 0.95
"""Share of latencies that are multiples of the step, and of its half. The median of an even
number of samples lies between two steps; a few rows come from elsewhere."""


def infer_tick_ns(latencies_ms: Sequence[float]) -> int | None:
    """The largest step, in ns, that nearly all *latencies_ms* are multiples of.

    None where there are too few, or no common step, or none that stands out from its half.
    """
    return _step(_shortest(latencies_ms))


def _shortest(latencies_ms: Sequence[float | None]) -> list[int]:
    """The distinct latencies that are looked at, in ns.

    Found a part at a time: of all but the first few parts hardly any is short enough.
    """
    values: list[int] = []
    below = LONGEST_LATENCY_MS
    for start in range(0, len(latencies_ms), AT_ONCE):
        some = latencies_ms[start : start + AT_ONCE]
        found = {round(ms * NS_PER_MS) for ms in some if ms is not None and below > ms > 0}
        if found:
            values = sorted(found.union(values))[:MOST]
            if len(values) == MOST:
                below = min(below, values[-1] / NS_PER_MS)
    return values


def _step(values: Sequence[int], *, only_known: bool = False) -> int | None:
    if len(values) < FEWEST:
        return None
    for step in range(_longest(values), SHORTEST_NS - 1, -1):
        if (only_known and step not in KNOWN_NS) or not _fits(values, step):
            continue
        if step in KNOWN_NS or _chance(values, step) <= CHANCE:
            return step
    return None


def _chance(values: Sequence[int], step: int) -> float:
    """How likely so many of *values* are multiples of *step* if the timer steps by its half.

    Every other value is one then; of a timer that steps by a smaller part, fewer are.
    """
    off = sum(1 for value in values if value % step)
    ways = sum(math.comb(len(values), some) for some in range(off + 1))
    return math.ldexp(ways, -len(values))


class Ticks(NamedTuple):
    """Each side's step in ns; None where none was found."""

    before_ns: int | None = None
    after_ns: int | None = None

    @property
    def step_ms(self) -> float | None:
        """The larger step: what the two sides' difference is held against."""
        known = [step for step in (self.before_ns, self.after_ns) if step is not None]
        return max(known) / NS_PER_MS if known else None


def infer_ticks(before: RunLog, after: RunLog) -> Ticks:
    """Each side's step; both sides together where each alone tells too little.

    A row's two latencies are no two witnesses of a step: of both sides together only a step that
    was seen elsewhere is believed.
    """
    mine, other = (_shortest(_latencies(log)) for log in (before, after))
    found = Ticks(before_ns=_step(mine), after_ns=_step(other))
    if found.step_ms is None:
        both = _step(sorted({*mine, *other})[:MOST], only_known=True)
        return Ticks(before_ns=both, after_ns=both)
    return found


def within_one_tick(before: Row, after: Row, tick: float) -> bool:
    """Whether two ok rows differ by no more than *tick* ms: the timer cannot tell them apart.

    Rows of several samples are windows many steps long: never.
    """
    if len(before.samples_ms) > 1 or len(after.samples_ms) > 1:
        return False
    assert before.latency_ms is not None and after.latency_ms is not None
    # Half of the last printed decimal on each side.
    return abs(before.latency_ms - after.latency_ms) <= tick + 1.0 / NS_PER_MS


def _latencies(log: RunLog) -> list[float | None]:
    rows = [row for row in log.rows if row.status == "ok" and len(row.samples_ms) <= 1]
    return [*[row.latency_ms for row in rows], *[row.baseline_ms for row in rows]]


def _longest(values: Sequence[int]) -> int:
    """No step above it fits *values*.

    A step divides what both values of a pair have in common unless one of them is off it,
    so that at most as many pairs as values may be off can have less in common than a step.
    """
    common = sorted(map(math.gcd, values[::2], values[1::2]))
    return min(LONGEST_NS, common[_allowed_off(values)])


def _allowed_off(values: Sequence[int]) -> int:
    return int(len(values) * (1 - ON_STEP))


def _fits(values: Sequence[int], step: int) -> bool:
    allowed_off = _allowed_off(values)
    off = 0
    for value in values:
        if value % step:
            off += 1
            if off > allowed_off:
                return False
    half = step / 2
    on_half = sum(1 for value in values if min(value % half, half - value % half) < 0.75)
    return on_half >= ON_HALF_STEP * len(values) - 1
