"""FlagGems' printed tables, every version since 2024-05.

A title names operator, dtype, mode and level; a column line and a line of dashes follow;
then one line a row. What else a benchmark's process prints stands between them, and is
passed over. pytest's own lines say whether the run ended well.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flagkit import hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from flagkit.model import Damaged, Note, Row

_ONE_OF = (b"Performance Test", b"Latency (ms)", b"SUCCESS", b"FAILED", b"Operator_Speedup")
"""No table is without one of these; looking for them is quick."""

_ROWS = re.compile(
    rb"^[^|\n]{0,80}(?:Operator_Speedup_Test_Result\t|(?:Status|Size) .{0,40}Latency \(ms\))"
    rb"|^(?:\x1b\[[0-9;]*m)*(?:SUCCESS|FAILED)(?:\x1b\[[0-9;]*m)* +(?:\d+\.\d{6}|N/A|nan) ",
    re.MULTILINE,
)
_PASTED = re.compile(rb"^(?:N/A|[\d(\[][^\n]{0,60}) {3,}[ \d.N]", re.MULTILINE)
PASTED_WITHIN = 64
"""Lines in which a row has to stand that was pasted without anything above it."""

_TITLE = re.compile(rb"Performance Test \((?:torch\.|dtype=)")


class TableParser:
    """Reads FlagGems' printed tables."""

    name = "flaggems-table"
    summary = "FlagGems' printed tables, as in a benchmark's run.log"

    def claims(self, head: bytes, path: Path) -> bool:
        """Whether a column line or a row stands in *head*, or a title above no Markdown table."""
        if b"\xa0" in head:
            # A web page's blanks, which a copy has kept.
            head = head.replace(b"\xc2\xa0", b" ")
        if not any(text in head for text in _ONE_OF):
            return _PASTED.search(head) is not None and _is_pasted(head)
        if _ROWS.search(head):
            return True
        return _TITLE.search(head) is not None and not _is_markdown(head)

    def parse(self, lines: Iterable[bytes], source: str) -> Iterator[Row | Damaged | Note]:
        """Read a log; skips fast where *lines* is a :class:`flagkit.parsers.stream.Lines`."""
        from flagkit.parsers.table_reader import TableReader

        return TableReader(source).read(lines)


def _is_markdown(head: bytes) -> bool:
    from flagkit.parsers.markdown import kind_in

    return bool(kind_in(head))


def _is_pasted(head: bytes) -> bool:
    from flagkit.parsers.dirt import shown
    from flagkit.parsers.layouts import layout_of_row

    first = head.split(b"\n", PASTED_WITHIN)[:PASTED_WITHIN]
    return any(layout_of_row(text) for line in first for text in shown(line))


@hookimpl
def flagkit_parser() -> TableParser:
    """FlagGems' printed tables."""
    return TableParser()
