"""Sides and directories of runs, as ``flagkit compare`` takes them besides logs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from flagkit.cli import one_line
from flagkit.cli.compare import rows_label
from flagkit.compare.ranges import compare_rounds
from flagkit.errors import NothingPairedError, UsageError
from flagkit.experiment.directories import Found, by_operator, is_side, journalled_side, read_any
from flagkit.model import RunLog

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from flagkit.model import Note, RangeReport
    from flagkit.plugins import Registry


def reports_of(
    pairs: Sequence[tuple[Path, Path]],
    found: Registry,
    parser: str | None,
    label: str | None,
    problems: list[str],
) -> list[RangeReport]:
    """One report of sides and logs, or one for each operator of directories of runs."""
    folders = [path.is_dir() and not is_side(path) for pair in pairs for path in pair]
    if any(folders):
        if not all(folders):
            raise UsageError("compare two logs or two directories of runs, not one of each")
        return _by_operator(pairs, found, parser, problems)
    rounds, notes = [], []
    for pair in pairs:
        before, after = (
            Found(log=read_any(path, found, parser), side=journalled_side(path)) for path in pair
        )
        logs, remarks = _ruled(before, after)
        rounds.append(logs)
        notes += remarks
    return [_noted(compare_rounds(rounds, label=label or rows_label(rounds[0], pairs[0])), notes)]


def _ruled(before: Found, after: Found) -> tuple[tuple[RunLog, RunLog], list[Note]]:
    """Both logs, ruled by their tuners' records where both are sides with a journal."""
    if before.side is None or after.side is None:
        return (before.log, after.log), []
    # Imported here: two plain logs need nothing of it, and it takes as long as reading one.
    from flagkit.experiment.remeasured import tuning_notes
    from flagkit.experiment.report import certificate_notes, certified

    one, other, certificate = certified(before.side, after.side, before.log, after.log)
    notes = [*certificate_notes(certificate), *tuning_notes((before.side, after.side))]
    return (one, other), notes


def _noted(report: RangeReport, notes: Sequence[Note]) -> RangeReport:
    return replace(report, notes=(*report.notes, *notes))


def _by_operator(
    pairs: Sequence[tuple[Path, Path]], found: Registry, parser: str | None, problems: list[str]
) -> list[RangeReport]:
    """A report for each operator; what could not be read is told, and added to *problems*."""
    sides = [by_operator(path, found, parser) for pair in pairs for path in pair]
    for problem in dict.fromkeys(problem for side in sides for problem in side.problems):
        problems.append(problem)
        click.echo(f"flagkit: {one_line(problem)}", err=True)
    before, after = sides[0].found, sides[1].found
    refused = frozenset().union(*(side.refused for side in sides))
    if not refused and not before.keys() & after.keys():
        raise NothingPairedError(
            f"no operator is in both directories: {', '.join(before)} against {', '.join(after)}"
        )
    reports = []
    for op in dict.fromkeys([*before, *after]):
        if op in refused:
            continue
        logs = [side.found.get(op, _none(op)) for side in sides]
        ruled = [_ruled(b, a) for b, a in zip(logs[::2], logs[1::2], strict=True)]
        report = compare_rounds([both for both, _ in ruled], label=op)
        reports.append(_noted(report, [note for _, notes in ruled for note in notes]))
    return reports


def _none(op: str) -> Found:
    return Found(log=RunLog(incomplete=(f"it has no run of {op}",)))
