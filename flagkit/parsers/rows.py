"""From the cells of a row to a :class:`flagkit.model.Row`: what every parser shares."""

from __future__ import annotations

import math
import re

from flagkit.compare.sizes import normalise_dtype, normalise_op, size_key
from flagkit.model import UNKNOWN, Inputs, Plan, Regime, Row, RowKey, Source, status_of

_NUMBER = re.compile(
    r"\s*[+-]?(?:\d{1,40}(?:\.\d{0,40})?(?:[eE][+-]?\d{1,3})?|nan|inf|infinity)\s*",
    re.ASCII | re.IGNORECASE,
)

UNKNOWN_REGIME = Regime()
"""One for all rows of which nothing is told: what is the same need not be compared."""


def number(text: str) -> float | None:
    """A cell's number; None for ``N/A``. The caller has checked that it is one."""
    return None if text == "N/A" else float(text)


def measured(value: object) -> float | None:
    """A number out of JSON, or text that is one; None for anything that is none.

    FlagGems writes what JSON cannot hold as text: a scalar of NumPy becomes its digits. One
    that is shown rounded, as ``tensor(0.2500)`` is, is none.
    """
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


def make_row(
    *,
    op: str,
    dtype: str,
    size_detail: object,
    latency_ms: float | None,
    source: Source,
    key: str | None = None,
    baseline_ms: float | None = None,
    tflops: float | None = None,
    gbps: float | None = None,
    baseline_gbps: float | None = None,
    failed: bool = False,
    reason: str = "",
    mode: str = UNKNOWN,
    level: str = UNKNOWN,
    regime: Regime = UNKNOWN_REGIME,
    node: str = "",
    samples_ms: tuple[float, ...] = (),
    plan: Plan | None = None,
    call: str = "",
    inputs: Inputs | None = None,
    flags: tuple[str, ...] = (),
) -> Row:
    """A row with its key made canonical and its status ruled by its latency.

    :param size_detail: as printed, or a value out of JSON.
    :param key: the detail's canonical form where the caller has it already.
    """
    if key is None:
        key = size_key(size_detail)
    status = status_of(latency_ms, failed)
    if not reason and status != "ok":
        reason = _why(latency_ms, failed)
    return Row(
        key=RowKey(
            op=normalise_op(op) or UNKNOWN,
            dtype=normalise_dtype(dtype) or UNKNOWN,
            size_key=key,
            node=node,
        ),
        status=status,
        size_detail=size_detail if isinstance(size_detail, str) else key,
        latency_ms=latency_ms,
        baseline_ms=baseline_ms,
        tflops=tflops,
        gbps=gbps,
        baseline_gbps=baseline_gbps,
        mode=mode,
        level=level,
        regime=regime,
        samples_ms=samples_ms,
        plan=plan,
        call=call,
        inputs=inputs,
        flags=flags,
        reason=reason,
        source=source,
    )


def _why(latency_ms: float | None, failed: bool) -> str:
    if failed:
        return "the log marks it FAILED"
    if latency_ms is None:
        return "no latency"
    if latency_ms == 0:
        return "a latency of 0: too short for the log's digits"
    return f"a latency of {latency_ms:g}"
