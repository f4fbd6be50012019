"""``flagkit verify``: whether a run is still what its receipts say."""

from __future__ import annotations

from pathlib import Path

import click

from flagkit.cli import one_line
from flagkit.experiment.rundir import RunDir
from flagkit.experiment.verify import verify


@click.command(name="verify")
@click.argument("run_dir", type=click.Path(path_type=Path))
def command(run_dir: Path) -> int:
    """Re-check every digest of RUN_DIR and say what changed. Exits 1 if anything did."""
    checked, problems = verify(RunDir.open(run_dir))
    for problem in problems:
        click.echo(f"flagkit: {one_line(problem)}", err=True)
    if problems:
        return 1
    click.echo(f"{run_dir}: {checked} files are as their receipts say")
    return 0
