"""The lines around a table's rows that say something about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flagkit.model import Note, Source
from flagkit.parsers import pytest_output
from flagkit.parsers.regimes import (
    FLAGKIT_LINE,
    OLDER_LINE,
    fallback_line,
    regime_line,
    regime_of_table,
)
from flagkit.parsers.rows import UNKNOWN_REGIME
from flagkit.parsers.tablelines import NATIVE, PROGRESS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flagkit.model import Regime


class Remarks:
    """Follows what plug-ins, FlagGems and pytest say between rows."""

    def __init__(self, source: str) -> None:
        self._file = source
        self._session = pytest_output.Session(source)
        self._regimes: dict[str, Regime] = {}
        self.ended = False
        """Whether the line read last was pytest's own, so that a table ends there."""

    def read(self, text: str, line: int, op: str) -> Note | None:
        """Take one line in; what it says that is to be told.

        :param op: the operator of the table that is open, if one is.
        """
        self.ended = False
        if mark := fallback_line(text):
            return mark
        if FLAGKIT_LINE in text or OLDER_LINE in text:
            if told := regime_line(text):
                self._regimes[told.op] = told.regime
        elif native := NATIVE.search(text):
            return self.note("no-baseline", f"{op}: no torch baseline: {native[1]}", line)
        elif "No benchmark results were collected" in text:
            return self.note("incomplete", f"{op}: no benchmark results were collected", line)
        else:
            pytests = self._session.feed(text, line)
            self.ended = pytests or PROGRESS.fullmatch(text.strip()) is not None
        return None

    def regime(self, op: str, mode: str) -> Regime:
        """How the rows of a table that begins now were timed."""
        return regime_of_table(self._regimes, op, mode)

    def regime_of_nobody(self) -> Regime:
        """How rows without a title were timed."""
        return self._regimes.get("", UNKNOWN_REGIME)

    def end(self, text: str, line: int, row_at: int) -> Iterator[Note]:
        """What there is to tell at the log's end, as for pytest's ``Session.end``."""
        self._session.end(text, line, row_at)
        yield from self._session.notes()

    def note(self, code: str, text: str, line: int) -> Note:
        """A note about *line* of the log."""
        return Note(code=code, text=text, source=Source(file=self._file, line=line))
