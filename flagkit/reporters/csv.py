"""Reports as one CSV table: every row of every report, paired or not."""

from __future__ import annotations

import csv
import io
import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from flagkit import hookimpl
from flagkit.reporters.text import cell

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import click

    from flagkit.interfaces import Reporter
    from flagkit.model import Pair, RangeReport, Unpaired

COLUMNS = (
    "label",
    "op",
    "dtype",
    "size_detail",
    "size_key",
    "occurrence",
    "state",
    "side",
    "before_ms",
    "after_ms",
    "speedup_percent",
    "regime",
    "mode",
    "level",
    "flags",
    "rounds_percent",
    "detail",
)
"""Stable: columns are only ever added at the end. ``state`` is ``paired`` or the reason."""


class CsvReporter:
    """One line a row; numbers stay numbers, text is never a formula."""

    name = "csv"
    summary = "every row, for a spreadsheet"
    suffix = ".csv"

    def render(self, reports: Sequence[RangeReport], options: Mapping[str, Any]) -> str:
        """A header line and one line a row, in ``\\n`` line ends."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        if not options.get("no_header"):
            writer.writerow(COLUMNS)
        for report in reports:
            writer.writerows(_lines(report))
        return out.getvalue()

    def options(self) -> Sequence[click.Option]:
        """``--csv-no-header``."""
        import click

        return [click.Option(["--csv-no-header"], is_flag=True, help="Leave out the first line.")]


@hookimpl
def flagkit_reporter() -> Reporter:
    """CSV."""
    return CsvReporter()


_repeated = lru_cache(maxsize=1 << 10)(cell)
"""For what stands in many rows: operators, dtypes, modes."""


def _lines(report: RangeReport) -> Iterator[tuple[str, ...]]:
    label = cell(report.label)
    for pair in report.pairs:
        yield (label, *_paired(pair))
    for entry in report.unpaired:
        yield (label, *_unpaired(entry))


def _paired(pair: Pair) -> tuple[str, ...]:
    before, after = pair.before, pair.after
    key, rounds = before.key, pair.rounds
    return (
        _repeated(key.op),
        _repeated(key.dtype),
        cell(before.size_detail),
        cell(key.size_key),
        str(key.occurrence),
        "paired",
        "",
        _number(before.latency_ms),
        _number(after.latency_ms),
        _number(pair.speedup_percent),
        _repeated(pair.regime),
        _repeated(before.mode),
        _repeated(before.level),
        _repeated(" ".join(pair.flags)),
        # In brackets, since a list that starts with a sign would be a formula.
        f"[{' '.join(map(_number, rounds))}]" if len(rounds) > 1 else "",
        "",
    )


def _unpaired(entry: Unpaired) -> tuple[str, ...]:
    state = (entry.reason, entry.side)
    row = entry.row
    if row is None:
        assert entry.damaged is not None
        none = ("",) * 8
        return ("", "", cell(entry.damaged.text), "", "", *state, *none, cell(entry.detail))
    key, latency = row.key, _number(row.latency_ms)
    return (
        _repeated(key.op),
        _repeated(key.dtype),
        cell(row.size_detail),
        cell(key.size_key),
        str(key.occurrence),
        *state,
        *((latency, "") if entry.side == "before" else ("", latency)),
        "",
        _repeated(row.regime.label),
        _repeated(row.mode),
        _repeated(row.level),
        _repeated(" ".join(row.flags)),
        "",
        cell(entry.detail),
    )


def _number(value: float | None) -> str:
    return repr(value) if value is not None and math.isfinite(value) else ""
