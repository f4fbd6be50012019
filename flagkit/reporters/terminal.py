"""Reports for a terminal: the range first, then what qualifies it, then the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flagkit import hookimpl
from flagkit.reporters import text, wording
from flagkit.reporters.layout import (
    Cells,
    Column,
    Line,
    Span,
    line,
    render,
    table,
    table_blocks,
    widest,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import click

    from flagkit.interfaces import Reporter
    from flagkit.model import Pair, RangeReport

INDENT = "  "

VISIBLE_PERCENT = 1.0
"""Speedups from which a row is coloured: most differences below are noise."""

ROW_COLUMNS = (
    Column("operator"),
    Column("dtype"),
    Column("size", shrinks=True),
    Column("before (ms)", number=True),
    Column("after (ms)", number=True),
    Column("speedup (%)", number=True),
    Column("rounds", number=True),
    Column("remarks"),
)
UNPAIRED_COLUMNS = (
    Column("side"),
    Column("operator"),
    Column("dtype"),
    Column("size", shrinks=True),
    Column("ms", number=True),
    Column("reason"),
    Column("detail"),
)
CLOSING_COLUMNS = (
    Column("operator", shrinks=True),
    Column("rows", number=True),
    Column("lowest (%)", number=True),
    Column("highest (%)", number=True),
    Column("regime"),
    Column("not paired", number=True),
    Column("remarks"),
)

SPEEDUP, REMARKS, REASON, CLOSING_REMARKS = 5, 7, 5, 6
"""Places of the coloured columns."""


class TerminalReporter:
    """Aligned text; coloured only when asked to."""

    name = "terminal"
    summary = "for reading in a terminal"
    suffix = ".txt"

    def render(self, reports: Sequence[RangeReport], options: Mapping[str, Any]) -> str:
        """Options ``width`` (columns; None: as wide as needed) and ``color`` (ANSI styles)."""
        width = options.get("width")
        paint = _painter() if options.get("color") else None
        lines: list[Line] = []
        for report in reports:
            lines += [*_report(report, width), ()]
        if len(reports) > 1:
            lines += [*closing(reports, width), ()]
        return render(lines[:-1], paint)

    def options(self) -> Sequence[click.Option]:
        """``--terminal-width`` and ``--terminal-color``."""
        import click

        return [
            click.Option(
                ["--terminal-width"],
                type=click.IntRange(min=40),
                help="Fit tables into so many columns.  [default: the terminal's]",
            ),
            click.Option(
                ["--terminal-color/--no-terminal-color"],
                default=None,
                help="Colour the report.  [default: on a terminal without NO_COLOR]",
            ),
        ]


@hookimpl
def flagkit_reporter() -> Reporter:
    """Text for a terminal."""
    return TerminalReporter()


def closing(reports: Sequence[RangeReport], width: int | None = None) -> list[Line]:
    """One line an operator: its range, its regime and how many rows are left out."""
    return table(CLOSING_COLUMNS, map(_closing_row, reports), indent="", width=width)


def _report(report: RangeReport, width: int | None) -> Iterator[Line]:
    yield line(text.plain(wording.headline(report)), "bold")
    yield from _extents(report)
    warnings = wording.warnings(report)
    if warnings:
        yield ()
    for grave, said in warnings:
        mark = Span("! ", "yellow") if grave else Span("- ", "dim")
        yield (Span(INDENT), mark, Span(text.plain(said)))
    yield from _rows(report, width)
    yield from _unpaired(report, width)
    yield ()
    for said in wording.ledger_lines(report):
        yield line(f"{INDENT}{said}", "dim")


def _extents(report: RangeReport) -> Iterator[Line]:
    main = report.range
    if main is None:
        return
    (low, low_row), (high, high_row) = wording.ends(main, report.pairs)
    wide = max(len(low), len(high))
    for name, value, row in (("lowest ", low, low_row), ("highest", high, high_row)):
        yield (
            Span(f"{INDENT}{name}  ", "dim"),
            Span(f"{value:>{wide}}  "),
            Span(text.plain(row)),
        )
    yield (Span(f"{INDENT}regime   ", "dim"), Span(text.plain(main.regime)))
    for one in report.ranges[1:]:
        yield line(f"{INDENT}{text.plain(wording.range_line(one, main))}")


def _rows(report: RangeReport, width: int | None) -> Iterator[Line]:
    regimes = [one for one in report.ranges if not one.name]
    by_op = wording.several_ops(report)
    by_regime: dict[str, list[Cells]] = {one.regime: [] for one in regimes}
    for place, pair in enumerate(report.pairs):
        by_regime[pair.regime].append(_row(place, pair, by_op))
    for one in regimes:
        yield ()
        if len(regimes) > 1:
            yield line(f"{INDENT}{text.plain(one.regime)}", "bold")
        yield from table(ROW_COLUMNS, by_regime[one.regime], indent=INDENT, width=width)


def _row(place: int, pair: Pair, by_op: bool) -> Cells:
    row = wording.row_text(place, pair)
    texts = (
        text.plain(row.op) if by_op else "",
        text.plain(row.dtype),
        text.plain(row.size),
        row.before,
        row.after,
        row.speedup,
        row.rounds,
        text.plain(row.flags),
    )
    return Cells(texts, {SPEEDUP: _tone(pair), REMARKS: "dim"})


def _unpaired(report: RangeReport, width: int | None) -> Iterator[Line]:
    if not report.unpaired:
        return
    yield ()
    yield line(f"{INDENT}not paired", "bold")
    by_op = wording.several_ops(report)
    entries = [wording.unpaired_text(entry) for entry in report.unpaired]
    rows = [_unpaired_row(one, by_op) for one in entries]
    beside = table(UNPAIRED_COLUMNS, rows, indent=INDENT, width=None)
    if width is None or widest(beside) <= width:
        yield from beside
        return
    head, *blocks = table_blocks(
        UNPAIRED_COLUMNS[:-1],
        [row._replace(texts=row.texts[:-1]) for row in rows],
        indent=INDENT,
        width=width,
    )
    yield from head
    for one, block in zip(entries, blocks, strict=True):
        yield from block
        if one.detail:
            yield line(f"{INDENT * 2}{text.plain(one.detail)}", "dim")


def _unpaired_row(one: wording.UnpairedText, by_op: bool) -> Cells:
    texts = (
        one.side,
        text.plain(one.op) if by_op else "",
        text.plain(one.dtype),
        text.plain(one.size),
        one.latency if one.latency != "-" else "",
        one.reason,
        text.plain(one.detail),
    )
    return Cells(texts, {REASON: "yellow"})


def _closing_row(report: RangeReport) -> Cells:
    one = wording.closing_text(report)
    texts = (
        text.plain(one.label),
        one.rows,
        one.lowest,
        one.highest,
        text.plain(one.regime),
        one.unpaired,
        text.plain(one.remarks),
    )
    return Cells(texts, {CLOSING_REMARKS: "yellow"})


def _tone(pair: Pair) -> str:
    value = pair.speedup_percent
    if "one-tick" in pair.flags or abs(value) < VISIBLE_PERCENT:
        return ""
    return "green" if value > 0 else "red"


def _painter() -> Callable[[str, str], str]:
    from rich.style import Style

    styles = {name: Style.parse(name) for name in ("bold", "dim", "green", "red", "yellow")}
    return lambda shown, style: styles[style].render(shown)
