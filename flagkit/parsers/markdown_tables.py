"""Follows a Markdown text line by line and makes rows of its tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flagkit.model import Damaged, Source
from flagkit.parsers.markdown_columns import Columns, cells_of, columns_of, is_sub_header
from flagkit.parsers.markdown_context import Context
from flagkit.parsers.regimes import regime_of_mode
from flagkit.parsers.rows import make_row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flagkit.model import Row

_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)+\|?\s*")
_SUMMARY_ROW = re.compile(
    r"(?:geo\w*|average|avg|mean|total|overall|median|max|min)\b.*", re.IGNORECASE
)


def has_latencies(header: str, below: str) -> bool:
    """Whether the columns of a table are latencies, by its header and the line below the rule."""
    return columns_of(cells_of(header), Context()) is not None or is_sub_header(cells_of(below))


class TableReader:
    """Reads one text line by line: its headings, and the table that is open."""

    def __init__(self, source: str) -> None:
        self._file = source
        self._context = Context()
        self._header: list[str] = []
        self._columns: Columns | None = None
        self._fresh = False

    def take(self, text: str, line: int) -> Iterator[Row | Damaged]:
        """Take note of one line."""
        if "|" not in text:
            self._header, self._columns = [], None
            self._context.feed(text)
            return
        if _RULE.fullmatch(text) and self._header:
            self._columns = columns_of(self._header, self._context)
            self._fresh = True
            return
        cells = cells_of(text)
        if not self._fresh and self._columns is None:
            self._header = cells
            return
        if self._fresh and is_sub_header(cells):
            self._columns = columns_of(cells, self._context, groups=self._header)
        elif self._columns is not None:
            yield from self._rows(cells, text, line)
        self._fresh = False
        if self._columns is None:
            self._header = cells

    def _rows(self, cells: list[str], text: str, line: int) -> Iterator[Row | Damaged]:
        columns, where = self._columns, Source(file=self._file, line=line)
        assert columns is not None
        if not any(cells) or any(_SUMMARY_ROW.fullmatch(one) for one in columns.labels(cells)):
            return
        if len(cells) != columns.count:
            reason = f"it has {len(cells)} cells in a table of {columns.count} columns"
            yield Damaged(text=text[:500], reason=reason, source=where)
            return
        for measure in columns.measures:
            try:
                latency = measure.latency(cells)
                baseline = measure.baseline(cells)
            except ValueError as problem:
                yield Damaged(text=text[:500], reason=str(problem), source=where)
                continue
            yield make_row(
                op=columns.op(cells) or self._context.op,
                dtype=columns.dtype(cells) or measure.dtype or self._context.dtype,
                size_detail=columns.size(cells, measure.group),
                latency_ms=latency,
                baseline_ms=baseline,
                failed=columns.failed(cells),
                mode=self._context.mode,
                level=self._context.level,
                regime=regime_of_mode(self._context.mode),
                source=where,
            )
