"""Tables in the text of pull requests and reports.

People make these by hand and by scripts: brackets escaped, sizes in back quotes,
``torch.Size`` dropped, an ``x`` behind a speedup, the dtype in a column, in a column's
label or in a heading, microseconds instead of milliseconds. A table counts only where its
columns say which latency is whose, and in which unit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flagkit import hookimpl
from flagkit.parsers.dirt import plain, shown
from flagkit.parsers.stream import as_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from flagkit.model import Damaged, Note, Row

_RULE = b"|:- \t>\r"
"""What the line between a table's labels and its rows is made of."""


class MarkdownParser:
    """Reads Markdown tables."""

    name = "markdown"
    summary = "tables in pull-request text and Markdown reports"

    def claims(self, head: bytes, path: Path) -> bool:
        """Whether a Markdown table with latencies stands in *head*."""
        above = b""
        lines = iter(head.split(b"\n"))
        for line in lines:
            header, above = above, line
            if b"-" not in line or b"|" not in line or line.translate(None, _RULE):
                continue
            # Most logs get no further, so what reads the columns is loaded here.
            from flagkit.parsers.markdown_tables import has_latencies

            above = next(lines, b"")
            if has_latencies(plain(header).lstrip(" >"), plain(above).lstrip(" >")):
                return True
        return False

    def parse(self, lines: Iterable[bytes], source: str) -> Iterator[Row | Damaged | Note]:
        """Read every table whose columns are understood."""
        from flagkit.parsers.markdown_tables import TableReader

        reader = TableReader(source)
        stream = as_lines(lines)
        for raw in stream:
            for text in shown(raw):
                yield from reader.take(text.strip().lstrip("> "), stream.number)


@hookimpl
def flagkit_parser() -> MarkdownParser:
    """Tables in pull-request text."""
    return MarkdownParser()
