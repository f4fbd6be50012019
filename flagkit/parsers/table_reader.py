"""Follows a log line by line: titles, column lines, rows, and what was meant to be one."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from flagkit.compare.sizes import normalise_op
from flagkit.model import Damaged, Note, Row, Source
from flagkit.parsers.cells import INNER, STARTED
from flagkit.parsers.dirt import plain, shown, text_of
from flagkit.parsers.layouts import read_row
from flagkit.parsers.legacy import remains
from flagkit.parsers.opentable import LOST, PATIENCE, OpenTable
from flagkit.parsers.regimes import kept_mode
from flagkit.parsers.remarks import Remarks
from flagkit.parsers.speedup_lines import PREFIX, SpeedupLines
from flagkit.parsers.stream import HOLE, as_lines
from flagkit.parsers.tablelines import CI_PREFIX, INDENT, WANTED
from flagkit.parsers.tablerows import TableRows
from flagkit.parsers.titles import is_cut_title, read_title
from flagkit.parsers.wrapped import Unproven, WrappedRow, may_go_on

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from flagkit.parsers.stream import Lines

TAIL_WITHIN = 4
"""Lines behind a cut row in which its end is taken to be its own."""

MAX_OVERWRITTEN = 1 << 16
"""Bytes of an overwritten line in which a row is looked for."""

MOST_HELD = 20_000
"""Facts kept back until a second wrapped row proves the first."""


class TableReader:
    """Reads one log: which table is open, and what is unfinished."""

    def __init__(self, source: str) -> None:
        self._file = source
        self._remarks = Remarks(source)
        self._speedups = SpeedupLines()
        self._table = OpenTable()
        self._rows = TableRows(source)
        self._pending_title = ""
        self._wrapped: WrappedRow | None = None
        self._unproven: Unproven | None = None
        self._widths: frozenset[int] = frozenset()
        self._untitled = False
        self._tail_due = 0
        self._close_due = False
        self._last = b"\n"
        self._line = self._damaged_at = self._row_at = 0

    def read(self, lines: Iterable[bytes]) -> Iterator[Row | Damaged | Note]:
        """Every fact of the log, in its order."""
        stream = as_lines(lines)
        each = iter(stream)
        yield from self._follow(stream, each)
        while (first := self._unproven) is not None:
            self._unproven = None
            facts = self._follow(stream, each)
            between = list(islice(facts, MOST_HELD))
            second = self._unproven
            if second is not None and first.widths & second.widths:
                self._widths, self._unproven = first.widths & second.widths, None
                yield from (first.row, *between, second.row)
                facts = self._follow(stream, each)
            else:
                why = "it is cut in its size detail"
                row = first.row
                yield Damaged(text=first.text[:500], reason=why, source=row.source, op=row.key.op)
                yield from between
            yield from facts

    def _follow(self, stream: Lines, each: Iterator[bytes]) -> Iterator[Row | Damaged | Note]:
        """What stands next in the log, up to a wrapped row that has to be proven."""
        for raw in each:
            self._last = raw
            self._line = stream.number
            for text in shown(raw):
                yield from self._take(text)
            if b"\r" in raw.rstrip(b"\r\n") and self._is_overwritten(raw):
                why = "another line was written over it"
                yield from self._damaged(plain(raw), why, self._line)
            if HOLE in raw and b"Performance Test" not in raw.rpartition(HOLE)[2]:
                self._table.lose_title()
            if self._unproven is not None:
                return
            if self._table.dashes and self._table.layout.today:
                yield from self._fast_rows(stream)
            near = self._table.patience > 0 or self._tail_due > 0 or self._close_due
            stream.wait_for(None if near else WANTED)
        yield from self._end(cut=not self._last.endswith(b"\n"))
        yield from self._remarks.end(shown(stream.ending)[-1], stream.number, self._row_at)

    def _is_overwritten(self, raw: bytes) -> bool:
        """Whether *raw* holds a row of which nothing was left to be seen."""
        if self._wrapped or self._line in (self._table.row_at, self._damaged_at):
            return False
        text = text_of(raw[:MAX_OVERWRITTEN])
        near = self._table.patience > 0 and not self._table.layout.status
        return INNER.search(text) is not None or (near and any(map(remains, text.split("\r"))))

    def _fast_rows(self, stream: Lines) -> Sequence[Row]:
        """The plain rows that stand next in a table of today's layout."""
        table, title = self._table, self._table.title
        if title is None or title == LOST or table.wrap or self._wrapped or self._close_due:
            return ()
        if table.left(stream.number + 1):
            return ()
        rows = self._rows.fast(title).read(stream)
        if rows:
            self._tail_due = 0
            self._row_at = stream.number
            table.row_seen(stream.number)
        return rows

    def _take(self, text: str) -> Iterator[Row | Damaged | Note]:
        if text[:1].isdigit() or "\t" in text:
            prefix = CI_PREFIX.match(text)
            text = text[prefix.end() :] if prefix else text
            # An editor or a pager may have put tabs in place of blanks.
            text = text if PREFIX in text else text.expandtabs()
        if self._wrapped is not None:
            taken = self._wrapped.takes(text, self._line)
            if not taken or self._wrapped.whole(self._table.layout):
                yield from self._unwrap(self._wrapped)
            if taken:
                return
        if STARTED.match(text) and self._table.layout.status and not self._table.wrap:
            yield from self._row(text, self._line)
        else:
            yield from self._other(text)

    def _other(self, text: str) -> Iterator[Row | Damaged | Note]:
        """Anything but a plain row of a table with a status column."""
        if self._pending_title or "Performance Test" in text:
            titled = yield from self._titled(text)
            if titled:
                return
        bare = INDENT.sub("", text, count=1)
        if self._table.header_seen(bare, self._line):
            return
        if not text:
            self._passed_over(text)
            return
        if self._table.is_row(bare, self._line):
            yield from self._begin_row(bare)
            return
        near = self._table.patience > 0 or self._tail_due > 0
        inner = len(INNER.findall(text))
        if inner or (near and self._table.is_rest_of_row(text)):
            yield from self._fragment(text, inner)
            return
        if self._table.is_cut_status(bare.strip(), self._line):
            self._table.row_seen(self._line)
            yield from self._damaged(text, "it is cut after its first letters", self._line)
            return
        if PREFIX in text:
            rows = self._speedups.take(text, Source(file=self._file, line=self._line))
            yield from self._damaged(text, rows, self._line) if isinstance(rows, str) else rows
            return
        self._passed_over(text)
        op = self._table.title.op if self._table.title else "an operator"
        if told := self._remarks.read(text, self._line, op):
            yield told
        # Unless the rest of a row follows: then the line is another process's.
        self._close_due = self._close_due or self._remarks.ended

    def _passed_over(self, text: str) -> None:
        self._table.foreign_seen(text, self._line)
        self._tail_due -= 1
        if self._close_due and self._tail_due <= 0:
            self._close()

    def _titled(self, text: str) -> Generator[Row | Note, None, bool]:
        """Read a title, in one line or in several that a terminal made of it."""
        joined = self._pending_title + text
        title = read_title(joined)
        if title is None and not self._pending_title and "Operator" in text and ")" not in text:
            self._pending_title = text
            self._table.patience = PATIENCE
            return True
        self._pending_title = ""
        title = title or read_title(text)
        if title is None:
            if not is_cut_title(joined):
                return False
            yield self._note("damaged-title", f"a table's title cannot be read: {joined[:200]!r}")
            title = LOST
        held, twice = self._rows.release(title)
        yield from held
        if twice:
            yield self._note("printed-twice", f"{title.op}: its table is printed in two layouts")
        self._table.begin(title)
        self._rows.begin(title, self._remarks.regime(title.op, kept_mode(title.mode)))
        self._close_due = False
        return True

    def _begin_row(self, text: str) -> Iterator[Row | Damaged | Note]:
        table = self._table
        if table.wrap:
            started = WrappedRow(text, self._line, table.wrap)
            if not started.whole(table.layout):
                self._wrapped = started
                return
        yield from self._row(text, self._line)

    def _row(self, text: str, line: int) -> Iterator[Row | Damaged | Note]:
        """Read one whole row, or say what is wrong with it."""
        if self._close_due or self._table.left(self._line):
            self._close()
        self._table.row_seen(self._line)
        title = self._table.title
        cells = read_row(text, self._table.layout)
        if isinstance(cells, str):
            if title not in (None, LOST) and self._is_wrapped(text, line):
                return
            yield from self._damaged(text, cells, line)
            if "Performance Test (" in text:
                yield from self._titled(text)
            return
        if title == LOST:
            yield from self._damaged(text, "the title of its table cannot be read", line)
            return
        if title is None and not self._untitled:
            self._untitled = True
            yield self._note("no-title", "rows without a table's title: op and dtype unknown")
        self._tail_due = 0
        self._row_at = self._line
        row = self._rows.make(cells, line)
        if self._table.layout.detail:
            yield row
        else:
            self._rows.hold(row)

    def _is_wrapped(self, text: str, line: int) -> bool:
        """Begin a row with *text* that a wide terminal may have wrapped in its size detail."""
        if self._wrapped is not None or self._table.wrap or not may_go_on(text, self._table.layout):
            return False
        self._wrapped = WrappedRow(text, line, None)
        return True

    def _unwrap(self, wrapped: WrappedRow) -> Iterator[Row | Damaged | Note]:
        """Read *wrapped*, to which nothing more belongs."""
        if wrapped.proven:
            self._wrapped = None
            yield from self._row(wrapped.text, wrapped.line)
            return
        (line, first), *others = wrapped.pieces
        cells = read_row(wrapped.text, self._table.layout)
        if not isinstance(cells, str):
            self._wrapped = None
            self._table.row_seen(self._line)
            self._row_at = self._line
            row = self._rows.make(cells, line)
            if wrapped.widths & self._widths:
                yield row
            else:
                self._unproven = Unproven(row, first, wrapped.widths)
            return
        here = self._line
        self._line = line
        yield from self._damaged(first, str(read_row(first, self._table.layout)), line)
        self._wrapped = None
        for self._line, text in others:
            yield from self._take(text)
        self._line = here

    def _damaged(self, text: str, why: str, line: int) -> Iterator[Damaged]:
        self._tail_due = TAIL_WITHIN
        self._damaged_at = self._line
        source = Source(file=self._file, line=line)
        # What stands behind a hole may be of another table.
        title = None if HOLE in self._last else self._table.title
        op = normalise_op(title.op) if title else ""
        for _ in range(max(1, len(INNER.findall(text)))):
            yield Damaged(text=text[:500], reason=why, source=source, op=op)

    def _fragment(self, text: str, inner: int) -> Iterator[Damaged]:
        """A row glued to something else, or the end of one whose beginning is elsewhere."""
        if not inner:
            self._close_due = False
            self._table.row_seen(self._line)
            if self._tail_due > 0:
                self._tail_due = 0
                return
        why = "another line is glued to it" if inner else "it is the end of a row without its start"
        yield from self._damaged(text, why, self._line)
        if not inner:
            self._tail_due = 0

    def _close(self) -> None:
        """The table is over: rows that come without a new title belong to no operator."""
        self._table.end()
        self._close_due = False
        self._rows.begin(None, self._remarks.regime_of_nobody())

    def _end(self, cut: bool) -> Iterator[Row | Damaged | Note]:
        if self._wrapped is not None:
            yield from self._unwrap(self._wrapped)
        elif cut and self._damaged_at != self._line and self._table.patience > 0:
            text = shown(self._last)[-1].strip()
            if self._table.is_cut_status(text, self._line) or self._table.may_be_cut(
                text, self._line
            ):
                yield from self._damaged(text, "it is cut after its first letters", self._line)
        yield from self._rows.release()[0]
        if cut and self._damaged_at == self._line:
            yield self._note("incomplete", "the log ends in mid-row")

    def _note(self, code: str, text: str) -> Note:
        return self._remarks.note(code, text, self._line)
