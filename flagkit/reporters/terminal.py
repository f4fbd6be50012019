"""Reports for a terminal: the range first, then what qualifies it, then the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flagkit import hookimpl
from flagkit.compare.rules import labels
from flagkit.reporters import text, wording
from flagkit.reporters.layout import (
    Cells,
    Column,
    aligned,
    table,
    table_blocks,
    table_width,
    unpainted,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import click

    from flagkit.interfaces import Reporter
    from flagkit.model import Pair, RangeReport
    from flagkit.reporters.layout import Paint

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
"""In the order of :class:`flagkit.reporters.wording.RowText`."""

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

ROW_STYLES = {tone: {SPEEDUP: tone, REMARKS: "dim"} for tone in ("", "green", "red")}


class TerminalReporter:
    """Aligned text; coloured only when asked to."""

    name = "terminal"
    summary = "for reading in a terminal"
    suffix = ".txt"

    def render(self, reports: Sequence[RangeReport], options: Mapping[str, Any]) -> str:
        """Options ``width`` (columns; None: as wide as needed) and ``color`` (ANSI styles)."""
        width = options.get("width")
        paint = _painter() if options.get("color") else unpainted
        parts: list[Iterable[str]] = [_report(report, width, paint) for report in reports]
        if len(reports) > 1:
            parts.append(closing(reports, width, paint))
        return "\n\n".join("\n".join(map(str.rstrip, lines)) for lines in parts) + "\n"

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


def closing(
    reports: Sequence[RangeReport], width: int | None = None, paint: Paint = unpainted
) -> Iterable[str]:
    """One line an operator: its range, its regime and how many rows are left out."""
    return table(CLOSING_COLUMNS, map(_closing_row, reports), indent="", width=width, paint=paint)


def _report(report: RangeReport, width: int | None, paint: Paint) -> Iterator[str]:
    yield paint(text.plain(wording.headline(report)), "bold")
    yield from _extents(report, paint)
    warnings = wording.warnings(report)
    if warnings:
        yield ""
    for grave, said in warnings:
        mark = paint("! ", "yellow") if grave else paint("- ", "dim")
        yield f"{INDENT}{mark}{text.plain(said)}"
    yield from _rows(report, width, paint)
    yield from _unpaired(report, width, paint)
    yield ""
    for said in wording.ledger_lines(report):
        yield paint(f"{INDENT}{said}", "dim")


def _extents(report: RangeReport, paint: Paint) -> Iterator[str]:
    main = report.range
    if main is None:
        return
    (low, low_row), (high, high_row) = wording.ends(main, report.pairs)
    wide = max(len(low), len(high))
    for name, value, row in (("lowest ", low, low_row), ("highest", high, high_row)):
        yield f"{paint(f'{INDENT}{name}  ', 'dim')}{value:>{wide}}  {text.plain(row)}"
    yield f"{paint(f'{INDENT}regime   ', 'dim')}{text.plain(main.regime)}"
    for one in report.ranges[1:]:
        yield f"{INDENT}{text.plain(wording.range_line(one, main))}"


def _rows(report: RangeReport, width: int | None, paint: Paint) -> Iterator[str]:
    regimes = [one for one in report.ranges if not one.name]
    by_op = wording.several_ops(report)
    by_regime: dict[str, list[Pair]] = {one.regime: [] for one in regimes}
    told = labels([pair.before.regime for pair in report.pairs])
    for pair, regime in zip(report.pairs, told, strict=True):
        by_regime[regime].append(pair)
    for one in regimes:
        yield ""
        if len(regimes) > 1:
            yield paint(f"{INDENT}{text.plain(one.regime)}", "bold")
        yield from _table(by_regime[one.regime], by_op, width, paint)


def _table(pairs: Sequence[Pair], by_op: bool, width: int | None, paint: Paint) -> list[str]:
    ops, *others = map(text.plain_all, wording.row_columns(pairs))
    cells = [ops if by_op else [""] * len(pairs), *others]
    if width is None and paint is unpainted:
        return aligned(ROW_COLUMNS, cells, indent=INDENT)
    styles = [ROW_STYLES[_tone(pair)] for pair in pairs]
    rows = map(Cells, zip(*cells, strict=True), styles)
    return table(ROW_COLUMNS, rows, indent=INDENT, width=width, paint=paint)


def _unpaired(report: RangeReport, width: int | None, paint: Paint) -> Iterator[str]:
    if not report.unpaired:
        return
    yield ""
    yield paint(f"{INDENT}not paired", "bold")
    by_op = wording.several_ops(report)
    entries = [wording.unpaired_text(entry) for entry in report.unpaired]
    rows = [_unpaired_row(one, by_op) for one in entries]
    if width is None or table_width(UNPAIRED_COLUMNS, rows, indent=INDENT) <= width:
        yield from table(UNPAIRED_COLUMNS, rows, indent=INDENT, width=None, paint=paint)
        return
    head, *blocks = table_blocks(
        UNPAIRED_COLUMNS[:-1],
        [row._replace(texts=row.texts[:-1]) for row in rows],
        indent=INDENT,
        width=width,
        paint=paint,
    )
    yield from head
    for one, block in zip(entries, blocks, strict=True):
        yield from block
        if one.detail:
            yield paint(f"{INDENT * 2}{text.plain(one.detail)}", "dim")


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


def _painter() -> Paint:
    from rich.style import Style

    styles = {name: Style.parse(name) for name in ("bold", "dim", "green", "red", "yellow")}
    return lambda shown, style: styles[style].render(shown)
