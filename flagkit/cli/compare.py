"""``flagkit compare``: two logs, or two directories of runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flagkit.cli import uncollected
from flagkit.cli.options import (
    ComposedCommand,
    PluginName,
    belonging,
    check_output,
    registry,
    reporter_options,
)
from flagkit.cli.outcome import deliver, exit_code
from flagkit.compare.ranges import compare_rounds
from flagkit.compare.verdicts import parse_fail_on
from flagkit.parsers.reading import read_log
from flagkit.plugins import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flagkit.model import RangeReport, RunLog
    from flagkit.plugins import Registry


@click.command(name="compare", cls=ComposedCommand)
@reporter_options
@click.option("--parser", type=PluginName(Kind.PARSER), help="The logs' format.  [default: found]")
@click.option("--label", help="The report's name.  [default: the operator's]")
@click.option(
    "--round",
    "rounds",
    nargs=2,
    multiple=True,
    type=click.Path(path_type=Path, readable=False),
    metavar="BEFORE AFTER",
    help="A further round of the same pair; repeatable.",
)
@click.argument("before", type=click.Path(path_type=Path, readable=False))
@click.argument("after", type=click.Path(path_type=Path, readable=False))
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> int:
    """Pair the rows of BEFORE and AFTER and report the range of speedups.

    Each is a log of any known format or one side's directory; two directories of runs
    are paired by operator.
    """
    check_output(given["output"], given["force"])
    for verdict in given["fail_on"]:
        parse_fail_on(verdict)
    found = registry(ctx)
    reporter = found.reporter(given["reporter"])
    pairs = [(given["before"], given["after"]), *given["rounds"]]
    problems: list[str] = []
    with uncollected():
        reports = _reports(pairs, found, given["parser"], given["label"], problems)
        if reports:
            deliver(reports, reporter, belonging(reporter.name, given), given["output"])
    return exit_code(reports, given["fail_on"], failed=bool(problems))


def _reports(
    pairs: Sequence[tuple[Path, Path]],
    found: Registry,
    parser: str | None,
    label: str | None,
    problems: list[str],
) -> list[RangeReport]:
    if any(path.is_dir() for pair in pairs for path in pair):
        # Imported here: two plain logs need nothing of what reads run directories.
        from flagkit.cli.comparefolders import reports_of

        return reports_of(pairs, found, parser, label, problems)
    parsers = found.parsers()
    rounds = [
        (read_log(before, parsers, parser), read_log(after, parsers, parser))
        for before, after in pairs
    ]
    return [compare_rounds(rounds, label=label or rows_label(rounds[0], pairs[0]))]


def rows_label(logs: tuple[RunLog, RunLog], paths: tuple[Path, Path]) -> str:
    """A report's name: the one operator of its logs, else what the logs are called."""
    ops = {row.key.op for log in logs for row in log.rows}
    if len(ops) == 1:
        return ops.pop()
    return f"{paths[0].name} against {paths[1].name}"
