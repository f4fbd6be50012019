"""From reports to text, files and an exit code, for every command that has reports."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from flagkit.cli import one_line
from flagkit.compare.verdicts import parse_fail_on, trips, wrong_results
from flagkit.errors import NothingPairedError, calling

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import TextIO

    from flagkit.interfaces import Reporter
    from flagkit.model import RangeReport

PIECE = 1 << 16
"""Characters of a report printed at a time."""


def deliver(
    reports: Sequence[RangeReport],
    reporter: Reporter,
    options: Mapping[str, Any],
    output: Path | None,
) -> None:
    """Render and write: to *output*, else to stdout."""
    given = {name: value for name, value in options.items() if value not in (None, False)}
    hints = shown_on(sys.stdout) if output is None else {}
    with calling("reporter", reporter.name, "render"):
        text = reporter.render(reports, {**options, **hints, **given})
        text = text if text.endswith("\n") else text + "\n"
    if output is None:
        _print(text)
    else:
        from flagkit.experiment.rundir import write_text

        write_text(output, text)


def _print(text: str) -> None:
    if "\x1b" in text:
        click.echo(text, nl=False)
        return
    # What has no styles need not be searched for them, where stdout is no terminal. In pieces,
    # since all that is written is copied first.
    for start in range(0, len(text), PIECE):
        click.echo(text[start : start + PIECE], nl=False, color=True)


def shown_on(stream: TextIO) -> dict[str, Any]:
    """What a reporter may know of the terminal it is shown on; empty for a pipe or a file."""
    if not stream.isatty():
        return {}
    import shutil

    width = shutil.get_terminal_size().columns
    return {"width": width, "color": not os.environ.get("NO_COLOR")}


def exit_code(
    reports: Sequence[RangeReport], fail_on: Sequence[str], *, failed: bool = False
) -> int:
    """The command's code; raises :class:`NothingPairedError` if no report has a pair.

    A run that failed (``failed``, one whose report is incomplete, or one with a row that is
    marked as failed) gives 1, though its reports stand. A tripped ``--fail-on`` is told on stderr and outranks that. A wrong
    result is told there too, gives 1, and outranks everything.
    """
    wrong = [(report.label, said) for report in reports if (said := wrong_results(report))]
    for label, said in wrong:
        click.echo(f"flagkit: {one_line(label)}: {said}", err=True)
    if wrong:
        return 1
    failed = failed or any(report.incomplete or _failed_rows(report) for report in reports)
    if not any(report.pairs for report in reports):
        if failed and not any(report.unpaired for report in reports):
            return 1
        raise NothingPairedError(
            "nothing was paired, so there is no range: see the rows listed as unpaired"
        )
    for verdict in fail_on:
        rule = parse_fail_on(verdict)
        for report in reports:
            reason = trips(report, rule)
            if reason:
                click.echo(f"flagkit: --fail-on {verdict}: {reason}", err=True)
                return rule.exit_code
    return 1 if failed or not all(report.pairs for report in reports) else 0


def _failed_rows(report: RangeReport) -> bool:
    return any(book.failed for book in (report.ledger.before, report.ledger.after))
