"""Columns of text for a terminal: aligned, within a width, styled by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

GAP = "  "
NARROWEST = 12
"""Columns that may shrink never get narrower."""


@dataclass(frozen=True, slots=True)
class Span:
    """Some text and the name of its style."""

    text: str
    style: str = ""


Line = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading, and whether it holds numbers or may shrink."""

    heading: str
    number: bool = False
    shrinks: bool = False


def line(text: str, style: str = "") -> Line:
    """A line of one style."""
    return (Span(text, style),)


def table(
    columns: Sequence[Column], rows: Iterable[Sequence[Span]], *, indent: str, width: int | None
) -> list[Line]:
    """Headed, aligned rows. Columns that hold nothing are left out.

    ``width`` is the terminal's; None: as wide as it has to be.
    """
    blocks = table_blocks(columns, rows, indent=indent, width=width)
    return [one for block in blocks for one in block]


def table_blocks(
    columns: Sequence[Column], rows: Iterable[Sequence[Span]], *, indent: str, width: int | None
) -> list[list[Line]]:
    """A table as one block of lines for its heading and for each row."""
    body = list(rows)
    used = [place for place in range(len(columns)) if any(row[place].text for row in body)]
    shown = [columns[place] for place in used]
    head = [Span(column.heading, "dim") for column in shown]
    cells = [head, *([row[place] for place in used] for row in body)]
    widths = [max(cell_width(row[place].text) for row in cells) for place in range(len(shown))]
    if width is not None:
        widths = _fitted(widths, shown, width - len(indent))
    return [_aligned(row, shown, widths, indent) for row in cells]


def widest(lines: Iterable[Line]) -> int:
    """The columns that the longest line takes."""
    return max(
        (cell_width("".join(span.text for span in spans).rstrip()) for spans in lines), default=0
    )


def render(lines: Iterable[Line], paint: Callable[[str, str], str] | None) -> str:
    """The lines as one text; ``paint(text, style)`` colours a span, None: no colour."""
    shown = []
    for spans in lines:
        text = "".join(
            paint(span.text, span.style) if paint and span.style else span.text for span in spans
        )
        shown.append(text.rstrip())
    return "\n".join(shown) + "\n"


def cell_width(text: str) -> int:
    """How many columns of a terminal *text* takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _fitted(widths: Sequence[int], columns: Sequence[Column], width: int) -> list[int]:
    fitted = list(widths)
    over = sum(fitted) + len(GAP) * (len(fitted) - 1) - width
    for place, column in enumerate(columns):
        if over > 0 and column.shrinks:
            cut = min(over, max(0, fitted[place] - NARROWEST))
            fitted[place] -= cut
            over -= cut
    return fitted


def _aligned(
    row: Sequence[Span], columns: Sequence[Column], widths: Sequence[int], indent: str
) -> list[Line]:
    """One row: a cell too long for its column goes on in the lines below."""
    folded = [_folded(span.text, width) for span, width in zip(row, widths, strict=True)]
    lines: list[Line] = []
    for nth in range(max(len(parts) for parts in folded)):
        spans = [Span(indent)]
        for place, (column, width) in enumerate(zip(columns, widths, strict=True)):
            text = folded[place][nth] if nth < len(folded[place]) else ""
            shown = Span(text, row[place].style)
            blanks = Span(" " * (width - cell_width(text)))
            if place:
                spans.append(Span(GAP))
            spans += [blanks, shown] if column.number else [shown, blanks]
        lines.append(tuple(spans))
    return lines


def _folded(text: str, width: int) -> list[str]:
    parts = []
    while cell_width(text) > width:
        end = width
        while cell_width(text[:end]) > width:
            end -= 1
        after_comma = max(text.rfind(",", 0, end), text.rfind(" ", 0, end)) + 1
        end = after_comma if after_comma > end // 2 else max(end, 1)
        parts.append(text[:end])
        text = text[end:]
    return [*parts, text]
