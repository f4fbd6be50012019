"""The common row, fast: one pattern over the log's bytes, and rows built from a template.

A log of 10,000 rows is read in a few hundredths of a second only if a row costs a few
microseconds, so rows of today's layout whose cells all are plain numbers take this road.
Anything else (another layout, an escape sequence, a wrap, a doubt) takes the ordinary one,
and both give equal rows, which is tested.
"""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from flagkit.compare.sizes import normalise_dtype, normalise_op, value_key
from flagkit.model import Row, RowKey, Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from flagkit.model import Regime

# A cell ends at a fixed column, so the point's place tells whether a digit is lost.
_MS = rb"(?= *\d+\.)([ \d]{13}\.\d{6}"
_NUMBER = rb"(?= *\d+\.)[ \d]{16}\.\d{3}"

FAST_ROW = re.compile(
    rb"SUCCESS   "
    + _MS
    + rb"| {17}N/A)"
    + _MS
    + rb")(?:"
    + _NUMBER
    + rb"| {17}N/A)("
    + _NUMBER
    + rb")?(?:("
    + _NUMBER
    + rb")("
    + _NUMBER
    + rb"))? {10}([\[({][ -~]*[\])}])\r?\n"
)
"""Baseline, latency, TFLOPS, baseline GBPS, GBPS, size detail of a row of T5."""


@lru_cache(maxsize=8)
def _setters(cls: type) -> dict[str, Callable[[object, object], None]]:
    """How to set each slot of *cls*.

    The constructor of a frozen dataclass looks each field up by name; setting the slots
    costs a third of that. Nothing is skipped but checks that :data:`FAST_ROW` made.
    """
    return {f.name: vars(cls)[f.name].__set__ for f in fields(cls)}


class FastRows:
    """Rows of one table: its operator, dtype, mode, level and regime are the same for all."""

    def __init__(
        self, *, op: str, dtype: str, mode: str, level: str, regime: Regime, file: str
    ) -> None:
        self._key = _constants(
            RowKey, op=normalise_op(op), dtype=normalise_dtype(dtype), size_key=""
        )
        self._file = file
        self._row = _constants(
            Row,
            key=None,
            status="ok",
            size_detail="",
            mode=mode,
            level=level,
            regime=regime,
            source=None,
        )

    def row(self, found: re.Match[bytes], line: int) -> Row | None:
        """The row of a match of :data:`FAST_ROW`; None if it has to be looked at closer."""
        baseline, latency, tflops, baseline_gbps, gbps, detail = found.groups()
        text = detail.decode("ascii")
        size_key = value_key(text)
        latency_ms = float(latency)
        if size_key is None or latency_ms <= 0:
            return None
        key: RowKey = _new(RowKey)
        for set_slot, value in self._key:
            set_slot(key, value)
        _KEY["size_key"](key, size_key)
        source: Source = _new(Source)
        _SOURCE["file"](source, self._file)
        _SOURCE["line"](source, line)
        row: Row = _new(Row)
        for set_slot, value in self._row:
            set_slot(row, value)
        _set_key(row, key)
        _set_source(row, source)
        _set_detail(row, text)
        _set_latency(row, latency_ms)
        if baseline[-1] != 65:  # the A of N/A
            _set_baseline(row, float(baseline))
        if tflops:
            _ROW["tflops"](row, float(tflops))
        if gbps:
            _ROW["baseline_gbps"](row, float(baseline_gbps))
            _ROW["gbps"](row, float(gbps))
        return row


def _constants(cls: type, **given: Any) -> tuple[tuple[Callable[[object, object], None], Any], ...]:
    """Every slot of *cls* with the value that rows of a table share, or its default."""
    setters = _setters(cls)
    values = {f.name: given.get(f.name, f.default) for f in fields(cls)}
    if MISSING in values.values():
        raise TypeError(f"{cls.__name__} has a field without a value")
    return tuple((setters[name], value) for name, value in values.items())


_new = object.__new__
_KEY, _SOURCE, _ROW = _setters(RowKey), _setters(Source), _setters(Row)
_set_key, _set_source, _set_detail = _ROW["key"], _ROW["source"], _ROW["size_detail"]
_set_latency, _set_baseline = _ROW["latency_ms"], _ROW["baseline_ms"]
