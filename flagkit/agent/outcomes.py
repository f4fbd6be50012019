"""What a device's timed call came to: regimes, measurements, and errors in one line."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from flagkit.agent.timing import Measurement
from flagkit.model import Regime, is_latency

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from flagkit.model import Plan

PROTOCOL = "flagkit-device-1"
ORIGINAL_PROTOCOL = "triton-do_bench"


def graph_regime() -> Regime:
    """Every graph row's: replays leave in the L2 what the call before used."""
    return Regime(requested="graph", resolved="graph", cache="hot", protocol=PROTOCOL)


def event_regime(requested: str, reason: str = "", phase: str = "") -> Regime:
    """How Triton's ``do_bench`` times: it clears the L2 before each call."""
    return Regime(
        requested=requested,
        resolved="event",
        cache="cold",
        fallback_reason=reason,
        phase=phase,
        protocol=ORIGINAL_PROTOCOL,
    )


def measured(regime: Regime, plan: Plan | None, samples: Sequence[float]) -> Measurement:
    """A row of *samples* in ms, invalid where they show no time."""
    times = tuple(float(each) for each in samples)
    if not times or not is_latency(statistics.median(times)):
        return Measurement(
            regime=regime,
            status="invalid",
            samples_ms=times,
            plan=plan,
            reason="the device's events show no time",
        )
    return Measurement(regime=regime, samples_ms=times, plan=plan)


def no_work(regime: Regime) -> Measurement:
    """A call that launches nothing has no latency."""
    return Measurement(
        regime=regime,
        status="no-device-work",
        reason="the captured graph is empty: the call launches nothing on the device",
    )


def chain(exc: BaseException) -> Iterator[BaseException]:
    """*exc* and everything it came from, each once."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [exc]
    while waiting:
        each = waiting.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            yield each
            waiting += [each.__cause__, each.__context__]


def told(error: BaseException) -> str:
    """What *error* is and says, in one line."""
    return one_line(f"{type(error).__name__}: {error}", 500)


def only_refused(exc: BaseException, interface: Any) -> bool:
    """Whether torch's allocator refused memory on a device that goes on working.

    Its error is of a class of its own; a driver's, whose text is much the same, is not.
    """
    if not any(type(each).__name__ == "OutOfMemoryError" for each in chain(exc)):
        return False
    try:
        interface.synchronize()
    except Exception:
        return False
    return True


def one_line(text: str, limit: int = 300) -> str:
    """*text* without line breaks, control characters or endless length."""
    folded = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return folded if len(folded) <= limit else folded[: limit - 3] + "..."
