"""``flagkit verify``: whether a run is still what its receipts say."""

from __future__ import annotations

from pathlib import Path

import click

from flagkit.cli import one_line
from flagkit.experiment.harness import sha256
from flagkit.experiment.rundir import RECEIPT, RunDir
from flagkit.experiment.verify import verify


@click.command(name="verify")
@click.argument("run_dir", type=click.Path(path_type=Path))
def command(run_dir: Path) -> int:
    """Re-check every digest of RUN_DIR and say what changed. Exits 1 if anything did.

    Nothing in RUN_DIR vouches for its own receipt.json: its digest is printed, to be kept
    elsewhere.
    """
    checked, problems = verify(RunDir.open(run_dir))
    for problem in problems:
        click.echo(f"flagkit: {one_line(problem)}", err=True)
    if problems:
        return 1
    own = sha256(run_dir / RECEIPT)
    click.echo(f"{run_dir}: {checked} files are as their receipts say; {RECEIPT} is {own}")
    return 0
