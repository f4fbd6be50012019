"""``flagkit ab``: the main job."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flagkit import errors
from flagkit.cli.asked import (
    measuring_options,
    refuse_beside_resume,
    request_from,
    stored_request,
)
from flagkit.cli.options import (
    ComposedCommand,
    PluginName,
    belonging,
    check_output,
    registry,
    reporter_options,
)
from flagkit.cli.outcome import deliver, exit_code, shown_on
from flagkit.cli.show import CampaignLog, Display, near
from flagkit.compare.verdicts import parse_fail_on
from flagkit.experiment import schedule
from flagkit.experiment.asking import Asked
from flagkit.experiment.campaign import Campaign
from flagkit.experiment.identity import identities, refuse_differences
from flagkit.experiment.lock import held
from flagkit.experiment.preflight import verify_switch
from flagkit.experiment.remembered import Remembered, users_file
from flagkit.experiment.report import write_reports
from flagkit.experiment.resuming import check_kept, check_same, unfinished
from flagkit.experiment.rundir import RunDir
from flagkit.experiment.verify import unseal
from flagkit.plugins import Kind
from flagkit.reporters.terminal import closing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flagkit.experiment.campaign import Operator
    from flagkit.interfaces import Reporter


@click.command(name="ab", cls=ComposedCommand)
@click.option("--switch", type=PluginName(Kind.SWITCH), help="What differs.")
@measuring_options
@click.option("--rounds", type=click.IntRange(1, 99), default=1, show_default=True)
@click.option("--check", is_flag=True, help="Compare the sides' outputs too.")
@click.option("--dry-run", is_flag=True, help="Show both sides and all that differs; run nothing.")
@click.option(
    "--resume",
    type=click.Path(path_type=Path),
    metavar="RUN_DIR",
    help="Go on with a run directory: finished sides are kept.",
)
@click.option(
    "--allow-diff",
    multiple=True,
    metavar="NAME",
    help="Let the sides differ in this too: a name that was refused, or device; repeatable.",
)
@click.option(
    "--no-verify",
    "verify",
    flag_value=False,
    default=True,
    help="Do not check that the switch's variables are read by what is installed.",
)
@reporter_options
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> int:
    """Run operators with the switch off (recording), then on (replaying).

    The chosen switch and backend add options of their own: see
    `flagkit ab --switch rlc --backend musa --help`.
    """
    check_output(given["output"], given["force"])
    for verdict in given["fail_on"]:
        parse_fail_on(verdict)
    found = registry(ctx)
    reporter = found.reporter(given["reporter"])
    if given["resume"] is None:
        request = request_from(given, "switch", "backend")
    else:
        refuse_beside_resume(
            ctx, {"resume", "reporter", "output", "force", "fail_on", "allow_diff", "help"}
        )
        rundir = RunDir.open(given["resume"].absolute())
        request = stored_request(rundir)
        allowed = (*request.allow_diff, *given["allow_diff"])
        request = replace(request, allow_diff=allowed)
    campaign = Campaign(request, found, os.environ)
    if given["dry_run"]:
        return _dry_run(campaign, given["runs_dir"])
    differs: tuple[str, ...] = ()
    with contextlib.ExitStack() as stack:
        if given["resume"] is not None:
            stack.enter_context(held(rundir.root))
            differs = check_kept(rundir)
        operators, identity = _checked(campaign, given["runs_dir"])
        if given["resume"] is None:
            name = f"{request.switch}-{request.backend}"
            rundir = RunDir.create(given["runs_dir"].absolute(), name, datetime.now())
            stack.enter_context(held(rundir.root))
            schedule.begin(campaign, rundir, operators, identity)
        elif unfinished(rundir, operators, request.rounds):
            differs += check_same(rundir, campaign, operators, identity)
            unseal(rundir)
        return _measure(campaign, operators, rundir, reporter, given, differs)


def _checked(
    campaign: Campaign, runs_dir: Path
) -> tuple[tuple[Operator, ...], dict[str, dict[str, str]]]:
    """The operators and what each side is, after all that is checked before a run."""
    request = campaign.request
    answer = campaign.availability()
    if not answer.ok:
        raise errors.UnavailableError("backend", request.backend, answer.reason)
    operators = campaign.operators()
    asked = Asked()
    if request.verify:
        verify_switch(campaign, Remembered(users_file(os.environ)), asked)
    for operator in operators:
        schedule.check_differences(campaign, RunDir(root=runs_dir), operator)
    identity = identities(campaign, asked)
    refuse_differences(campaign, identity)
    return operators, identity


def _measure(
    campaign: Campaign,
    operators: Sequence[Operator],
    rundir: RunDir,
    reporter: Reporter,
    given: dict[str, Any],
    differs: Sequence[str],
) -> int:
    found = campaign.registry
    options = belonging(reporter.name, given)
    terminal = found.reporter("terminal")
    own = reporter.name == "terminal" and given["output"] is None
    display = Display(
        CampaignLog(rundir.root / "campaign.log"),
        operators=len(operators),
        render=lambda report: terminal.render(
            [report], shown_on(sys.stdout if own else sys.stderr)
        ),
        results_on_stdout=own,
    )
    display.said(f"run directory: {near(rundir.root)}")
    if differs:
        display.said(f"changed since the campaign began, and allowed: {', '.join(differs)}")
    for problem in campaign.tuner_problems:
        display.said(f"not replayed: {problem}")
    result = schedule.run(campaign, rundir, operators, display, differs)
    write_reports(rundir, result.reports, found)
    if own:
        if len(result.reports) > 1:
            click.echo("\n".join(closing(result.reports)))
    elif len(result.reports) > len(result.failed):
        deliver(result.reports, reporter, options, given["output"])
    return exit_code(result.reports, given["fail_on"], failed=bool(result.failed))


def _dry_run(campaign: Campaign, runs_dir: Path) -> int:
    rundir = RunDir(root=runs_dir / "RUN")
    for operator in campaign.operators(required=False):
        before, after, found = schedule.check_differences(campaign, rundir, operator)
        click.echo(f"{operator.label}:")
        for spec in (before, after):
            click.echo(f"  {spec.side} ({campaign.switch.name} {spec.arm})")
            click.echo(f"    in {spec.cwd}")
            click.echo(f"    {shlex.join(spec.command)}")
        if campaign.switch.control:
            click.echo("  control: both sides run the same code")
        for kind, title in (("switch", "the switch"), ("private", "private paths")):
            click.echo(f"  differs, {title}:")
            for item in found:
                if item.kind == kind:
                    click.echo(
                        f"    {item.name}: {_shown(item.before)} against {_shown(item.after)}"
                    )
    return 0


def _shown(value: str | None) -> str:
    return "(unset)" if value is None else value or "(empty)"
