"""Puts the session in the place of Triton's timers, with their signatures kept."""

from __future__ import annotations

import functools
import inspect
import statistics
from typing import TYPE_CHECKING, Any

from flagkit.agent.timing import Latency

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType

    from flagkit.agent.session import Session, Timed

RETURN_MODES = ("min", "max", "mean", "median", "all")
"""What Triton's timers know; ``all`` since 3.2."""


def patch_triton_testing(
    module: ModuleType, session: Session, in_tuner: Callable[[], bool]
) -> None:
    """Replace ``do_bench`` and ``do_bench_cudagraph`` of ``triton.testing``.

    A call from inside a tuner, or from inside a call that is being timed, goes to the
    original: a tuner compares its candidates by its own clock, on both sides alike. Where
    a graph cannot be captured, both fall back to the original ``do_bench``, and so does
    the fixture ``flagkit_bench``.
    """
    do_bench = getattr(module, "do_bench", None)
    if do_bench is not None:
        session.fallback = lambda fn, grads: all_samples(
            do_bench, {"fn": fn, "grad_to_none": grads or None}
        )
    for name in ("do_bench", "do_bench_cudagraph"):
        original = getattr(module, name, None)
        if original is not None:
            setattr(module, name, _timed(original, do_bench, session, in_tuner))


def _timed(
    original: Callable[..., Any],
    fallback: Callable[..., Any] | None,
    session: Session,
    in_tuner: Callable[[], bool],
) -> Callable[..., Any]:
    signature = inspect.signature(original)

    @functools.wraps(original)
    def timed_bench(*args: Any, **kwargs: Any) -> Any:
        if session.busy or in_tuner():
            return original(*args, **kwargs)
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        asked = bound.arguments
        check_answer(asked.get("quantiles"), asked.get("return_mode") or "mean")
        timed = session.time(
            asked["fn"],
            grad_to_none=asked.get("grad_to_none") or (),
            original_all=None if fallback is None else lambda: all_samples(fallback, asked),
        )
        return answer(timed, asked.get("quantiles"), asked.get("return_mode") or "mean")

    return timed_bench


def all_samples(do_bench: Callable[..., Any], asked: Mapping[str, Any]) -> list[float]:
    """Every sample of the original ``do_bench``, in ms; its median alone before Triton 3.2,
    which gives no more."""
    known = inspect.signature(do_bench).parameters
    left_out = ("quantiles", "return_mode")
    given = {n: v for n, v in asked.items() if n in known and n not in left_out}
    try:
        return [float(ms) for ms in do_bench(**given, return_mode="all")]
    except AssertionError:
        return [float(do_bench(**given, return_mode="median"))]


def check_answer(quantiles: Sequence[float] | None, return_mode: str) -> None:
    """Raise what the original would for an answer that cannot be given, before any timing."""
    if return_mode not in RETURN_MODES:
        raise AssertionError(f"return_mode is one of {', '.join(RETURN_MODES)}")
    if not all(0 <= q <= 1 for q in quantiles or ()):
        raise ValueError("quantiles are between 0 and 1")


def answer(timed: Timed, quantiles: Sequence[float] | None, return_mode: str) -> Any:
    """What ``do_bench`` would return for the samples, in ms.

    A single number carries its call's id.
    """
    samples = timed.measurement.samples_ms
    if quantiles is not None:
        if not samples:
            found = [float("nan")] * len(quantiles)
        else:
            found = [quantile(samples, q) for q in quantiles]
        return Latency(found[0], timed.call) if len(found) == 1 else found
    if return_mode == "all":
        return list(samples)
    latency = timed.latency
    if return_mode in ("min", "max") and samples:
        value = min(samples) if return_mode == "min" else max(samples)
        return Latency(value, timed.call)
    if return_mode == "mean" and samples:
        return Latency(statistics.fmean(samples), timed.call)
    return latency


def quantile(samples: Sequence[float], q: float) -> float:
    """The *q*-quantile by linear interpolation, as ``torch.quantile`` defines it."""
    ordered = sorted(samples)
    place = q * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
