"""The table that is open in a log: its title, its layout, where it seems to end."""

from __future__ import annotations

import re

from flagkit.model import UNKNOWN
from flagkit.parsers.cells import BEGUN, TAIL
from flagkit.parsers.cells import STARTED as STARTED_WITH_STATUS
from flagkit.parsers.layouts import Layout, layout_of, layout_of_row, read_row
from flagkit.parsers.legacy import STARTED, remains
from flagkit.parsers.titles import Title

LOST = Title(op="", dtype="", mode=UNKNOWN, level=UNKNOWN)
"""Stands for a title that was there and cannot be read."""

PATIENCE = 64
"""Foreign lines read one by one within a table, before only marked lines are looked for."""

MAX_HEADER = 1000
"""Characters of a column line that a terminal has wrapped."""

LEAST_RULE = 90
"""Dashes below the shortest column line with a size detail; other programs draw fewer."""

_DASHES = re.compile(r"-{20,}")
_LABELS = re.compile(r"[A-Za-z() ]+")
"""All that a column line holds, so that no row and hardly any other line goes on with it."""


class OpenTable:
    """What is known of the table that lines belong to. No title: they belong to none."""

    def __init__(self) -> None:
        self.title: Title | None = None
        self.layout = Layout()
        self.wrap = 0
        """The terminal's width where the table's own lines prove that it wrapped them."""
        self.dashes = 0
        """The length of the line of dashes above the rows; 0 before and long after it."""
        self.patience = PATIENCE
        self.row_at = 0
        self.ruled_at = 0
        self._blank_at = 0
        self._header = ""
        self._headed = False
        self._rule = 0

    @property
    def nothing_above(self) -> bool:
        """Whether no title and no column line tells what rows look like."""
        return self.title is None and not self._headed

    def end(self) -> None:
        """Rows behind this line belong to no title. They look as those above it do."""
        layout = self.layout
        self.begin(None)
        self.layout = layout
        # Rows of today's layout would be found later on all the same.
        self.patience = 0 if layout.status else PATIENCE

    def begin(self, title: Title | None) -> None:
        """A table with *title* starts here."""
        self.title = title
        self.layout = title.layout if title else Layout()
        self.wrap = self.dashes = self.row_at = self.ruled_at = self._blank_at = 0
        self._header, self._headed, self._rule = "", False, 0
        self.patience = PATIENCE if title else 0

    def lose_title(self) -> None:
        """Text is missing here that may have held another table's title."""
        if self.title is not None:
            self.title = LOST

    def row_seen(self, line: int) -> None:
        """A row stands in *line*: more may follow it."""
        self.row_at, self._blank_at = line, 0
        self.patience = PATIENCE

    def foreign_seen(self, text: str, line: int) -> None:
        """Another line stands in the table. A blank one behind a row ends it."""
        if text.strip() or (self.nothing_above and not self.row_at):
            self.patience = min(self.patience - 1, PATIENCE)
            return
        if self.row_at and self.row_at == line - 1:
            self._blank_at = line
        # Rows of today's layout would be found later on all the same.
        self.patience = min(self.patience - 1, 0 if self.layout.status and not self.wrap else 4)

    def left(self, line: int) -> bool:
        """Whether a row in *line* stands behind the table's end: its title is not there."""
        return self._blank_at > 0 and line > self._blank_at + 1

    def expects_rows(self, line: int) -> bool:
        """Whether *line* comes right behind a row or the line of dashes."""
        return line > 1 and line - 1 in (self.row_at, self.ruled_at)

    def is_row(self, text: str, line: int) -> bool:
        """Whether *text* begins as a row does, or as one that was cut where one has to stand."""
        return (
            STARTED_WITH_STATUS.match(text) is not None
            or ((self.wrap > 0 or self.expects_rows(line)) and BEGUN.match(text) is not None)
            or self._is_old_row(text, line)
        )

    def _is_old_row(self, text: str, line: int) -> bool:
        """Whether *text* begins with a size, not with a status, and is a row or was one.

        Only known within such a table, or where each cell stands in its place.
        """
        if self.patience <= 0 or not text:
            return False
        if self.layout.status:
            pasted = layout_of_row(text) if self.nothing_above else None
            self.layout = pasted or self.layout
            return pasted is not None
        if not isinstance(read_row(text, self.layout), str):
            return True
        return self.expects_rows(line) and STARTED.match(text) is not None

    def is_cut_status(self, text: str, line: int) -> bool:
        """Whether *text* is the beginning of a row's status where a row has to stand."""
        return self.layout.status and self.expects_rows(line) and _begins_status(text)

    def may_be_cut(self, text: str, line: int) -> bool:
        """Whether *text*, with which the log ends, may be the beginning of a row."""
        if self.layout.status:
            return not self.nothing_above and _begins_status(text)
        return text.isdecimal() and self.expects_rows(line)

    def is_rest_of_row(self, text: str) -> bool:
        """Whether *text* ends as rows do, wherever it begins."""
        return TAIL.search(text) is not None or (not self.layout.status and remains(text))

    def header_seen(self, text: str, line: int) -> bool:
        """Follow the column line and the dashes; whether *text* is one of them."""
        if "Latency (ms)" in text and text.startswith(("Status", "Size")):
            self._header = text
            self.dashes = self.wrap = 0
            if self._headed:
                # Two column lines below one title: another title was lost between them.
                self.lose_title()
            self._headed = True
            self.row_at = self.ruled_at = self._blank_at = 0
        elif self._header_goes_on(text):
            self._header += text
        elif _DASHES.fullmatch(text.rstrip()) or (self._goes_on(line) and _all_dashes(text)):
            self._ruled(len(text.rstrip()), line)
        else:
            if self.dashes:
                self._header, self.dashes = "", 0
            elif self._header and not self.ruled_at and "-" * 10 in text:
                # Another line is glued to the dashes. Rows follow all the same.
                self.ruled_at = line
            return False
        self.layout = layout_of(self._header) or self.layout
        self.patience = PATIENCE
        return True

    def _header_goes_on(self, text: str) -> bool:
        """Whether *text* is the rest of a column line that a terminal has wrapped."""
        whole = not self._header or self._header.rstrip().endswith("Size Detail")
        if whole or self.ruled_at or len(self._header) > MAX_HEADER:
            return False
        return text.strip() != "" and _LABELS.fullmatch(text) is not None

    def _ruled(self, width: int, line: int) -> None:
        """A line of *width* dashes stands in *line*."""
        if self._goes_on(line):
            if width <= self.dashes and self._header:
                self.wrap = self.dashes
        elif self.row_at and (width == self._rule or width >= LEAST_RULE):
            # Rows stand between two lines of dashes: a title was lost between them.
            self.lose_title()
        else:
            self._rule = width
        self.dashes, self.ruled_at = width, line

    def _goes_on(self, line: int) -> bool:
        """Whether *line* comes right behind a line of dashes."""
        return self.dashes > 0 and self.ruled_at == line - 1


def _begins_status(text: str) -> bool:
    return text != "" and "SUCCESS".startswith(text)


def _all_dashes(text: str) -> bool:
    bare = text.strip()
    return bool(bare) and not bare.strip("-")
