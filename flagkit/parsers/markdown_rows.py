"""An open Markdown table: which of its lines are rows, and what tells them apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flagkit.compare.sizes import value_key
from flagkit.model import SEVERAL_TABLES
from flagkit.parsers.markdown_cells import is_closed
from flagkit.parsers.markdown_labels import dtype_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flagkit.model import Row, RowKey
    from flagkit.parsers.markdown_columns import Columns
    from flagkit.parsers.markdown_context import Above

LOST = "\ufffd"
"""Stands where bytes were lost or are no text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line with bars: a header if a rule follows, else a row."""

    text: str
    number: int
    cells: list[str]
    after_gap: bool
    whole: bool
    """Whether it ends with a line feed."""


@dataclass(slots=True, kw_only=True)
class Table:
    """An open table."""

    columns: Columns
    place: Above
    opened: bool
    """Whether its lines begin with a bar."""
    closed: bool
    """Whether its lines end with a bar."""
    above: list[str]
    """The cells of the row before, for those left blank below it."""
    lost: bool = False
    """Whether the row before is damaged."""
    op: str
    dtype: str
    mode: str
    level: str
    group: str = ""


def is_cut(line: Line, table: Table) -> bool:
    """Whether the text ends within *line*."""
    if line.whole:
        return False
    if len(line.cells) < table.columns.count:
        return True
    return not is_closed(line.text) and (table.closed or table.columns.uses_last())


def problem_of(line: Line, table: Table) -> str:
    """Why a row cannot be read; empty if it can."""
    count = table.columns.count
    if LOST in line.text:
        return "part of it is lost"
    if table.opened and not line.text.startswith("|"):
        return "text stands before its first bar"
    if table.closed and not is_closed(line.text):
        return "it is cut before its last bar"
    if len(line.cells) != count:
        return f"it has {len(line.cells)} cells in a table of {count} columns"
    if is_cut(line, table):
        return "the text ends in it, so its last cell may be cut"
    return ""


def is_group_line(table: Table, cells: list[str]) -> bool:
    """Whether a line only names what the rows below it belong to; keeps it."""
    texts = [cell for cell in cells if cell]
    if len(texts) != 1 or len(cells) < 3 or value_key(texts[0]) is not None:
        return False
    (text,) = texts
    dtype = dtype_in(text)
    if "=" in text or text[0] in "0123456789([{":
        # A size whose latencies were never filled in.
        return False
    table.dtype = dtype or table.dtype
    table.group, table.above, table.lost = "" if dtype else text, [], False
    return True


def filled(table: Table, cells: list[str]) -> list[str]:
    """*cells* with those left blank from the left as in the row above, as readers take them.

    :raises ValueError: saying why the row has no name.
    """
    naming = table.columns.naming
    if not naming:
        return cells
    if not any(cells[at] for at in naming):
        raise ValueError("nothing in it names the row")
    whole = list(cells)
    for at, cell in enumerate(cells):
        if cell or at not in naming:
            break
        if table.lost:
            raise ValueError("it belongs to the row above, which is damaged")
        if table.above:
            whole[at] = table.above[at]
    table.above, table.lost = whole, False
    return whole


def in_section(row: Row, section: str) -> Row:
    """*row* with what tells its table from others."""
    if not section:
        return row
    more = f" section={section}"
    key = replace(row.key, size_key=(row.key.size_key + more).strip())
    return replace(row, key=key, size_detail=(row.size_detail + more).strip())


def marked(rows: list[tuple[Row, int]]) -> Iterator[Row]:
    """Rows of keys that several tables of the text show carry the flag :data:`SEVERAL_TABLES`.

    Which is which only the order of the tables would tell.

    :param rows: each with its table's number.
    """
    tables: dict[RowKey, int] = {}
    several = {row.key for row, table in rows if tables.setdefault(row.key, table) != table}
    for row, _ in rows:
        yield replace(row, flags=(*row.flags, SEVERAL_TABLES)) if row.key in several else row
