"""Follows a Markdown text line by line and makes rows of its tables."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flagkit.model import Damaged, Note, Source
from flagkit.parsers.markdown_cells import cells_of, is_closed, is_elision, is_rule
from flagkit.parsers.markdown_columns import columns_of, is_sub_header
from flagkit.parsers.markdown_context import Context
from flagkit.parsers.markdown_rows import (
    LOST,
    Line,
    Table,
    filled,
    in_section,
    is_cut,
    is_group_line,
    problem_of,
)
from flagkit.parsers.regimes import regime_of_mode
from flagkit.parsers.rows import make_row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flagkit.model import Row
    from flagkit.parsers.markdown_columns import Columns

MAX_ROW = 1 << 16
"""Characters of a line that are looked at; a longer one is cut, and no row."""

MAX_TEXT = 500
"""Characters of a damaged line that are kept."""


def kind_of(header: str, below: str) -> str:
    """What a table is by its header and the line below the rule.

    ``latencies``, ``refused`` where it holds some that cannot be read, or empty.
    """
    columns = columns_of(cells_of(header))
    if columns is None:
        return "latencies" if is_sub_header(cells_of(below)) else ""
    return "refused" if columns.refused else "latencies"


class TableReader:
    """Reads one text line by line: its headings, and the table that is open."""

    def __init__(self, source: str) -> None:
        self._file = source
        self._context = Context()
        self._table: Table | None = None
        self._header: Line | None = None
        self._held: Line | None = None
        self._gap = False
        self.table = 0
        """The number of the table of the row given last."""

    def take(self, text: str, line: int, *, whole: bool = True) -> Iterator[Row | Damaged]:
        """Take note of one line. *whole*: it ends with a line feed."""
        text, whole = text[:MAX_ROW], whole and len(text) <= MAX_ROW
        if "|" not in text or text.startswith(("# ", "##", "<summary", "<details")):
            yield from self._flush()
            self._between(text)
        elif is_rule(text):
            yield from self._ruled(text)
        elif self._is_prose(text):
            yield from self._flush()
            self._context.feed(text)
        else:
            yield from self._flush()
            yield from self._barred(text, line, whole=whole)

    def finish(self) -> Iterator[Row | Damaged | Note]:
        """What is left when the text ends."""
        last, table = self._held, self._table
        if last is not None and table is not None and is_cut(last, table):
            where = Source(file=self._file, line=last.number)
            yield Note(code="incomplete", text="the text ends in mid-row", source=where)
        yield from self._flush()

    def _between(self, text: str) -> None:
        if self._table is not None and (self._gap or self._context.ends_table(text)) and text:
            self._table = None
        self._gap = not text
        self._header = None
        self._context.feed(text)

    def _is_prose(self, text: str) -> bool:
        """Whether a line with bars, below a table's rows, is none of them."""
        table = self._table
        if table is None or not table.opened or text.startswith("|"):
            return False
        return not (is_closed(text) and text.count("|") > 1)

    def _ruled(self, text: str) -> Iterator[Row | Damaged]:
        held = self._held
        if held is None:
            return
        columns = columns_of(held.cells, self._context.op, self._context.unit)
        if columns is None and self._table is not None and self._fits(held):
            # A line between two rows, as text grids have it.
            yield from self._flush()
            return
        self._held, self._header = None, held
        closed = is_closed(held.text)
        if columns and (LOST in held.text or (closed and text[0] == "|" != held.text[0])):
            columns = replace(columns, refused="part of its table's labels is lost")
        self._open(columns, held, closed=closed and is_closed(text))

    def _open(self, columns: Columns | None, header: Line, *, closed: bool) -> None:
        self._table = None
        if columns is not None:
            self.table += 1
            self._table = Table(
                columns=columns,
                place=self._context.open_table(),
                opened=header.text.startswith("|"),
                closed=closed,
                above=[],
                op=self._context.op,
                dtype=self._context.dtype,
                mode=self._context.mode,
                level=self._context.level,
            )

    def _barred(self, text: str, line: int, *, whole: bool) -> Iterator[Row | Damaged]:
        cells = cells_of(text)
        header, self._header = self._header, None
        if header is not None and is_sub_header(cells):
            columns = columns_of(cells, self._context.op, self._context.unit, header.cells)
            self._open(columns, header, closed=is_closed(header.text) and is_closed(text))
            return
        self._held = Line(text=text, number=line, cells=cells, after_gap=self._gap, whole=whole)
        self._gap = False
        yield from ()

    def _flush(self) -> Iterator[Row | Damaged]:
        """Read the line that was held back: no rule follows, so it is a row."""
        line, table = self._held, self._table
        self._held = None
        if line is None or table is None:
            return
        if line.after_gap and not self._fits(line):
            self._table = None
            return
        yield from self._rows(line, table)

    def _fits(self, line: Line) -> bool:
        assert self._table is not None
        columns = self._table.columns
        if len(line.cells) != columns.count:
            return False
        try:
            for measure in columns.measures:
                measure.latency(line.cells)
        except ValueError:
            return False
        return True

    def _rows(self, line: Line, table: Table) -> Iterator[Row | Damaged]:
        columns, cells = table.columns, line.cells
        if not any(cells) or is_elision(cells) or columns.is_summary(cells):
            return
        if problem := problem_of(line, table) or columns.refused:
            table.lost = True
            yield self._damaged(line, problem)
            return
        if is_group_line(table, cells):
            return
        try:
            cells = filled(table, cells)
        except ValueError as error:
            yield self._damaged(line, str(error))
            return
        for measure in columns.measures:
            try:
                latency = measure.latency(cells)
                baseline = measure.baseline(cells)
            except ValueError as error:
                yield self._damaged(line, str(error))
                continue
            size = columns.size(cells, measure.group)
            row = make_row(
                op=columns.op(cells) or table.op,
                dtype=columns.dtype(cells) or measure.dtype or table.dtype,
                size_detail=f"{size} group={table.group}".strip() if table.group else size,
                latency_ms=latency,
                baseline_ms=baseline,
                failed=columns.failed(cells),
                mode=table.mode,
                level=table.level,
                regime=regime_of_mode(table.mode),
                source=Source(file=self._file, line=line.number),
            )
            yield in_section(row, table.place.of(row.key.op, row.key.dtype))

    def _damaged(self, line: Line, reason: str) -> Damaged:
        where = Source(file=self._file, line=line.number)
        return Damaged(text=line.text[:MAX_TEXT], reason=reason, source=where)
