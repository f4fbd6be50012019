"""Reports as one CSV table: every row of every report, paired or not."""

from __future__ import annotations

from itertools import repeat
from math import isfinite
from typing import TYPE_CHECKING, Any

from flagkit import hookimpl
from flagkit.compare.rules import labels
from flagkit.reporters.text import FORMULA_STARTS, cell

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

AT_ONCE = 512
"""Rows of which all cells are in memory at a time: few enough to stay in a processor's cache."""

_QUOTE = '"'
_SUSPECT = frozenset((" ", *FORMULA_STARTS))
"""A cell may be a formula only if it starts so."""


class CsvReporter:
    """One line a row; numbers stay numbers, text is never a formula."""

    name = "csv"
    summary = "every row, for a spreadsheet"
    suffix = ".csv"

    def render(self, reports: Sequence[RangeReport], options: Mapping[str, Any]) -> str:
        """A header line and one line a row, in ``\n`` line ends."""
        lines = [] if options.get("no_header") else [",".join(COLUMNS)]
        for report in reports:
            label, pairs = _quoted(cell(report.label)), report.pairs
            for start in range(0, len(pairs), AT_ONCE):
                lines += _paired(label, pairs[start : start + AT_ONCE])
            lines += _unpaired(report)
        return "\n".join([*lines, ""])

    def options(self) -> Sequence[click.Option]:
        """``--csv-no-header``."""
        import click

        return [click.Option(["--csv-no-header"], is_flag=True, help="Leave out the first line.")]


@hookimpl
def flagkit_reporter() -> Reporter:
    """CSV."""
    return CsvReporter()


def _paired(label: str, pairs: Sequence[Pair]) -> Iterator[str]:
    # Column by column: most of them hold nothing that has to be escaped.
    before, after = [pair.before for pair in pairs], [pair.after for pair in pairs]
    keys = [row.key for row in before]
    columns = (
        repeat(label),
        _texts([key.op for key in keys]),
        _texts([key.dtype for key in keys]),
        _texts([row.size_detail for row in before]),
        _texts([key.size_key for key in keys]),
        [str(key.occurrence) for key in keys],
        repeat("paired"),
        repeat(""),
        _numbers([row.latency_ms for row in before]),
        _numbers([row.latency_ms for row in after]),
        _numbers([pair.speedup_percent for pair in pairs]),
        _texts(labels([row.regime for row in before])),
        _texts([row.mode for row in before]),
        _texts([row.level for row in before]),
        _texts([" ".join(pair.flags) for pair in pairs]),
        [_rounds(pair.rounds) for pair in pairs],
        repeat(""),
    )
    return map(",".join, zip(*columns, strict=False))


def _unpaired(report: RangeReport) -> Iterator[str]:
    label = cell(report.label)
    for entry in report.unpaired:
        yield ",".join(map(_quoted, (label, *_left_out(entry))))


def _left_out(entry: Unpaired) -> tuple[str, ...]:
    state = (entry.reason, entry.side)
    row = entry.row
    if row is None:
        assert entry.damaged is not None
        none = ("",) * 8
        return ("", "", cell(entry.damaged.text), "", "", *state, *none, cell(entry.detail))
    key, (latency,) = row.key, _numbers([row.latency_ms])
    return (
        cell(key.op),
        cell(key.dtype),
        cell(row.size_detail),
        cell(key.size_key),
        str(key.occurrence),
        *state,
        *((latency, "") if entry.side == "before" else ("", latency)),
        "",
        cell(row.regime.label),
        cell(row.mode),
        cell(row.level),
        cell(" ".join(row.flags)),
        "",
        cell(entry.detail),
    )


def _texts(texts: Sequence[str]) -> Sequence[str]:
    """A column of text: formulas disarmed, quoted where it has to be."""
    joined = "".join(texts)
    if not joined.isprintable() or not _SUSPECT.isdisjoint([text[:1] for text in texts]):
        texts = list(map(cell, texts))
        joined = "".join(texts)
    return list(map(_quoted, texts)) if "," in joined or '"' in joined else texts


def _quoted(text: str) -> str:
    return f'"{text.replace(_QUOTE, _QUOTE * 2)}"' if "," in text or _QUOTE in text else text


def _numbers(values: Sequence[float | None]) -> list[str]:
    return [repr(value) if value is not None and isfinite(value) else "" for value in values]


def _rounds(rounds: Sequence[float]) -> str:
    # In brackets, since a list that starts with a sign would be a formula.
    return f"[{' '.join(_numbers(rounds))}]" if len(rounds) > 1 else ""
