"""Rows of the tables of 2024 without a size detail: a size, two latencies, mostly a speedup.

They begin with no word of their own, so they are only known as rows within their table, or
where each cell stands where the format has it.
"""

from __future__ import annotations

import re

from flagkit.compare.sizes import value_key
from flagkit.parsers.cells import Cells, problem
from flagkit.parsers.rows import number

MAX_ROW = 400
"""Characters of a row. What stands behind them belongs to none."""

_GENERAL = r"(?:-?\d+(?:\.\d+)?(?:e[-+]\d{2,3})?|N/A|nan|-?inf)"

# Patterns as text are compiled when the first row of their kind comes: most logs have none.
_ROW = rf"(\S.*?) +({_GENERAL}) +({_GENERAL})(?: +({_GENERAL}))?"
_FOLDED = rf"(\S+) ({_GENERAL}) ({_GENERAL})(?: ({_GENERAL}))?"
_SIZE = r"\d+(?: ?[x*,] ?\d+)*"
_REMAINS = rf"(?<!\S){_GENERAL} {{3,}}{_GENERAL}(?![\w.])"

STARTED = re.compile(r"(?:N/A|\d+|[(\[].{0,60}?) {3,}(?:\d|N/A|nan|inf|$)")
"""How a row of the tables before T4b begins, within one."""


def read_legacy(text: str, speedup: bool) -> Cells | str:
    """The cells of *text*, or what is wrong with it.

    :param speedup: the table has a column for it.
    """
    text = text[:MAX_ROW].rstrip()
    found = re.fullmatch(_ROW, text)
    if found is None or (found[4] is not None) != speedup:
        return problem(text)
    size = found[1]
    if not _is_aligned(found, speedup) and ("  " in text or not re.fullmatch(_FOLDED, text)):
        return "its cells are not where the table's columns are"
    key = value_key(size) if size[0] in "[(" else " ".join(size.split())
    if key is None or not (key[0] == "[" or re.fullmatch(_SIZE, size)):
        return "its size is cut, or something stands before it"
    return Cells(size, number(found[2]), number(found[3]), size, key)


def _is_aligned(found: re.Match[str], speedup: bool) -> bool:
    widths = (18, 21, 16) if speedup else (20, 20)
    end = max(8 if speedup else 10, len(found[1]))
    for group, width in enumerate(widths, 2):
        end += width
        if found.end(group) != end:
            return False
    return True


def remains(text: str) -> bool:
    """Whether *text* holds two of a row's numbers: it is glued to a row, or the end of one."""
    return re.search(_REMAINS, text[:MAX_ROW]) is not None
