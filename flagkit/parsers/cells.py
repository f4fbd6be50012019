"""The cells of one printed row, and when its text is not one."""

from __future__ import annotations

import re
from typing import NamedTuple

STARTED = re.compile(
    r"SUCCESS(?: {3}|$)|(?:SUCCESS|FAILED) +-?(?:\d+\.\d|N/A|nan|inf)|FAILED {3,}(?:\d|$)"
)
"""How a row of T4b and later begins. pytest too puts FAILED at the start of lines."""

INNER = re.compile(r"(?:SUCCESS|FAILED) {3,}(?:-?\d+\.\d|N/A|nan|-?inf)")
"""A row's beginning within a line."""

TAIL = re.compile(r"(?:\d|N/A|nan|inf) {10}[\[({]")
"""The end of a row's numbers before its size detail."""


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
