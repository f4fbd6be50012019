"""Rows out of FlagGems' ``BenchmarkResult`` as JSON: record logs and JSON reports share it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from flagkit.compare.sizes import normalise_dtype
from flagkit.model import UNKNOWN, Damaged, Source
from flagkit.parsers.regimes import kept_mode, regime_of_mode
from flagkit.parsers.rows import make_row, measured

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from flagkit.model import Regime, Row

_decoder = json.JSONDecoder()


def decode(text: str, start: int = 0) -> tuple[Any, int]:
    """The JSON value at *start* and where it ends; raises ``ValueError`` if there is none."""
    try:
        return _decoder.raw_decode(text, start)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def is_result(value: object) -> bool:
    """Whether *value* is one operator's result for one dtype."""
    return isinstance(value, dict) and "op_name" in value and isinstance(value.get("result"), list)


def rows_of(
    result: Mapping[str, Any], source: Source, regimes: Mapping[str, Regime] | None = None
) -> Iterator[Row | Damaged]:
    """The rows of one ``BenchmarkResult``."""
    op, dtype, level = (_text(result.get(name)) for name in ("op_name", "dtype", "level"))
    mode = kept_mode(_text(result.get("mode")))
    for item in result["result"]:
        if not isinstance(item, dict) or not ("latency" in item or "shape_detail" in item):
            yield Damaged(
                text=json.dumps(item)[:500], reason="it is not a row's record", source=source
            )
            continue
        error = item.get("error_msg")
        latency = measured(shown := item.get("latency"))
        if error is not None:
            reason = " ".join(str(error).split())[:500]
        else:
            reason = (
                f"no number: {shown[:100]!r}" if latency is None and isinstance(shown, str) else ""
            )
        yield make_row(
            op=op,
            dtype=normalise_dtype(dtype),
            size_detail=_detail(item),
            latency_ms=latency,
            baseline_ms=measured(item.get("latency_base")),
            tflops=measured(item.get("tflops")) or None,
            gbps=measured(item.get("gbps")),
            baseline_gbps=measured(item.get("gbps_base")),
            failed=error is not None,
            reason=reason,
            mode=mode,
            level=level or UNKNOWN,
            regime=(regimes or {}).get(op) or regime_of_mode(mode),
            source=source,
        )


def _detail(item: Mapping[str, Any]) -> object:
    detail = item.get("shape_detail")
    return item.get("legacy_shape") if detail is None else detail


def _text(value: object) -> str:
    return "" if value is None else str(value)
