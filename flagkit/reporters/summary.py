"""Many runs as one CSV table: a line for each row of each run, before any comparison."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING

from flagkit.model import UNKNOWN, is_latency
from flagkit.reporters.text import cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from flagkit.model import Damaged, Row, RunLog

COLUMNS = (
    "run",
    "op",
    "dtype",
    "size_detail",
    "status",
    "torch_ms",
    "gems_ms",
    "speedup",
    "tflops",
    "gbps",
    "mode",
    "level",
    "regime",
)
"""Stable: columns are only ever added at the end. ``speedup`` is the operator's against the
baseline (torch / gems), the sense of FlagGems' own column; recomputed, since what is printed
has three decimals."""

MAX_TEXT = 200
"""What is shown of a damaged line."""


def summary_csv(runs: Iterable[tuple[str, RunLog]]) -> str:
    """A header line and one line a row, in the order given; ``\\n`` line ends.

    :param runs: the name of each run and its log.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for name, log in runs:
        writer.writerows(_lines(name, log))
    return out.getvalue()


def _lines(name: str, log: RunLog) -> Iterator[list[str]]:
    run = cell(name)
    for row in log.rows:
        yield [run, *_cells(row)]
    for damaged in log.damaged:
        yield [run, *_damaged_cells(damaged)]


def _cells(row: Row) -> list[str]:
    torch, gems = row.baseline_ms, row.latency_ms
    speedup = torch / gems if torch and gems and is_latency(torch) and is_latency(gems) else None
    return [
        cell(row.key.op),
        cell(row.key.dtype),
        cell(row.size_detail),
        row.status,
        _number(torch),
        _number(gems),
        _number(speedup),
        _number(row.tflops),
        _number(row.gbps),
        cell(row.mode),
        cell(row.level),
        row.regime.label,
    ]


def _damaged_cells(damaged: Damaged) -> list[str]:
    text = cell(damaged.text[:MAX_TEXT])
    return [UNKNOWN, UNKNOWN, text, "damaged", *[""] * 5, UNKNOWN, UNKNOWN, UNKNOWN]


def _number(value: float | None) -> str:
    return repr(value) if value is not None and math.isfinite(value) else ""
