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
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from flagkit.model import Damaged, Note, Row
    from flagkit.parsers.markdown_tables import TableReader
    from flagkit.parsers.stream import Lines

_RULE = b"|+:=- \t>\r"
"""What the line between a table's labels and its rows is made of."""


def kind_in(head: bytes) -> str:
    """What the Markdown tables in *head* are at best: ``latencies``, ``refused`` or empty."""
    above, best = b"", ""
    lines = iter(head.split(b"\n"))
    for line in lines:
        header, above = above, line
        if not (b"|" in line or b"+" in line) or line.translate(None, _RULE):
            continue
        # Most logs get no further, so what reads the columns is loaded here.
        from flagkit.parsers.markdown_cells import is_rule, unwrapped
        from flagkit.parsers.markdown_tables import kind_of

        if not is_rule(unwrapped(plain(line))):
            continue
        above = next(lines, b"")
        kind = kind_of(unwrapped(plain(header)), unwrapped(plain(above)))
        if kind == "latencies":
            return kind
        best = best or kind
    return best


class MarkdownParser:
    """Reads Markdown tables."""

    name = "markdown"
    summary = "tables in pull-request text and Markdown reports"

    def claims(self, head: bytes, path: Path) -> bool:
        """Whether a Markdown table with latencies stands in *head*.

        One that cannot be read counts where FlagGems' own tables do not stand beside it.
        """
        kind = kind_in(head)
        return kind == "latencies" or (kind == "refused" and b"Performance Test" not in head)

    def parse(self, lines: Iterable[bytes], source: str) -> Iterator[Row | Damaged | Note]:
        """Read every table whose columns are understood.

        Rows come last: only the whole text tells whether two of its tables show one key.
        """
        from flagkit.model import UNKNOWN, Note, Row
        from flagkit.parsers.markdown_cells import unwrapped
        from flagkit.parsers.markdown_rows import marked
        from flagkit.parsers.markdown_tables import TableReader

        reader = TableReader(source)
        stream = as_lines(lines)
        rows: list[tuple[Row, int]] = []
        for fact in _facts(reader, stream, unwrapped):
            if isinstance(fact, Row):
                rows.append((fact, reader.table))
            else:
                yield fact
        untold = next((row for row, _ in rows if row.key.op == UNKNOWN), None)
        if untold:
            text = "rows of a table of which nothing tells the operator"
            yield Note(code="no-title", text=text, source=untold.source)
        yield from marked(rows)


def _facts(
    reader: TableReader, stream: Lines, unwrapped: Callable[[str], str]
) -> Iterator[Row | Damaged | Note]:
    for raw in stream:
        whole = raw.endswith((b"\n", b"\r"))
        for text in shown(raw):
            yield from reader.take(unwrapped(text), stream.number, whole=whole)
    yield from reader.finish()


@hookimpl
def flagkit_parser() -> MarkdownParser:
    """Tables in pull-request text."""
    return MarkdownParser()
