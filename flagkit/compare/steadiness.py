"""Whether the windows of a pair's rows agree well enough for its speedup.

A row's latency is the median of its windows. Where these lie far apart (a clock that still falls
under load, another process on the same cores) the median is as uncertain as they are, and a
speedup of that size says little. One that is many times as large stands all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from flagkit.model import Row

UNSTEADY_PERCENT = 1.0
"""How far apart the middle half of a row's windows may lie, in per cent of their median. On
one NVIDIA H200, 4 of 648 rows of steady operators lay further apart, the worst 1.4 %, and 7 of 28
rows of ``mm``, whose large sizes run into the power limit while they are measured."""

SHARE = 0.1
"""A speedup stands while that uncertainty is no more than this share of it."""

FEWEST = 4
"""Fewer windows have no middle half."""


def unsteady(before: Row, after: Row) -> bool:
    """Whether a side's windows lie further apart than the pair's speedup allows for."""
    spread = widest_percent((before, after))
    if spread <= UNSTEADY_PERCENT or not before.latency_ms or not after.latency_ms:
        return False
    ratio = before.latency_ms / after.latency_ms
    return spread * ratio > SHARE * abs(ratio - 1) * 100


def widest_percent(rows: Iterable[Row]) -> float:
    """The largest spread of *rows*; 0 where none is known."""
    spreads = (spread_percent(row.samples_ms) for row in rows)
    return max((spread for spread in spreads if spread is not None), default=0.0)


def spread_percent(samples: Sequence[float]) -> float | None:
    """The interquartile range of *samples* in per cent of their median; None where unknown."""
    if len(samples) < FEWEST:
        return None
    ordered = sorted(samples)
    low, middle, high = (_quantile(ordered, share) for share in (0.25, 0.5, 0.75))
    return (high - low) / middle * 100 if middle > 0 else None


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
