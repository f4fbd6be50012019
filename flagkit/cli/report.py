"""``flagkit report``: render a finished run again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from flagkit.cli import one_line
from flagkit.cli.options import ComposedCommand, belonging, check_output, registry, reporter_options
from flagkit.cli.outcome import deliver, exit_code
from flagkit.experiment.report import report_campaign
from flagkit.experiment.rundir import RunDir


@click.command(name="report", cls=ComposedCommand)
@reporter_options
@click.argument("run_dir", type=click.Path(path_type=Path))
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> int:
    """Render RUN_DIR again, without a device."""
    check_output(given["output"], given["force"])
    found = registry(ctx)
    reporter = found.reporter(given["reporter"])
    reports, failed = report_campaign(RunDir.open(given["run_dir"]), found)
    for op, problem in failed.items():
        click.echo(f"flagkit: {one_line(op)}: {one_line(problem)}", err=True)
    if len(reports) > len(failed):
        deliver(reports, reporter, belonging(reporter.name, given), given["output"])
    return exit_code(reports, given["fail_on"], failed=bool(failed))
