"""``flagkit summarize``: a directory of runs as one CSV."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from flagkit.cli import one_line
from flagkit.cli.options import PluginName, check_output, registry
from flagkit.errors import FlagkitError, InputError
from flagkit.experiment.directories import NO_RUNS, read_any, runs_or_logs
from flagkit.experiment.rundir import write_text
from flagkit.plugins import Kind
from flagkit.reporters.summary import summary_csv

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flagkit.model import RunLog
    from flagkit.plugins import Registry


@click.command(name="summarize")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the CSV to a file instead of stdout.",
)
@click.option("--force", is_flag=True, help="Overwrite the file given with -o.")
@click.option("--parser", type=PluginName(Kind.PARSER), help="The logs' format.  [default: found]")
@click.argument("directory", type=click.Path(path_type=Path, readable=False), metavar="DIR")
@click.pass_context
def command(
    ctx: click.Context, /, directory: Path, output: Path | None, force: bool, parser: str | None
) -> int:
    """Turn the runs below DIR into one CSV, a line a row.

    A run is a folder with a run.log or a flagkit journal in it; where DIR has none, its
    own *.log files are the runs. A run that cannot be read is named on stderr and the
    others are kept.
    """
    check_output(output, force)
    found = _runs(directory)
    if not found:
        raise InputError(f"{directory}: {NO_RUNS}")
    problems: list[str] = []
    read = list(_read(directory, found, registry(ctx), parser, problems))
    for problem in problems:
        click.echo(f"flagkit: {one_line(problem)}", err=True)
    if not read:
        raise InputError(f"{directory}: none of its {len(found)} runs has a row")
    text = summary_csv(read)
    if output is None:
        click.echo(text, nl=False)
    else:
        write_text(output, text)
    return 1 if len(read) < len(found) else 0


def _runs(directory: Path) -> list[Path]:
    if not directory.is_dir():
        what = "is not a directory" if directory.exists() else "does not exist"
        raise InputError(f"{directory} {what}: name a directory of runs")
    return runs_or_logs(directory)


def _read(
    directory: Path,
    found: list[Path],
    plugins: Registry,
    parser: str | None,
    problems: list[str],
) -> Iterator[tuple[str, RunLog]]:
    """The runs that can be read; what is wrong with the others goes to *problems*."""
    for path in found:
        name = directory.name if path == directory else path.relative_to(directory).as_posix()
        try:
            log = read_any(path, plugins, parser)
        except FlagkitError as error:
            problems.append(str(error))
            continue
        problems.extend(f"{name} is incomplete: {reason}" for reason in log.incomplete)
        yield name, log
