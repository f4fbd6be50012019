"""The cells of one printed row, and when its text is not one."""

from __future__ import annotations

import re
from typing import NamedTuple

_WORD = r"(?:SUCCESS|FAILED)"
_LATENCY = r"(?:-?\d+\.\d{6}|(?:N/A|nan|-?inf)\b)"

STARTED = re.compile(rf"{_WORD}(?: +{_LATENCY}| {{10,}}(?:[-\dNni]|$))")
"""How a row of T4b and later begins, whatever is left of it.

Other programs too begin lines with these words, but with no latency behind them and no room for
one, which takes 20 columns.
"""

BEGUN = re.compile(rf"SUCCESS(?: {{3}}|$)|FAILED {{3,}}(?:\d|$)|{_WORD} +-?\d+\.\d")
"""How else one may begin that was cut or glued to another line, where a row has to stand."""

INNER = re.compile(rf"{_WORD}(?: {{3,}}{_LATENCY}| {{10,}}(?:-?\d+\.\d|N/A|nan|-?inf))")
"""A row's beginning within a line."""

TAIL = re.compile(r"(?:\d|N/A|nan|inf) {10}(?:[\[({]|N/A *$)")
"""The end of a row's numbers before its size detail; a number's ``N/A`` has 17 blanks."""


class Cells(NamedTuple):
    """The cells of one row; latencies in ms, None for N/A."""

    first: str
    baseline: float | None
    latency: float | None
    detail: str
    key: str
    tflops: float | None = None
    baseline_gbps: float | None = None
    gbps: float | None = None


def problem(text: str) -> str:
    """What is wrong with *text*, which is no whole row."""
    if TAIL.search(text):
        return "its numbers are cut or glued"
    if text.rstrip().endswith(("]", ")", "}")):
        return "its cells are not as the format has them"
    return "it is cut before its last cell"
