"""FlagGems' printed tables, every version since 2024-05.

A title names operator, dtype, mode and level; a column line and a line of dashes follow;
then one line a row. What else a benchmark's process prints stands between them, and is
passed over. pytest's own lines say whether the run ended well.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flagkit import hookimpl
from flagkit.compare.sizes import normalise_op
from flagkit.model import UNKNOWN, Damaged, Note, Regime, Source
from flagkit.parsers import pytest_output
from flagkit.parsers.dirt import shown
from flagkit.parsers.fastrows import FAST_ROW, FastRows
from flagkit.parsers.layouts import (
    INNER,
    STARTED,
    TAIL,
    Layout,
    layout_of,
    read_row,
)
from flagkit.parsers.regimes import (
    FLAGKIT_LINE,
    OLDER_LINE,
    fallback_line,
    kept_mode,
    regime_line,
    regime_of_mode,
)
from flagkit.parsers.rows import make_row
from flagkit.parsers.stream import Lines, Wanted, as_lines
from flagkit.parsers.titles import Title, read_title

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator
    from pathlib import Path

    from flagkit.model import Row

PATIENCE = 64
"""Foreign lines read one by one within a table, before only marked lines are looked for."""

MAX_PIECES = 200
"""Screen lines of one wrapped row; no detail is longer."""

_PREFIX = re.compile(r"(?:[^\t]{1,200}\t[^\t]{1,200}\t)?\ufeff?\d{4}-\d\d-\d\dT[\d:.]{8,20}Z ")
"""What hosted CI puts in front of each line."""

# Each alternative begins with one character, not with a repetition: most lines are then
# passed over at their first character.
_START = (
    rb"(?:SUCCESS|\[cudagraph-plugin\]|[.FEsxXp][.FEsxXp]{0,200}\[cudagraph-plugin\]|"
    + pytest_output.START
    + rb")"
)
_WANTED = Wanted(
    # The agent's line can follow a file name that pytest has printed.
    (b"Performance Test", b"BENCHMARK_DIRECT_NO_CUDAGRAPH", b"[flagkit] regime: requested="),
    rb"(?:"
    + _START
    + rb"|\x1b\[[0-9;?]*[A-Za-z](?:\x1b\[[0-9;?]*[A-Za-z])*"
    + _START
    + rb"|[ >][ >]{0,7}SUCCESS)",
)
_CLAIM = re.compile(
    rb"Performance Test \((?:torch\.|dtype=)|(?:Latency \(ms\).*){2}|"
    rb"^(?:\x1b\[[0-9;]*m)*(?:SUCCESS|FAILED)(?:\x1b\[[0-9;]*m)* +(?:\d+\.\d{6}|N/A|nan) ",
    re.MULTILINE,
)
_MARKDOWN = re.compile(rb"^\s*\|", re.MULTILINE)
_DASHES = re.compile(r"-{20,}")
_PROGRESS = re.compile(
    r"(?:[.FEsxXp]+|PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)(?: *\[ *\d+%\])?"
    r"|=====.*|-{5,} .* -{5,}"
)
_NATIVE = re.compile(r"Native baseline: N/A \((.*)\)")


_LOST = Title(op="", dtype="", mode=UNKNOWN, level=UNKNOWN)
"""Stands for a title that was there and cannot be read."""


class TableParser:
    """Reads FlagGems' printed tables."""

    name = "flaggems-table"
    summary = "FlagGems' printed tables, as in a benchmark's run.log"

    def claims(self, head: bytes, path: Path) -> bool:
        """Whether a title, a column line or a row of a table stands in *head*."""
        return any(not _is_markdown(head, found) for found in _CLAIM.finditer(head))

    def parse(self, lines: Iterable[bytes], source: str) -> Iterator[Row | Damaged | Note]:
        """Read a log; skips fast where *lines* is a :class:`flagkit.parsers.stream.Lines`."""
        yield from _Reader(source).read(lines)


def _is_markdown(head: bytes, found: re.Match[bytes]) -> bool:
    start = head.rfind(b"\n", 0, found.start()) + 1
    return _MARKDOWN.match(head, start) is not None


class _Reader:
    """The state of one log: which table is open, and what is unfinished."""

    def __init__(self, source: str) -> None:
        self._file = source
        self._session = pytest_output.Session(source)
        self._regimes: dict[str, Regime] = {}
        self._title: Title | None = None
        self._pending_title = ""
        self._header = ""
        self._headed = False
        self._row_at = self._blank_at = 0
        self._layout = Layout()
        self._regime = Regime()
        self._wrap = self._dashes = 0
        self._pieces: list[str] = []
        self._started = 0
        self._tail_due = 0
        self._patience = 0
        self._fast: FastRows | None = None
        self._untitled = False
        self._held: list[Row | Damaged] = []
        self._line = self._damaged_at = 0

    def read(self, lines: Iterable[bytes]) -> Iterator[Row | Damaged | Note]:
        stream = as_lines(lines)
        stream.wait_for(_WANTED)
        raw = b"\n"
        for raw in stream:
            self._line = stream.number
            for text in shown(raw):
                yield from self._take(text)
            if self._dashes and self._layout == Layout() and self._title:
                yield from self._fast_rows(stream)
            stream.wait_for(None if self._patience > 0 else _WANTED)
        yield from self._end(cut=not raw.endswith(b"\n"), last=raw)

    def _fast_rows(self, stream: Lines) -> Iterator[Row | Damaged | Note]:
        """The plain rows that stand next in a table of today's layout."""
        title = self._title
        if title is None or not title.op or self._wrap or self._pieces:
            return
        if self._fast is None:
            self._fast = FastRows(
                op=title.op,
                dtype=title.dtype,
                mode=kept_mode(title.mode),
                level=title.level,
                regime=self._regime,
                file=self._file,
            )
        build = self._fast.row
        for found in stream.matching(FAST_ROW):
            row = build(found, stream.number)
            if row is not None:
                self._tail_due = 0
                self._row_at, self._blank_at = stream.number, 0
                yield row
                continue
            self._line = stream.number
            yield from self._take(found[0].decode("ascii").rstrip())
        self._patience = PATIENCE

    def _take(self, text: str) -> Iterator[Row | Damaged | Note]:
        if text[:1].isdigit() or "\t" in text:
            text = _PREFIX.sub("", text, count=1)
        if self._pieces:
            handled = yield from self._continue(text)
            if handled:
                return
        if STARTED.match(text) and not self._wrap and self._layout.status:
            yield from self._row(text)
            return
        yield from self._other(text)

    def _other(self, text: str) -> Iterator[Row | Damaged | Note]:
        """Anything but a plain row of a table with a status column."""
        if self._pending_title or "Performance Test" in text:
            handled = yield from self._titled(text)
            if handled:
                return
        bare = text.lstrip(" >")
        if self._in_header(bare):
            return
        if STARTED.match(bare) or self._is_legacy_row(bare):
            yield from self._start_row(bare)
            return
        inner = len(INNER.findall(text))
        if inner or (self._patience and TAIL.search(text)):
            yield from self._fragment(text, inner)
            return
        if not text.strip() and self._row_at == self._line - 1:
            self._blank_at = self._line
        # A blank line ends a table. Rows of today's would be found after it all the same.
        after = PATIENCE if text.strip() else 0 if self._layout.status and not self._wrap else 4
        self._patience = min(self._patience - 1, after)
        self._tail_due -= 1
        yield from self._remark(text)

    def _remark(self, text: str) -> Iterator[Note]:
        """Lines that are no row but say something about rows."""
        if mark := fallback_line(text):
            yield mark
        elif FLAGKIT_LINE in text or OLDER_LINE in text:
            if line := regime_line(text):
                self._regimes[line.op] = line.regime
        elif native := _NATIVE.search(text):
            yield self._note("no-baseline", f"{self._op}: no torch baseline: {native[1]}")
        elif "No benchmark results were collected" in text:
            yield self._note("incomplete", f"{self._op}: no benchmark results were collected")
        elif self._session.feed(text, self._line) or _PROGRESS.fullmatch(text.strip()):
            self._close()

    @property
    def _op(self) -> str:
        return self._title.op if self._title else "an operator"

    def _titled(self, text: str) -> Generator[Row | Damaged | Note, None, bool]:
        """Read a title, in one line or in several that a terminal made of it."""
        joined = self._pending_title + text
        title = read_title(joined)
        if title is None and not self._pending_title and "Operator" in text and ")" not in text:
            self._pending_title = text
            self._patience = PATIENCE
            return True
        self._pending_title = ""
        if title is None:
            title = read_title(text)
        if title is None:
            if "Operator" not in joined or "Performance Test (" not in joined:
                return False
            yield self._note("damaged-title", f"a table's title cannot be read: {joined[:200]!r}")
            title = _LOST
        yield from self._release(title)
        self._title = title
        self._layout = title.layout
        self._header = ""
        self._headed = False
        self._row_at = self._blank_at = 0
        self._wrap = self._dashes = 0
        self._regime = self._regimes.get(
            normalise_op(title.op), self._regimes.get("", regime_of_mode(kept_mode(title.mode)))
        )
        self._fast = None
        self._patience = PATIENCE
        return True

    def _in_header(self, text: str) -> bool:
        """Follow the column line and the dashes; they tell the layout and a wrap's width."""
        if "Latency (ms)" in text:
            self._header = text
            self._dashes = self._wrap = 0
            if self._headed and self._title is not None:
                # Two column lines below one title: another title was lost between them.
                self._title, self._fast = _LOST, None
            self._headed = True
        elif self._header and not self._dashes and not _DASHES.fullmatch(text):
            self._header += text
            if len(self._header) > 1000:
                self._header = ""
            return not STARTED.match(text)
        elif _DASHES.fullmatch(text.rstrip()) or (self._dashes and _all_dashes(text)):
            width = len(text.rstrip())
            if self._dashes and width <= self._dashes and self._header:
                self._wrap = self._dashes
            self._dashes = width
        else:
            if self._dashes:
                self._header = ""
                self._dashes = 0
            return False
        if layout := layout_of(self._header):
            self._layout = layout
        self._patience = PATIENCE
        return True

    def _is_legacy_row(self, text: str) -> bool:
        """A row that begins with a size: only known as one within its table."""
        if self._layout.status or not self._patience or self._title is None or not text:
            return False
        return not isinstance(read_row(text, self._layout), str)

    def _start_row(self, text: str) -> Iterator[Row | Damaged | Note]:
        if self._wrap:
            self._pieces, self._started = [text], self._line
            yield from self._finish_wrapped()
        else:
            yield from self._row(text)

    def _continue(self, text: str) -> Generator[Row | Damaged | Note, None, bool]:
        """Add a screen line to a wrapped row; whether it belonged to it."""
        foreign = (
            STARTED.match(text)
            or not text.strip()
            or "Performance Test" in text
            or len(self._pieces) >= MAX_PIECES
            or len(text) > self._wrap
        )
        if foreign:
            yield from self._give_up_wrapped()
            return False
        self._pieces.append(text)
        yield from self._finish_wrapped()
        return True

    def _finish_wrapped(self) -> Iterator[Row | Damaged | Note]:
        joined = self._joined()
        if not isinstance(read_row(joined, self._layout), str):
            self._pieces = []
            yield from self._row(joined)

    def _give_up_wrapped(self) -> Iterator[Row | Damaged | Note]:
        joined, self._pieces = self._joined(), []
        yield from self._row(joined)

    def _joined(self) -> str:
        # A terminal's copy loses the blanks at the end of each screen line.
        *full, last = self._pieces
        return "".join(piece.ljust(self._wrap) for piece in full) + last

    def _row(self, text: str) -> Iterator[Row | Damaged | Note]:
        """Read one whole row, or say what is wrong with it."""
        if self._blank_at and self._line > self._blank_at + 1:
            self._close()
        self._row_at, self._blank_at = self._line, 0
        self._patience = PATIENCE
        title = self._title
        cells = read_row(text, self._layout)
        if isinstance(cells, str):
            yield from self._damaged(text, cells)
            return
        if title is not None and not title.op:
            yield from self._damaged(text, "the title of its table cannot be read")
            return
        if title is None and not self._untitled:
            self._untitled = True
            yield self._note("no-title", "rows without a table's title: op and dtype unknown")
        self._tail_due = 0
        row = make_row(
            op=title.op if title else UNKNOWN,
            dtype=title.dtype if title else UNKNOWN,
            size_detail=cells.detail,
            key=cells.key,
            latency_ms=cells.latency,
            baseline_ms=cells.baseline,
            tflops=cells.tflops,
            gbps=cells.gbps,
            baseline_gbps=cells.baseline_gbps,
            failed=cells.first == "FAILED",
            mode=kept_mode(title.mode) if title else UNKNOWN,
            level=title.level if title else UNKNOWN,
            regime=self._regime,
            source=Source(file=self._file, line=self._started or self._line),
        )
        self._started = 0
        if self._layout.detail:
            yield row
        else:
            self._held.append(row)

    def _release(self, title: Title | None = None) -> Iterator[Row | Damaged | Note]:
        """Let the rows of a table without size details go, unless *title* repeats them.

        One vendor's branch prints each table twice: in the first layout as it goes, then
        as today's.
        """
        held, self._held = self._held, []
        old = self._title
        if held and title and old and title[:2] == old[:2] and title.layout != old.layout:
            yield self._note("printed-twice", f"{title.op}: its table is printed in two layouts")
        else:
            yield from held

    def _damaged(self, text: str, why: str) -> Iterator[Damaged]:
        source = Source(file=self._file, line=self._started or self._line)
        self._started = 0
        self._tail_due = 4
        self._damaged_at = self._line
        for _ in range(max(1, len(INNER.findall(text)))):
            yield Damaged(text=text[:500], reason=why, source=source)

    def _fragment(self, text: str, inner: int) -> Iterator[Damaged]:
        """A row glued to something else, or the end of one whose beginning is elsewhere."""
        if not inner and self._tail_due > 0:
            self._tail_due = 0
            return
        why = "another line is glued to it" if inner else "it is the end of a row without its start"
        yield from self._damaged(text, why)
        if not inner:
            self._tail_due = 0

    def _close(self) -> None:
        """The table is over: rows that come without a new title belong to no operator."""
        self._title = None
        self._layout = Layout()
        self._regime = self._regimes.get("", Regime())
        self._header = ""
        self._headed = False
        self._wrap = self._dashes = self._blank_at = 0
        self._patience = 0

    def _end(self, cut: bool, last: bytes) -> Iterator[Row | Damaged | Note]:
        if self._pieces:
            yield from self._give_up_wrapped()
        elif cut and self._patience and self._damaged_at != self._line:
            text = shown(last)[-1]
            if text and "SUCCESS".startswith(text.strip() or "-"):
                yield from self._damaged(text, "it is cut after its first letters")
        yield from self._release()
        if cut and self._damaged_at == self._line:
            yield self._note("incomplete", "the log ends in mid-row")
        yield from self._session.notes()

    def _note(self, code: str, text: str) -> Note:
        return Note(code=code, text=text, source=Source(file=self._file, line=self._line))


def _all_dashes(text: str) -> bool:
    bare = text.strip()
    return bool(bare) and not bare.strip("-")


@hookimpl
def flagkit_parser() -> TableParser:
    """FlagGems' printed tables."""
    return TableParser()
