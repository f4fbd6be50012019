"""Columns of text for a terminal: aligned, within a width, styled by name."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Paint = Callable[[str, str], str]
    """Gives a text the style of a name."""

GAP = "  "
NARROWEST = 12
"""Columns that may shrink never get narrower."""

NO_STYLES: Mapping[int, str] = {}


class Cells(NamedTuple):
    """A table's row. ``styles`` maps a cell's place to its style."""

    texts: Sequence[str]
    styles: Mapping[int, str] = NO_STYLES


class Column(NamedTuple):
    """A column: its heading, and whether it holds numbers or may shrink."""

    heading: str
    number: bool = False
    shrinks: bool = False


def unpainted(text: str, style: str) -> str:
    """*text* as it is, where there is no colour."""
    return text


def table(
    columns: Sequence[Column],
    rows: Iterable[Cells],
    *,
    indent: str,
    width: int | None,
    paint: Paint = unpainted,
) -> list[str]:
    """The lines of headed, aligned rows. Columns that hold nothing are left out.

    ``width`` is the terminal's; None: as wide as it has to be.
    """
    blocks = table_blocks(columns, rows, indent=indent, width=width, paint=paint)
    return [line for block in blocks for line in block]


def table_blocks(
    columns: Sequence[Column],
    rows: Iterable[Cells],
    *,
    indent: str,
    width: int | None,
    paint: Paint = unpainted,
) -> list[list[str]]:
    """A table as one block of lines for its heading and for each row."""
    body = list(rows)
    used, natural = _used(columns, body)
    if not used:
        return []
    shown = [columns[place] for place in used]
    widths = natural if width is None else _fitted(natural, shown, width - len(indent))
    heading = Cells([column.heading for column in columns], dict.fromkeys(used, "dim"))
    sized = [(place, columns[place], size) for place, size in zip(used, widths, strict=True)]
    if widths == natural:
        return [[line] for line in _lines([heading, *body], sized, indent, paint)]
    limits = dict(zip(used, widths, strict=True))
    blocks = [_folded_row(row, limits) for row in (heading, *body)]
    lines = iter(_lines([part for block in blocks for part in block], sized, indent, paint))
    return [list(islice(lines, len(block))) for block in blocks]


def aligned(columns: Sequence[Column], cells: Sequence[Sequence[str]], *, indent: str) -> list[str]:
    """What :func:`table` gives of the *cells* of each column, as wide as it has to be.

    For very many rows: each is set by one format.
    """
    shown: list[Sequence[str]] = []
    formats = []
    for column, texts in zip(columns, cells, strict=True):
        if not any(texts):
            continue
        texts = [column.heading, *texts]
        width = _widest(texts)
        if "".join(texts).isascii():
            formats.append(f"%{'' if column.number else '-'}{width}s")
        else:
            texts = [_padded(text, text, width, column.number) for text in texts]
            formats.append("%s")
        shown.append(texts)
    line = indent + GAP.join(formats)
    return [(line % row).rstrip() for row in zip(*shown, strict=True)]


def table_width(columns: Sequence[Column], rows: Iterable[Cells], *, indent: str) -> int:
    """The columns of a terminal that a table takes if it may be as wide as it has to be."""
    _, widths = _used(columns, list(rows))
    return len(indent) + sum(widths) + len(GAP) * (len(widths) - 1)


def cell_width(text: str) -> int:
    """How many columns of a terminal *text* takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _used(columns: Sequence[Column], body: Sequence[Cells]) -> tuple[list[int], list[int]]:
    """The places of the columns that hold something, and how wide each has to be."""
    by_column = list(zip(*[row.texts for row in body], strict=True))
    used = [place for place, cells in enumerate(by_column) if any(cells)]
    widths = [max(_widest(by_column[place]), len(columns[place].heading)) for place in used]
    return used, widths


def _widest(texts: Sequence[str]) -> int:
    width = len if all(map(str.isascii, texts)) else cell_width
    return max(map(width, texts), default=0)


def _fitted(widths: Sequence[int], columns: Sequence[Column], width: int) -> list[int]:
    fitted = list(widths)
    over = sum(fitted) + len(GAP) * (len(fitted) - 1) - width
    for place, column in enumerate(columns):
        if over > 0 and column.shrinks:
            cut = min(over, max(0, fitted[place] - NARROWEST))
            fitted[place] -= cut
            over -= cut
    return fitted


def _lines(
    rows: Sequence[Cells], sized: Sequence[tuple[int, Column, int]], indent: str, paint: Paint
) -> list[str]:
    """*rows* aligned; *sized* are the places, columns and widths that are shown."""
    return [
        f"{indent}{GAP.join(_cell(row, *column, paint) for column in sized)}".rstrip()
        for row in rows
    ]


def _cell(row: Cells, place: int, column: Column, width: int, paint: Paint) -> str:
    text, style = row.texts[place], row.styles.get(place, "")
    return _padded(text, paint(text, style) if style else text, width, column.number)


def _padded(text: str, shown: str, width: int, number: bool) -> str:
    """*text*, as it is *shown*, in so many columns of a terminal."""
    blanks = " " * (width - cell_width(text))
    return blanks + shown if number else shown + blanks


def _folded_row(row: Cells, widths: Mapping[int, int]) -> list[Cells]:
    """A row in as many as it needs: a cell too long for its column goes on below."""
    if all(cell_width(row.texts[place]) <= width for place, width in widths.items()):
        return [row]
    folded = [
        _folded(text, widths[place]) if place in widths else [""]
        for place, text in enumerate(row.texts)
    ]
    height = max(map(len, folded))
    parts = zip(*([*cell, *[""] * (height - len(cell))] for cell in folded), strict=True)
    return [Cells(part, row.styles) for part in parts]


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
