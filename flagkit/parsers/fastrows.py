"""The common row, fast: one pattern over the log's bytes, and rows filled in slot by slot.

A log of 10,000 rows is read in a few hundredths of a second only if a row costs a few
microseconds, so rows of today's layout whose cells all are plain numbers take this road.
Anything else (another layout, an escape sequence, a wrap, a doubt) takes the ordinary one,
and both give equal rows, which is tested.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from flagkit.compare.sizes import MAX_KEPT, normalise_dtype, normalise_op, read_value
from flagkit.drafts import draft_of
from flagkit.model import Row, RowKey, Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flagkit.model import Regime
    from flagkit.parsers.stream import Lines

# A cell ends at a fixed column, so the point's place tells whether a digit is lost. A blank
# between digits is left to float(), but in the speedup, which is not kept.
_MS = rb"[ \d]{12}\d\.\d{6}"
_NUMBER = rb"[ \d]{15}\d\.\d{3}"

FAST_ROW = re.compile(
    rb"^SUCCESS   ("
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
    + rb"))? {10}([\[({][ -~]*[\])}])\r?\n",
    re.MULTILINE,
)
"""Baseline, latency, TFLOPS, baseline GBPS, GBPS, size detail of a row of T5."""


_KeyDraft, _RowDraft, _SourceDraft = draft_of(RowKey), draft_of(Row), draft_of(Source)


class FastRows:
    """Rows of one table: its operator, dtype, mode, level and regime are the same for all."""

    def __init__(
        self, *, op: str, dtype: str, mode: str, level: str, regime: Regime, file: str
    ) -> None:
        self._keys = _keys(normalise_op(op), normalise_dtype(dtype))
        self._mode, self._level, self._regime = mode, level, regime
        self._file = file

    def read(self, lines: Lines) -> list[Row]:
        """The rows that come next in *lines*, up to one that has to be looked at closer."""
        rows: list[Row] = []
        for found in lines.matching(FAST_ROW):
            made = self._made(found, lines.number + 1)
            lines.take(found[: len(made)])
            rows += made
        return rows

    def _made(self, lines: Sequence[re.Match[bytes]], first: int) -> list[Row]:
        """The rows in *lines*, which are numbered from *first*."""
        keys, file = self._keys, self._file
        mode, level, regime = self._mode, self._level, self._regime
        rows: list[Row] = []
        for number, found in enumerate(lines, first):
            baseline, latency, tflops, baseline_gbps, gbps, detail = found.groups()
            text = detail.decode("ascii")
            key = keys[text]
            row = _RowDraft()
            try:
                row.latency_ms = latency_ms = float(latency)
                row.baseline_ms = None if baseline[-1] == _LAST_OF_NA else float(baseline)
                row.tflops = float(tflops) if tflops else None
                row.baseline_gbps = float(baseline_gbps) if baseline_gbps else None
                row.gbps = float(gbps) if gbps else None
            except ValueError:
                break
            if key is None or latency_ms <= 0:
                break
            row.key, row.size_detail = key, text
            row.source = source = _SourceDraft()
            source.file, source.line = file, number
            source.__class__ = Source
            row.mode, row.level, row.regime = mode, level, regime
            row.samples_ms = row.flags = ()
            row.plan = row.inputs = row.certificate = None
            row.call = row.reason = ""
            row.status = "ok"
            row.__class__ = Row
            rows.append(row)
        return rows


class _Keys(dict[str, "RowKey | None"]):
    """The keys of one operator's rows by their size details, made when they are asked for.

    None where a detail is no whole value.
    """

    def __init__(self, op: str, dtype: str) -> None:
        self._op, self._dtype = op, dtype

    def __missing__(self, detail: str) -> RowKey | None:
        size_key = read_value(detail)
        if size_key is None:
            return None
        key = _KeyDraft()
        key.op, key.dtype, key.size_key = self._op, self._dtype, size_key
        key.occurrence, key.node = 0, ""
        key.__class__ = RowKey
        if len(detail) < MAX_KEPT and len(self) < MOST_KEPT:
            self[detail] = key
        return key  # type: ignore[no-any-return]


@lru_cache(maxsize=1 << 10)
def _keys(op: str, dtype: str) -> _Keys:
    """Kept from one log to the next, since both of a comparison show the same sizes."""
    return _Keys(op, dtype)


MOST_KEPT = 1 << 15
"""Keys remembered of one operator and dtype."""

_LAST_OF_NA = ord("A")
