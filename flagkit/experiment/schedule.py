"""Runs a campaign: side after side, operator after operator, each kept as it finishes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import flagkit
from flagkit import errors
from flagkit.experiment import receipts, sides
from flagkit.experiment.excerpts import take_excerpt
from flagkit.experiment.harness import copy_harness
from flagkit.experiment.process import run_child
from flagkit.experiment.progress import RowCounter
from flagkit.experiment.remeasured import complete_record, tuned_on_device
from flagkit.experiment.report import empty_report, report_operator
from flagkit.experiment.request import steps
from flagkit.experiment.resuming import environments
from flagkit.experiment.rundir import CAMPAIGN, RECEIPT, write_json, write_text
from flagkit.experiment.suitesums import SUITE, suite_sums
from flagkit.model import SIDES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from flagkit.experiment.campaign import Campaign, Operator
    from flagkit.experiment.progress import Progress
    from flagkit.experiment.request import Step
    from flagkit.experiment.rundir import RunDir
    from flagkit.experiment.sides import Difference, SideSpec
    from flagkit.model import RangeReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a campaign came to: a report an operator, and those that ``failed`` with the reason."""

    reports: tuple[RangeReport, ...]
    failed: dict[str, str]


def begin(
    campaign: Campaign,
    rundir: RunDir,
    operators: Sequence[Operator],
    identity: Mapping[str, Mapping[str, str]],
) -> None:
    """Write what was asked, and copy the code that will measure. Both before any run.

    *identity* is what each side is (``flagkit.experiment.identity``); a side that is not in
    it is not run.
    """
    plan = [
        {"op": operator.op, "label": step.label, "side": step.side, "round": step.round}
        for operator in operators
        for step in steps(operator.label, campaign.request.rounds)
        if step.side in identity
    ]
    write_json(
        rundir.root / CAMPAIGN,
        {
            "schema": 1,
            "flagkit": flagkit.__version__,
            "created": _now(),
            "control": campaign.switch.control,
            "arms": list(campaign.switch.arms),
            "request": campaign.request.to_json(),
            "identity": identity,
            "environment": {side: environments(campaign)[side] for side in identity},
            "plan": plan,
        },
    )
    sums = suite_sums(operators)
    lines = [f"{digest}  {name}\n" for name, digest in sums.items()]
    write_text(rundir.root / SUITE, "".join(lines))
    copy_harness(rundir.harness, campaign.modules())


def run(
    campaign: Campaign,
    rundir: RunDir,
    operators: Sequence[Operator],
    progress: Progress,
    differs: Sequence[str] = (),
) -> Result:
    """Run what has no receipt yet. One operator failing does not stop the next.

    *differs*: what is another than when the campaign was begun, and allowed.
    """
    reports, failed = [], {}
    for operator in operators:
        try:
            _run_operator(campaign, rundir, operator, progress, differs)
            report = report_operator(rundir, operator.label, campaign.registry, campaign.switch)
        except errors.FlagkitError as error:
            failed[operator.label] = str(error)
            reports.append(empty_report(rundir, operator.label, str(error)))
            progress.failed(operator.label, str(error))
        else:
            reports.append(report)
            progress.reported(report)
    return Result(reports=tuple(reports), failed=failed)


def _run_operator(
    campaign: Campaign,
    rundir: RunDir,
    operator: Operator,
    progress: Progress,
    differs: Sequence[str],
) -> None:
    label = operator.label
    recorded = record = rundir.side(label, SIDES[0])
    # What replayed another record is no partner.
    fresh = dict.fromkeys(SIDES, not (recorded / RECEIPT).is_file())

    def run_one(step: Step, directory: Path, replay: Path | None, called: str = "") -> bool:
        if not fresh[step.side] and (directory / RECEIPT).is_file():
            return False
        spec = campaign.spec(operator, step, directory, rundir.harness)
        run_side(campaign, spec, replay, progress, label=label, called=called, differs=differs)
        return True

    for step in steps(label, campaign.request.rounds):
        directory = rundir.side(label, step.side, step.round)
        replay = record if step.side == SIDES[1] else recorded
        ran = run_one(step, directory, None if directory == recorded else replay)
        if step.round > 1:
            continue
        fresh[step.side] |= ran
        again = rundir.replayed(label, step.side)
        if tuned_on_device(directory):
            if step.side == SIDES[1]:
                record = complete_record(recorded, directory)
            run_one(step, again, record, f"{step.side}, replaying")
        elif ran:
            _put_aside(again)


def run_side(
    campaign: Campaign,
    spec: SideSpec,
    replay: Path | None,
    progress: Progress,
    *,
    label: str,
    called: str = "",
    across_builds: bool = False,
    differs: Sequence[str] = (),
) -> None:
    """Run one process to its receipt. Raises :class:`flagkit.errors.RunError`.

    *label*: its operator's, and *called*: the side's, for whoever watches. *differs*: see
    :func:`run`.

    *across_builds*: what is replayed is of another build, though no switch says so.
    """
    _make(spec.directory)
    orders = campaign.agent_config(spec, replay, across_builds=across_builds)
    write_json(spec.directory / "agent.json", orders)
    counter = RowCounter(spec.directory / "measurements.jsonl")
    started, mark = _now(), time.monotonic()
    progress.started(label, called or spec.side, spec.round)
    outcome = run_child(
        spec.command,
        environ=spec.environ,
        cwd=spec.cwd,
        log=spec.directory / "run.log",
        timeout_s=campaign.request.timeout_s,
        tick=lambda: progress.ticked(counter.count(), time.monotonic() - mark),
    )
    progress.ended(counter.count(), outcome.seconds, outcome.problem)
    excerpt = take_excerpt(campaign.switch, campaign.request.switch_options, spec.directory)
    data = receipts.receipt(spec, outcome, started=started, excerpt=excerpt, differs=differs)
    write_json(spec.directory / RECEIPT, data)


def check_differences(
    campaign: Campaign, rundir: RunDir, operator: Operator
) -> tuple[SideSpec, SideSpec, tuple[Difference, ...]]:
    """Both sides of an operator and all that differs between them.

    Raises :class:`flagkit.errors.UsageError` where they differ in more than the switch.
    """
    before, after = (
        campaign.spec(operator, step, rundir.side(step.label, step.side), rundir.harness)
        for step in steps(operator.label, 1)
    )
    names = campaign.switch_names()
    found = sides.differences(before, after, names)
    wrong = sides.unexplained(found, before, after, {*names, *campaign.request.allow_diff})
    if wrong:
        raise errors.UsageError(
            f"{operator.label}: the sides would differ by more than the switch: "
            f"{', '.join(wrong)}; make them equal, or allow each with --allow-diff NAME"
        )
    return before, after, found


def _make(directory: Path) -> None:
    """Make a side's directory; what an unfinished run left there is put aside, not lost."""
    _put_aside(directory)
    try:
        (directory / "caches").mkdir(parents=True)
    except OSError as error:
        raise errors.RunError(f"cannot make {directory}: {error.strerror or error}") from error


def _put_aside(directory: Path) -> None:
    if not directory.exists():
        return
    nth = 1
    while (aside := directory.with_name(f"{directory.name}.unfinished-{nth}")).exists():
        nth += 1
    try:
        directory.rename(aside)
    except OSError as error:
        raise errors.RunError(f"cannot put {directory} aside: {error.strerror or error}") from error


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
