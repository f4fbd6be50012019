"""The common row, fast: one pattern over the log's bytes, and rows filled in slot by slot.

A log of 10,000 rows is read in a few hundredths of a second only if a row costs a few
microseconds, so rows of today's layout whose cells all are plain numbers take this road.
Anything else (another layout, an escape sequence, a wrap, a doubt) takes the ordinary one,
and both give equal rows, which is tested.
"""

from __future__ import annotations

import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from flagkit.compare.sizes import normalise_dtype, normalise_op, value_key
from flagkit.model import Row, RowKey, Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flagkit.model import Regime
    from flagkit.parsers.stream import Lines

# A cell ends at a fixed column, so the point's place tells whether a digit is lost. A blank
# between digits is left to float(), but in the speedup, which is not kept.
_MS = rb"[ \d]{12}\d\.\d{6}"
_NUMBER = rb"[ \d]{15}\d\.\d{3}"

FAST_ROW = re.compile(
    rb"SUCCESS   ("
    + _MS
    + rb"| {17}N/A)("
    + _MS
    + rb")(?:(?= *\d+\.)"
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


def _draft_of(fact: type) -> type[Any]:
    """A class with the slots of *fact*, not frozen: its objects can be made into facts.

    The constructor of a frozen dataclass sets each field through a call. Filling in a draft
    and giving it its class costs a tenth of that. Nothing is skipped but checks that
    :data:`FAST_ROW` made.
    """
    slots = tuple(field.name for field in fields(fact))
    return type(f"_{fact.__name__}Draft", (), {"__slots__": slots})


_KeyDraft, _RowDraft, _SourceDraft = _draft_of(RowKey), _draft_of(Row), _draft_of(Source)


class FastRows:
    """Rows of one table: its operator, dtype, mode, level and regime are the same for all."""

    def __init__(
        self, *, op: str, dtype: str, mode: str, level: str, regime: Regime, file: str
    ) -> None:
        self._op, self._dtype = normalise_op(op), normalise_dtype(dtype)
        self._mode, self._level, self._regime = mode, level, regime
        self._file = file

    def read(self, lines: Lines) -> Iterator[Row | re.Match[bytes]]:
        """The rows that come next in *lines*; a match where one has to be looked at closer."""
        op, dtype, file = self._op, self._dtype, self._file
        mode, level, regime = self._mode, self._level, self._regime
        for found in lines.matching(FAST_ROW):
            baseline, latency, tflops, baseline_gbps, gbps, detail = found.groups()
            text = detail.decode("ascii")
            size_key = value_key(text)
            row = _RowDraft()
            try:
                row.latency_ms = latency_ms = float(latency)
                row.baseline_ms = None if baseline[-1] == _LAST_OF_NA else float(baseline)
                row.tflops = float(tflops) if tflops else None
                row.baseline_gbps = float(baseline_gbps) if baseline_gbps else None
                row.gbps = float(gbps) if gbps else None
            except ValueError:
                yield found
                continue
            if size_key is None or latency_ms <= 0:
                yield found
                continue
            row.key = key = _KeyDraft()
            key.op, key.dtype, key.size_key, key.node = op, dtype, size_key, ""
            key.occurrence = 0
            key.__class__ = RowKey
            row.source = source = _SourceDraft()
            source.file, source.line = file, lines.number
            source.__class__ = Source
            row.status, row.size_detail = "ok", text
            row.mode, row.level, row.regime = mode, level, regime
            row.samples_ms = row.flags = ()
            row.plan = row.inputs = row.certificate = None
            row.call = row.reason = ""
            row.__class__ = Row
            yield row


_LAST_OF_NA = ord("A")
