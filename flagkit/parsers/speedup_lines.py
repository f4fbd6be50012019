"""One vendor's lines of 2024: an operator's name, then a line a size, in tab-separated cells.

Each line has a pair of latencies (torch, gems) for each dtype, but names none of them, so
the pairs are told apart by their place. Every line ends with a tab: one without was cut.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from flagkit.model import UNKNOWN
from flagkit.parsers.rows import make_row

if TYPE_CHECKING:
    from flagkit.model import Row, Source

PREFIX = "Operator_Speedup_Test_Result\t"

_NUMBER = re.compile(r"\d+\.\d+(?:e[-+]\d+)?|nan|inf")
_NAME = re.compile(r"[A-Za-z_][\w.]*(?: backward)?")


class SpeedupLine(NamedTuple):
    """What one line says: an operator (then ``size`` is empty), or a size's latencies in ms."""

    op: str = ""
    size: str = ""
    pairs: tuple[tuple[float, float], ...] = ()


def read_line(text: str) -> SpeedupLine | str | None:
    """The line's content; a text that says what is wrong with it; None for other lines."""
    _, found, rest = text.partition(PREFIX)
    if not found:
        return None
    if _NAME.fullmatch(rest.strip()):
        return SpeedupLine(op=rest.strip())
    size, *cells = rest.split("\t")
    if not text.endswith("\t") or len(cells) < 3 or len(cells) % 2 == 0:
        return "it is cut before its last cell"
    numbers = cells[:-1]
    if not all(_NUMBER.fullmatch(cell) for cell in numbers) or not size.strip():
        return "its cells are not latencies"
    values = [float(cell) for cell in numbers]
    return SpeedupLine(size=size.strip(), pairs=tuple(zip(values[::2], values[1::2], strict=True)))


class SpeedupLines:
    """Follows such lines: a size's line belongs to the operator that was named last."""

    def __init__(self) -> None:
        self._op = UNKNOWN

    def take(self, text: str, source: Source) -> list[Row] | str:
        """The rows of one line, one of each dtype; or what is wrong with it."""
        line = read_line(text)
        if line is None or isinstance(line, str):
            return line or []
        self._op = line.op or self._op
        return [
            make_row(
                op=self._op,
                dtype=UNKNOWN,
                size_detail=line.size if column == 1 else f"{line.size} column={column}",
                latency_ms=latency,
                baseline_ms=baseline,
                source=source,
            )
            for column, (baseline, latency) in enumerate(line.pairs, 1)
        ]
