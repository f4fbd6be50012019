"""The layouts of FlagGems' printed rows, read strictly.

Every cell of every version is right-aligned in columns of known width with a known number
of digits. A row that does not stand exactly so was cut, glued or overwritten, and is
reported as damaged: half a number is never read as one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from flagkit.compare.sizes import value_key
from flagkit.parsers.cells import Cells, problem
from flagkit.parsers.legacy import read_legacy
from flagkit.parsers.rows import number

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_ROW = 1 << 16
"""Characters of a row. A longer line is none."""

_MS = r"(?:-?\d+\.\d{6}|N/A|nan|-?inf)"
_NUMBER = r"(?:-?\d+\.\d{3}|N/A|nan|-?inf)"

_ROW = re.compile(rf"(\S+) +({_MS}) +({_MS}) +({_NUMBER})((?: +{_NUMBER}){{0,4}}) {{10}}(\S.*)")

# Patterns as text are compiled when the first row of their kind comes: most logs have none.
_VS_BASE = (
    rf"(\S+) +({_MS}) +({_MS}) +({_NUMBER}) +(?:[-+]?\d+(?:\.\d+)?[x%]?|N/A|nan|-?inf)"
    rf"((?: +{_NUMBER}){{0,3}}) {{10}}(\S.*)"
)
"""A fork's table with one more comparison behind the speedup, in digits of its own."""

_FOLDED = rf"(\S+) ({_MS}) ({_MS}) ({_NUMBER})((?: {_NUMBER}){{0,4}}) (\S.*)"

_LABEL = re.compile(r"\S+(?: \S+)*")
_WIDE = "TE Latency (ms)"
"""The first latency's label in the fork that gives the status 12 characters, not 10."""
_BY_LABEL = (
    rf"(\S+) {{2,}}({_MS}) {{2,}}({_MS}) {{2,}}({_NUMBER})"
    rf"((?: {{2,}}{_NUMBER}){{0,4}}) {{2,}}(\S.*)"
)
"""A table that somebody set anew, with each cell below its label."""


class Layout(NamedTuple):
    """Which columns a table has. T4a and later have a size detail at the end of each row."""

    detail: bool = True
    speedup: bool = True
    vs_base: bool = False
    status: bool = True
    starts: tuple[int, ...] = ()
    """Where the labels of the column line start."""
    base: int = 30
    """Where the first latency of a row ends."""

    @property
    def today(self) -> bool:
        """Whether rows stand as in today's tables."""
        return self.detail and self.status and not self.vs_base and self.base == Layout().base


FIRST = Layout(detail=False, status=False)
"""How rows stood before they had a size detail."""

_BEFORE_STATUS = (Layout(status=False), FIRST, FIRST._replace(speedup=False))
_PASTED = re.compile(r"(?:N/A|[\d(\[]\S*(?: \S+)*) {3,}(?=\S)")
"""How they begin where nothing stands above them. Folded blanks would leave no proof."""


@lru_cache(maxsize=1 << 6)
def layout_of(header: str) -> Layout | None:
    """The layout that a table's column line tells; None if it is none."""
    if "Latency (ms)" not in header:
        return None
    labels = tuple(_LABEL.finditer(header))
    wide = len(labels) > 1 and labels[1][0] == _WIDE
    return Layout(
        detail="Size Detail" in header,
        speedup="Speedup" in header,
        vs_base="vs Base" in header,
        status="Status" in header,
        starts=tuple(label.start() for label in labels),
        base=Layout().base + (2 if wide else 0),
    )


def read_row(text: str, layout: Layout) -> Cells | str:
    """The cells of *text*, or what is wrong with it."""
    # A row that begins with a status has a size detail, whatever is left of its header.
    if len(text) > MAX_ROW:
        return "it is longer than any row"
    modern = layout.detail or text.startswith(("SUCCESS", "FAILED"))
    return _modern(text, layout) if modern else read_legacy(text, layout.speedup)


def layout_of_row(text: str) -> Layout | None:
    """The layout of a row before T4b, pasted without the lines above it.

    Only where each cell stands in its place: such a row has no other mark.
    """
    if not _PASTED.match(text):
        return None
    return next((one for one in _BEFORE_STATUS if not isinstance(read_row(text, one), str)), None)


def _modern(text: str, layout: Layout) -> Cells | str:
    found = re.fullmatch(_VS_BASE, text) if layout.vs_base else _ROW.fullmatch(text)
    if found is None or not _aligned(found, layout.base):
        reset = _below_labels(text, layout)
        if found is not None and reset is None:
            return "its cells are not where the table's columns are"
        found = reset or _folded(text, layout)
        if found is None:
            return problem(text)
    first, baseline, latency, _, more, detail = found.groups()
    detail = detail.rstrip()
    key = detail_key(detail)
    if key is None:
        return "its size detail is cut, or something stands behind it"
    extra = _extra(more.split() if more else ())
    if extra is None:
        return "it has more cells than a table has columns"
    return Cells(first, number(baseline), number(latency), detail, key, *extra)


def _aligned(found: re.Match[str], base: int) -> bool:
    """Whether each cell ends where FlagGems' own columns do.

    :param base: where the first latency ends, unless what stands before it needs more room.
    """
    spans = found.regs
    base = max(base, spans[1][1] + 20)
    return (
        spans[2][1] == base
        and spans[3][1] == base + 20
        and spans[4][1] == base + 40
        and _stepped(spans[5])
    )


def _below_labels(text: str, layout: Layout) -> re.Match[str] | None:
    """A row of a table that somebody set anew, each cell below the start of its label."""
    found = re.fullmatch(_BY_LABEL, text) if layout.starts else None
    if found is None:
        return None
    offset = found.start(5)
    more = (offset + cell.start() for cell in re.finditer(r"\S+", found[5]))
    starts = (*(found.start(group) for group in (1, 2, 3, 4)), *more, found.start(6))
    return found if starts == layout.starts else None


def _folded(text: str, layout: Layout) -> re.Match[str] | None:
    """A row whose runs of blanks were folded on the way; whole rows only."""
    if layout.vs_base or "  " in text.rstrip():
        return None
    return re.fullmatch(_FOLDED, text)


def _stepped(span: tuple[int, int]) -> bool:
    return (span[1] - span[0]) % 20 == 0


def _extra(cells: Sequence[str]) -> tuple[float | None, float | None, float | None] | None:
    """TFLOPS, baseline GBPS, GBPS: each row decides on its own which it has."""
    values = [number(cell) for cell in cells]
    if not values:
        return None, None, None
    if len(values) == 1:
        return values[0], None, None
    if len(values) == 2:
        return None, values[0], values[1]
    if len(values) == 3:
        return values[0], values[1], values[2]
    return None


def detail_key(detail: str) -> str | None:
    """The canonical form of a row's size detail; None if it was cut or glued.

    FlagGems prints a list, a tuple or a dictionary, or ``N/A`` for what it records as null.
    A bare number here is the beginning of a cell that was cut.
    """
    if detail[0] in "[({":
        return value_key(detail)
    return "null" if detail == "N/A" else None
