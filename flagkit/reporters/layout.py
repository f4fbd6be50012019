"""Columns of text for a terminal: aligned, within a width, styled by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

GAP = "  "
NARROWEST = 12
"""Columns that may shrink never get narrower."""

NO_STYLES: Mapping[int, str] = {}


class Span(NamedTuple):
    """Some text and the name of its style."""

    text: str
    style: str = ""


Line = tuple[Span, ...]


class Cells(NamedTuple):
    """A table's row. ``styles`` maps a cell's place to its style."""

    texts: Sequence[str]
    styles: Mapping[int, str] = NO_STYLES


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
    columns: Sequence[Column], rows: Iterable[Cells], *, indent: str, width: int | None
) -> list[Line]:
    """Headed, aligned rows. Columns that hold nothing are left out.

    ``width`` is the terminal's; None: as wide as it has to be.
    """
    blocks = table_blocks(columns, rows, indent=indent, width=width)
    return [one for block in blocks for one in block]


def table_blocks(
    columns: Sequence[Column], rows: Iterable[Cells], *, indent: str, width: int | None
) -> list[list[Line]]:
    """A table as one block of lines for its heading and for each row."""
    body = list(rows)
    by_column = list(zip(*(row.texts for row in body), strict=True))
    used = [place for place, cells in enumerate(by_column) if any(cells)]
    shown = [columns[place] for place in used]
    widths = [max(_widest(by_column[place]), len(columns[place].heading)) for place in used]
    if width is not None:
        widths = _fitted(widths, shown, width - len(indent))
    heading = Cells([column.heading for column in columns], dict.fromkeys(used, "dim"))
    return [_aligned(row, used, shown, widths, indent) for row in (heading, *body)]


def widest(lines: Iterable[Line]) -> int:
    """The columns that the longest line takes."""
    return _widest(["".join(span.text for span in spans).rstrip() for spans in lines])


def render(lines: Iterable[Line], paint: Callable[[str, str], str] | None) -> str:
    """The lines as one text; ``paint(text, style)`` colours a span, None: no colour."""
    shown = []
    for spans in lines:
        if paint is None:
            text = "".join([span.text for span in spans])
        else:
            text = "".join([paint(*span) if span.style else span.text for span in spans])
        shown.append(text.rstrip())
    return "\n".join(shown) + "\n"


def cell_width(text: str) -> int:
    """How many columns of a terminal *text* takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _widest(texts: Sequence[str]) -> int:
    return max(map(cell_width, texts), default=0)


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
    row: Cells, used: Sequence[int], columns: Sequence[Column], widths: Sequence[int], indent: str
) -> list[Line]:
    """One row: a cell too long for its column goes on in the lines below."""
    texts = [row.texts[place] for place in used]
    styles = [row.styles.get(place, "") for place in used]
    sizes = [cell_width(text) for text in texts]
    if all(size <= width for size, width in zip(sizes, widths, strict=True)):
        return [_line(texts, styles, columns, widths, indent)]
    folded = [_folded(text, width) for text, width in zip(texts, widths, strict=True)]
    height = max(map(len, folded))
    parts = zip(*([*cell, *[""] * (height - len(cell))] for cell in folded), strict=True)
    return [_line(part, styles, columns, widths, indent) for part in parts]


def _line(
    texts: Sequence[str],
    styles: Sequence[str],
    columns: Sequence[Column],
    widths: Sequence[int],
    indent: str,
) -> Line:
    spans = []
    pending = indent
    for text, style, column, width in zip(texts, styles, columns, widths, strict=True):
        blanks = " " * (width - cell_width(text))
        if column.number:
            pending += blanks
        if style:
            spans += [Span(pending), Span(text, style)]
            pending = ""
        else:
            pending += text
        pending += GAP if column.number else blanks + GAP
    return (*spans, Span(pending))


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
