"""Reports as one CSV table: every row of every report, paired or not."""

from __future__ import annotations

import csv
import io
import math
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
        writer = csv.DictWriter(out, COLUMNS, restval="", lineterminator="\n")
        if not options.get("no_header"):
            writer.writeheader()
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


def _lines(report: RangeReport) -> Iterator[dict[str, str]]:
    for pair in report.pairs:
        yield {"label": cell(report.label), **_paired(pair)}
    for entry in report.unpaired:
        yield {"label": cell(report.label), **_unpaired(entry)}


def _paired(pair: Pair) -> dict[str, str]:
    before, after = pair.before, pair.after
    rounds = pair.rounds if len(pair.rounds) > 1 else ()
    return {
        "op": cell(before.key.op),
        "dtype": cell(before.key.dtype),
        "size_detail": cell(before.size_detail),
        "size_key": cell(before.key.size_key),
        "occurrence": str(before.key.occurrence),
        "state": "paired",
        "before_ms": _number(before.latency_ms),
        "after_ms": _number(after.latency_ms),
        "speedup_percent": _number(pair.speedup_percent),
        "regime": cell(pair.regime),
        "mode": cell(before.mode),
        "level": cell(before.level),
        "flags": cell(" ".join(pair.flags)),
        # In brackets, since a list that starts with a sign would be a formula.
        "rounds_percent": f"[{' '.join(_number(one) for one in rounds)}]" if rounds else "",
    }


def _unpaired(entry: Unpaired) -> dict[str, str]:
    line = {"state": entry.reason, "side": entry.side, "detail": cell(entry.detail)}
    row = entry.row
    if row is None:
        assert entry.damaged is not None
        return {**line, "size_detail": cell(entry.damaged.text)}
    return {
        **line,
        "op": cell(row.key.op),
        "dtype": cell(row.key.dtype),
        "size_detail": cell(row.size_detail),
        "size_key": cell(row.key.size_key),
        "occurrence": str(row.key.occurrence),
        f"{entry.side}_ms": _number(row.latency_ms),
        "regime": cell(row.regime.label),
        "mode": cell(row.mode),
        "level": cell(row.level),
        "flags": cell(" ".join(row.flags)),
    }


def _number(value: float | None) -> str:
    return repr(value) if value is not None and math.isfinite(value) else ""
