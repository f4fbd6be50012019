"""Reports as Markdown, for a pull request or an issue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flagkit import hookimpl
from flagkit.model import SIDES
from flagkit.reporters import text, wording

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import click

    from flagkit.interfaces import Reporter
    from flagkit.model import Range, RangeReport

RIGHT, LEFT = "--:", ":--"

DEFAULT_HEADING = 3


class MarkdownReporter:
    """A heading with the range, remarks, a table of rows, what did not pair, the ledger."""

    name = "markdown"
    summary = "tables for a pull request"
    suffix = ".md"

    def render(self, reports: Sequence[RangeReport], options: Mapping[str, Any]) -> str:
        """Option ``heading``: the level of the reports' headings, 1 to 6."""
        level = int(options.get("heading") or DEFAULT_HEADING)
        blocks = [block for report in reports for block in _report(report, "#" * level)]
        if len(reports) > 1:
            blocks.append(_closing(reports))
        return "\n\n".join(blocks) + "\n"

    def options(self) -> Sequence[click.Option]:
        """``--markdown-heading``."""
        import click

        return [
            click.Option(
                ["--markdown-heading"],
                type=click.IntRange(1, 6),
                default=DEFAULT_HEADING,
                show_default=True,
                help="Level of the reports' headings.",
            )
        ]


@hookimpl
def flagkit_reporter() -> Reporter:
    """Markdown."""
    return MarkdownReporter()


def _report(report: RangeReport, heading: str) -> Iterator[str]:
    yield f"{heading} {text.markdown(wording.headline(report))}"
    points = [*_extents(report), *_warnings(report)]
    if points:
        yield "\n".join(f"- {point}" for point in points)
    yield from _rows(report)
    if report.unpaired:
        yield "Not paired:"
        yield _unpaired(report)
    yield _ledger(report)


def _extents(report: RangeReport) -> Iterator[str]:
    main = report.range
    if main is None:
        return
    (low, low_row), (high, high_row) = wording.ends(main, report.pairs)
    yield f"lowest {low}: {text.markdown(low_row)}"
    yield f"highest {high}: {text.markdown(high_row)}"
    yield f"regime {text.markdown(main.regime)}"
    for one in report.ranges[1:]:
        yield text.markdown(wording.range_line(one, main))


def _warnings(report: RangeReport) -> Iterator[str]:
    for grave, said in wording.warnings(report):
        shown = text.markdown(said)
        yield f"**{shown}**" if grave else shown


def _rows(report: RangeReport) -> Iterator[str]:
    regimes = [one for one in report.ranges if not one.name]
    for one in regimes:
        if len(regimes) > 1:
            yield f"{text.markdown(one.regime)}:"
        yield _regime_rows(report, one)


def _regime_rows(report: RangeReport, one: Range) -> str:
    rounds = any(len(pair.rounds) > 1 for pair in report.pairs)
    flagged = any(pair.flags for pair in report.pairs if pair.regime == one.regime)
    columns = [
        ("operator", LEFT),
        ("dtype", LEFT),
        ("size", LEFT),
        ("before (ms)", RIGHT),
        ("after (ms)", RIGHT),
        ("speedup (%)", RIGHT),
        *([("rounds", RIGHT)] if rounds else []),
        *([("remarks", LEFT)] if flagged else []),
    ]
    rows = []
    for row in wording.row_texts([pair for pair in report.pairs if pair.regime == one.regime]):
        rows.append(
            [
                text.markdown(row.op),
                text.markdown(row.dtype),
                text.markdown(row.size),
                row.before,
                row.after,
                row.speedup,
                *([row.rounds] if rounds else []),
                *([text.markdown(row.flags)] if flagged else []),
            ]
        )
    return _table(columns, rows)


def _unpaired(report: RangeReport) -> str:
    columns = [
        ("side", LEFT),
        ("operator", LEFT),
        ("dtype", LEFT),
        ("size", LEFT),
        ("latency (ms)", RIGHT),
        ("reason", LEFT),
        ("detail", LEFT),
    ]
    shown = map(wording.unpaired_text, report.unpaired)
    return _table(
        columns,
        [
            [
                one.side,
                text.markdown(one.op),
                text.markdown(one.dtype),
                text.markdown(one.size),
                one.latency,
                one.reason,
                text.markdown(one.detail),
            ]
            for one in shown
        ],
    )


def _ledger(report: RangeReport) -> str:
    books = {side: getattr(report.ledger, side) for side in SIDES}
    words = {"seen": "seen", "paired": "paired", **wording.LEDGER_WORDS}
    used = [
        name
        for name in words
        if name in ("seen", "paired") or any(getattr(book, name) for book in books.values())
    ]
    columns = [("side", LEFT), *((words[name], RIGHT) for name in used)]
    rows = [[side, *(str(getattr(book, name)) for name in used)] for side, book in books.items()]
    return _table(columns, rows)


def _closing(reports: Sequence[RangeReport]) -> str:
    columns = [
        ("operator", LEFT),
        ("rows", RIGHT),
        ("lowest (%)", RIGHT),
        ("highest (%)", RIGHT),
        ("regime", LEFT),
        ("not paired", RIGHT),
        ("remarks", LEFT),
    ]
    rows = []
    for report in reports:
        one = wording.closing_text(report)
        rows.append(
            [
                text.markdown(one.label),
                one.rows,
                one.lowest,
                one.highest,
                text.markdown(one.regime),
                one.unpaired,
                text.markdown(one.remarks),
            ]
        )
    return _table(columns, rows)


def _table(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> str:
    lines = [
        [name for name, _ in columns],
        [align for _, align in columns],
        *rows,
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
