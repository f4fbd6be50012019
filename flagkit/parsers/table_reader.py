"""Follows a log line by line: titles, column lines, rows, and what was meant to be one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flagkit.model import Damaged, Note, Row, Source
from flagkit.parsers import pytest_output
from flagkit.parsers.cells import INNER, STARTED, TAIL
from flagkit.parsers.dirt import plain, shown, text_of
from flagkit.parsers.fastrows import FastRows
from flagkit.parsers.layouts import layout_of_row, read_row
from flagkit.parsers.legacy import STARTED as LEGACY_STARTED
from flagkit.parsers.legacy import remains
from flagkit.parsers.opentable import LOST, PATIENCE, OpenTable, WrappedRow
from flagkit.parsers.regimes import (
    FLAGKIT_LINE,
    OLDER_LINE,
    fallback_line,
    kept_mode,
    regime_line,
    regime_of_table,
)
from flagkit.parsers.rows import UNKNOWN_REGIME
from flagkit.parsers.speedup_lines import PREFIX, SpeedupLines
from flagkit.parsers.stream import HOLE, as_lines
from flagkit.parsers.tablelines import CI_PREFIX, INDENT, NATIVE, PROGRESS, WANTED
from flagkit.parsers.titles import is_cut_title, read_title

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from flagkit.model import Regime
    from flagkit.parsers.stream import Lines
    from flagkit.parsers.titles import Title

TAIL_WITHIN = 4
"""Lines behind a cut row in which its end is taken to be its own."""

MAX_OVERWRITTEN = 1 << 16
"""Bytes of an overwritten line in which a row is looked for."""


class TableReader:
    """Reads one log: which table is open, and what is unfinished."""

    def __init__(self, source: str) -> None:
        self._file = source
        self._session = pytest_output.Session(source)
        self._regimes: dict[str, Regime] = {}
        self._regime = UNKNOWN_REGIME
        self._table = OpenTable()
        self._fast: FastRows | None = None
        self._pending_title = ""
        self._wrapped: WrappedRow | None = None
        self._held: list[Row] = []
        self._untitled = False
        self._speedups = SpeedupLines()
        self._tail_due = 0
        self._close_due = False
        self._line = self._damaged_at = self._row_at = 0

    def read(self, lines: Iterable[bytes]) -> Iterator[Row | Damaged | Note]:
        """Every fact of the log, in its order."""
        stream = as_lines(lines)
        raw = b"\n"
        for raw in stream:
            self._line = stream.number
            for text in shown(raw):
                yield from self._take(text)
            if b"\r" in raw.rstrip(b"\r\n") and self._is_overwritten(raw):
                why = "another line was written over it"
                yield from self._damaged(plain(raw), why, self._line)
            if HOLE in raw and b"Performance Test" not in raw.rpartition(HOLE)[2]:
                self._table.lose_title()
            if self._table.dashes and self._table.layout.today:
                yield from self._fast_rows(stream)
            near = self._table.patience > 0 or self._tail_due > 0 or self._close_due
            stream.wait_for(None if near else WANTED)
        self._session.end(shown(stream.ending)[-1], stream.number, self._row_at)
        yield from self._end(cut=not raw.endswith(b"\n"), last=raw)

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
        if title is None or title == LOST or table.wrap or self._close_due:
            return ()
        if table.left(stream.number + 1):
            return ()
        if self._fast is None:
            self._fast = FastRows(
                op=title.op,
                dtype=title.dtype,
                mode=kept_mode(title.mode),
                level=title.level,
                regime=self._regime,
                file=self._file,
            )
        rows = self._fast.read(stream)
        if rows:
            self._tail_due = 0
            self._row_at = stream.number
            table.row_seen(stream.number)
        return rows

    def _take(self, text: str) -> Iterator[Row | Damaged | Note]:
        if text[:1].isdigit() or "\t" in text:
            prefix = CI_PREFIX.match(text)
            text = text[prefix.end() :] if prefix else text
        if self._wrapped is not None:
            wrapped = self._wrapped
            taken = wrapped.takes(text)
            if not taken or wrapped.whole(self._table.layout):
                self._wrapped = None
                yield from self._row(wrapped.text, wrapped.line)
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
            self._fast = None
            return
        if not text:
            self._passed_over(text)
            return
        if STARTED.match(bare) or self._is_legacy_row(bare):
            yield from self._begin_row(bare)
            return
        inner = len(INNER.findall(text))
        if inner or self._is_rest_of_row(text):
            yield from self._fragment(text, inner)
            return
        if self._table.expects_rows(self._line) and self._could_start_a_row(bare.strip()):
            self._table.row_seen(self._line)
            yield from self._damaged(text, "it is cut after its first letters", self._line)
            return
        if PREFIX in text:
            found = self._speedups.take(text, Source(file=self._file, line=self._line))
            if isinstance(found, str):
                yield from self._damaged(text, found, self._line)
            else:
                yield from found
            return
        self._passed_over(text)
        yield from self._remark(text)

    def _passed_over(self, text: str) -> None:
        self._table.foreign_seen(text, self._line)
        self._tail_due -= 1
        if self._close_due and self._tail_due <= 0:
            self._close()

    def _remark(self, text: str) -> Iterator[Note]:
        """Lines that are no row but say something about rows."""
        op = self._table.title.op if self._table.title else "an operator"
        if mark := fallback_line(text):
            yield mark
        elif FLAGKIT_LINE in text or OLDER_LINE in text:
            if line := regime_line(text):
                self._regimes[line.op] = line.regime
        elif native := NATIVE.search(text):
            yield self._note("no-baseline", f"{op}: no torch baseline: {native[1]}")
        elif "No benchmark results were collected" in text:
            yield self._note("incomplete", f"{op}: no benchmark results were collected")
        elif self._session.feed(text, self._line) or PROGRESS.fullmatch(text.strip()):
            # Unless the rest of a row follows: then the line is another process's.
            self._close_due = True

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
        yield from self._release(title)
        self._table.begin(title)
        self._fast, self._close_due = None, False
        self._regime = regime_of_table(self._regimes, title.op, kept_mode(title.mode))
        return True

    def _is_legacy_row(self, text: str) -> bool:
        """A row that begins with a size: only known as one within its table, or by its places."""
        table = self._table
        if table.patience <= 0 or not text:
            return False
        if table.layout.status:
            pasted = layout_of_row(text) if table.nothing_above else None
            table.layout = pasted or table.layout
            return pasted is not None
        if not isinstance(read_row(text, table.layout), str):
            return True
        return table.expects_rows(self._line) and LEGACY_STARTED.match(text) is not None

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
        where = Source(file=self._file, line=line)
        row = self._table.row_of(cells, self._regime, where)
        if self._table.layout.detail:
            yield row
        else:
            self._held.append(row)

    def _release(self, title: Title | None = None) -> Iterator[Row | Note]:
        """Let the rows of a table without size details go, unless *title* repeats them.

        One vendor's branch prints each table twice: in the first layout as it goes, then
        as today's.
        """
        held, self._held = self._held, []
        old = self._table.title
        if held and title and old and title[:2] == old[:2] and title.layout != old.layout:
            yield self._note("printed-twice", f"{title.op}: its table is printed in two layouts")
        else:
            yield from held

    def _damaged(self, text: str, why: str, line: int) -> Iterator[Damaged]:
        self._tail_due = TAIL_WITHIN
        self._damaged_at = self._line
        for _ in range(max(1, len(INNER.findall(text)))):
            source = Source(file=self._file, line=line)
            yield Damaged(text=text[:500], reason=why, source=source)

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
        self._regime = self._regimes.get("", UNKNOWN_REGIME)

    def _end(self, cut: bool, last: bytes) -> Iterator[Row | Damaged | Note]:
        if self._wrapped is not None:
            yield from self._row(self._wrapped.text, self._wrapped.line)
        elif cut and self._damaged_at != self._line and self._table.patience > 0:
            text = shown(last)[-1].strip()
            digits = text.isdecimal() and self._table.expects_rows(self._line)
            legacy = digits and not self._table.layout.status
            if legacy or (self._could_start_a_row(text) and not self._table.nothing_above):
                yield from self._damaged(text, "it is cut after its first letters", self._line)
        yield from self._release()
        if cut and self._damaged_at == self._line:
            yield self._note("incomplete", "the log ends in mid-row")
        yield from self._session.notes()

    def _could_start_a_row(self, text: str) -> bool:
        return self._table.layout.status and text != "" and "SUCCESS".startswith(text)

    def _is_rest_of_row(self, text: str) -> bool:
        if self._table.patience <= 0 and self._tail_due <= 0:
            return False
        if TAIL.search(text):
            return True
        return not self._table.layout.status and remains(text)

    def _note(self, code: str, text: str) -> Note:
        return Note(code=code, text=text, source=Source(file=self._file, line=self._line))
