"""``flagkit run``: one side by itself."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flagkit import errors
from flagkit.cli.asked import measuring_options, request_from
from flagkit.cli.options import ComposedCommand, registry
from flagkit.cli.show import CampaignLog, Display, near
from flagkit.experiment import schedule
from flagkit.experiment.campaign import Campaign
from flagkit.experiment.collect import collect
from flagkit.experiment.identity import identity
from flagkit.experiment.lock import held
from flagkit.experiment.replaying import Replay, replay_of, side_of, taken_over
from flagkit.experiment.request import Step
from flagkit.experiment.rundir import RECEIPT, RunDir, folder_name
from flagkit.experiment.verify import seal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flagkit.experiment.campaign import Operator
    from flagkit.model import Side


@click.command(name="run", cls=ComposedCommand)
@measuring_options
@click.option(
    "--replay-from",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Replay the plans and tuner decisions of an earlier `flagkit run` or `flagkit ab`.",
)
@click.option(
    "--record",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Record into DIR.  [default: a new directory in --runs-dir]",
)
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> int:
    """Run one side: each operator's benchmark once, recorded or replayed.

    Two such runs are compared with `flagkit compare DIR DIR`.
    """
    if given["record"] and given["replay_from"]:
        raise errors.UsageError("--record and --replay-from exclude each other")
    replay = given["replay_from"]
    if replay is not None and not replay.is_dir():
        raise errors.UsageError(f"--replay-from {replay}: no such directory")
    campaign = Campaign(request_from({**given, "switch": ""}, "backend"), registry(ctx), os.environ)
    answer = campaign.availability()
    if not answer.ok:
        raise errors.UnavailableError("backend", given["backend"], answer.reason)
    operators = campaign.operators()
    side: Side = "before" if replay is None else "after"
    here = identity(campaign, side)
    replays = {
        operator.label: replay_of(side_of(replay, operator), here) if replay else None
        for operator in operators
    }
    rundir = _directory(given)
    with held(rundir.root):
        schedule.begin(campaign, rundir, operators, {side: here})
        return _measure(campaign, rundir, operators, replays)


def _measure(
    campaign: Campaign,
    rundir: RunDir,
    operators: Sequence[Operator],
    replays: Mapping[str, Replay | None],
) -> int:
    display = Display(
        CampaignLog(rundir.root / "campaign.log"),
        operators=len(operators),
        render=lambda report: "",
        results_on_stdout=False,
    )
    display.said(f"run directory: {near(rundir.root)}")
    for remark in dict.fromkeys(found.remark() for found in replays.values() if found):
        if remark:
            display.said(remark)
    failed = False
    for operator in operators:
        try:
            problem = _one(campaign, rundir, operator, replays[operator.label], display)
        except errors.FlagkitError as error:
            problem = str(error)
        if problem:
            failed = True
            display.failed(operator.label, problem)
    seal(rundir)
    return 1 if failed else 0


def _one(
    campaign: Campaign, rundir: RunDir, operator: Operator, replay: Replay | None, display: Display
) -> str:
    """Run one operator; what is wrong with it, empty if nothing."""
    label = operator.label
    directory = rundir.root / folder_name(label)
    if (directory / RECEIPT).is_file():
        raise errors.RunError(f"{directory} holds a finished run; record into another directory")
    step = Step(label=label, side="after" if replay else "before", round=1)
    spec = campaign.spec(operator, step, directory, rundir.harness)
    if replay is None:
        schedule.run_side(campaign, spec, None, display, label=label)
    else:
        across = replay.across_builds
        schedule.run_side(campaign, spec, replay.side, display, label=label, across_builds=across)
        if told := taken_over(directory):
            display.said(f"{label}: {told}")
    log = collect(directory, campaign.registry)
    click.echo(f"{label}: {len(log.rows)} rows in {near(directory)}")
    return "; ".join(log.incomplete)


def _directory(given: dict[str, Any]) -> RunDir:
    if given["record"] is None:
        name = f"run-{given['backend']}"
        return RunDir.create(given["runs_dir"].absolute(), name, datetime.now())
    root = given["record"].absolute()
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise errors.RunError(f"cannot make {root}: {error.strerror or error}") from error
    if any(root.iterdir()):
        raise errors.UsageError(f"--record {given['record']}: the directory is not empty")
    return RunDir(root=root)
