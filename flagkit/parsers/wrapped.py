"""Rows that a terminal shows in several lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from flagkit.parsers.cells import BEGUN, INNER, STARTED, TAIL
from flagkit.parsers.layouts import read_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flagkit.model import Row
    from flagkit.parsers.layouts import Layout

MAX_PIECES = 200
"""Screen lines of one wrapped row; no detail is longer."""

LEAST_WIDTH = 90
"""Columns of a terminal that shows a table's shortest line of dashes whole."""

_NUMBERS = r"(?:SUCCESS|FAILED)[- \d.N/Ainf]+"
"""A row's status and numbers, or the beginnings of them, and nothing else."""


class Unproven(NamedTuple):
    """A row put together from lines of one width that nothing else has shown yet.

    Two rows that break at one width prove each other: chance does not cut two at the same
    place. One alone may as well be cut, and hold another line's digits.
    """

    row: Row
    text: str
    """Its first line, all there is to it if it was cut."""
    widths: frozenset[int]


class WrappedRow:
    """A row that is being put together.

    :param width: the terminal's, where the table's own lines prove it. None: the row's
        first line may tell it.
    """

    def __init__(self, first: str, line: int, width: int | None) -> None:
        self.line = line
        self.proven = width is not None
        self.widths = frozenset((width,)) if width else _widths(first)
        self._pieces = [(line, first)]

    def takes(self, text: str, line: int) -> bool:
        """Add the screen line *text*, unless it cannot belong to the row."""
        if (
            STARTED.match(text)
            or BEGUN.match(text)
            or not text.strip()
            or "Performance Test" in text
            or len(self._pieces) >= MAX_PIECES
            or len(text) > max(self.widths)
            or not self._is_full()
        ):
            return False
        self._pieces.append((line, text))
        return True

    def whole(self, layout: Layout) -> bool:
        """Whether the row is complete."""
        return not isinstance(read_row(self.text, layout), str)

    @property
    def text(self) -> str:
        """The row in one line. A terminal's copy loses blanks at the end of its lines."""
        width = min(self.widths) if self.proven else 0
        *full, (_, last) = self._pieces
        return "".join(piece.ljust(width) for _, piece in full) + last

    @property
    def pieces(self) -> Sequence[tuple[int, str]]:
        """Its lines so far, each with its number."""
        return self._pieces

    def _is_full(self) -> bool:
        """Whether the last line reaches the edge, so that another can go on with it."""
        if self.proven:
            return True
        widths = self.widths & _widths(self._pieces[-1][1])
        self.widths = widths or self.widths
        return bool(widths)


def _widths(piece: str) -> frozenset[int]:
    """How wide the terminal is if *piece* fills its line. A copy may lack a comma's blank."""
    return frozenset((len(piece), len(piece) + piece.endswith(",")))


def may_go_on(text: str, layout: Layout) -> bool:
    """Whether *text*, which is no whole row, may be the first line of a wrapped one.

    A narrower terminal wraps the line of dashes too, which tells its width.
    """
    return (
        layout.detail
        and len(text) >= LEAST_WIDTH
        and len(INNER.findall(text)) == 1
        and STARTED.match(text) is not None
        and (TAIL.search(text) is not None or re.fullmatch(_NUMBERS, text) is not None)
    )
