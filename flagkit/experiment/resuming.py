"""Whether a campaign may go on: what is finished is as it was left, and so is all it ran on.

A side that is run later is compared with one that is finished. What they are measured on
must be the same then as within one sitting.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

import flagkit
from flagkit.errors import InputError, UsageError
from flagkit.experiment.harness import SUMS, check_sums, differing, parse_sums
from flagkit.experiment.identity import permitted
from flagkit.experiment.receipts import allowed_environment, check_receipt, is_secret
from flagkit.experiment.remeasured import tuned_on_device
from flagkit.experiment.request import steps
from flagkit.experiment.rundir import CAMPAIGN, RECEIPT, read_json
from flagkit.experiment.suitesums import SUITE, suite_sums, told
from flagkit.model import SIDES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from flagkit.experiment.campaign import Campaign, Operator
    from flagkit.experiment.rundir import RunDir

_SESSION = re.compile(
    r"(SSH_|XDG_|DBUS_|TERM|COLORTERM$|TMUX|STY$|WINDOW|VTE_|WT_|KONSOLE_|GNOME_|ITERM_|VSCODE_"
    r"|DISPLAY$|WAYLAND_|XAUTHORITY$|SHLVL$|PWD$|OLDPWD$|_$|PS\d$|PROMPT|COLUMNS$|LINES$|HIST"
    r"|LESS|LS_COLORS$|PAGER$|EDITOR$|VISUAL$|MAIL$|SHELL$|USER$|LOGNAME$|HOSTNAME$|GPG_"
    r"|INVOCATION_ID$|JOURNAL_STREAM$|SYSTEMD_|SLURM_|PBS_|LSB_|VIRTUAL_ENV_PROMPT$|CONDA_"
    r"|NO_COLOR$|FORCE_COLOR$|CLICOLOR|PYTEST_|FLAGKIT_)"
)
"""Variables of a terminal, a login or a batch job, and the host's own: each sitting has others."""

SHOWN = 3
TUNING = "tuning.jsonl"
"""What tuners decided on a side."""


def environments(campaign: Campaign) -> dict[str, dict[str, dict[str, str]]]:
    """Both sides' environments, as ``campaign.json`` keeps them: see :func:`kept_environment`."""
    return {
        side: kept_environment(campaign.environ(side), campaign.arms[side].env) for side in SIDES
    }


def kept_environment(
    environ: Mapping[str, str], names: Mapping[str, Any]
) -> dict[str, dict[str, str]]:
    """What is shown of *environ* as it is (``shown``), and tags of what is not (``others``).

    A tag is four digits of a digest: enough to see that a value is another one, too little
    to find out what it was. What looks like a secret has none, nor has what belongs to a
    terminal or a login.
    """
    shown = allowed_environment(environ, names)
    others = {
        name: hashlib.sha256(f"{name}={value}".encode("utf-8", "surrogateescape")).hexdigest()[:4]
        for name, value in sorted(environ.items())
        if name not in shown and not is_secret(name) and not _SESSION.match(name)
    }
    return {
        "shown": {n: v for n, v in shown.items() if n in names or not _SESSION.match(n)},
        "others": others,
    }


def check_kept(rundir: RunDir) -> tuple[str, ...]:
    """Tuners' records that were edited, of sides that are still to be replayed.

    Such a record is what the replaying side gets: a decision taken out of it is missed there,
    and its rows are out of every range. Raises :class:`InputError` where anything else is not
    as it was left: the code, or a finished side.
    """
    problems = [f"harness/{text}" for text in check_sums(rundir.harness)]
    problems += _since_sealed(rundir)
    replaying = {
        step.label
        for step in rundir.planned()
        if step.side != SIDES[0] and not _finished(step.directory)
    }
    edited = []
    for step in rundir.processes():
        if not _finished(step.directory):
            continue
        name = step.directory.relative_to(rundir.root).as_posix()
        for text in check_receipt(step.directory, read_json(step.directory / RECEIPT)):
            record = text == f"{TUNING}: changed" and step.side == SIDES[0]
            if record and step.label in replaying:
                edited.append(f"{name}/{TUNING}")
            else:
                problems.append(f"{name}/{text}")
    if problems:
        more = f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
        raise InputError(
            f"{rundir.root}: cannot go on, it is not as it was left: "
            f"{'; '.join(problems[:SHOWN])}{more}; start a new campaign"
        )
    return tuple(edited)


def _finished(side: Path) -> bool:
    return (side / RECEIPT).is_file()


def _since_sealed(rundir: RunDir) -> list[str]:
    """What changed since the campaign ended, where it did: its plan, digests of code, receipts."""
    path = rundir.root / RECEIPT
    data = read_json(path) if path.is_file() else {}
    recorded = data.get("digests")
    if not isinstance(recorded, dict):
        return []
    fixed = {CAMPAIGN, SUITE, f"harness/{SUMS}"}
    receipts = {name for name in recorded if str(name).endswith(f"/{RECEIPT}")}
    kept = {name: recorded[name] for name in recorded if name in fixed | receipts}
    found = check_receipt(rundir.root, {"digests": kept}, side=False)
    unfinished = {f"{name}: missing" for name in receipts}
    return [text for text in found if text not in unfinished]


def unfinished(rundir: RunDir, operators: Sequence[Operator], rounds: int) -> bool:
    """Whether a process is left to run, a side's that tuned and is run again included."""
    labels = [operator.label for operator in operators]
    planned = [step for label in labels for step in steps(label, rounds)]
    return any(
        not _finished(rundir.side(step.label, step.side, step.round)) for step in planned
    ) or any(
        tuned_on_device(rundir.side(label, side)) and not _finished(rundir.replayed(label, side))
        for label in labels
        for side in SIDES
    )


def check_same(
    rundir: RunDir,
    campaign: Campaign,
    operators: Sequence[Operator],
    identity: Mapping[str, Mapping[str, str]],
) -> tuple[str, ...]:
    """What differs from when the campaign was begun and was allowed by name.

    Raises :class:`UsageError` that names what differs and was not.
    """
    kept = rundir.campaign()
    _refuse_other_plan(rundir, operators, campaign.request.rounds)
    now = {"identity": identity, "environment": environments(campaign)}
    names = sorted({name for side in SIDES for name in _differing(kept, now, side)})
    if kept.get("flagkit") != flagkit.__version__:
        names.append("flagkit")
    changed = differing(_suite(rundir.root / SUITE), suite_sums(operators))
    shown = {name: name for name in names}
    if changed:
        shown["suite"] = f"suite ({told(changed)})"
    allowed = permitted(campaign.request.allow_diff)
    wrong = [text for name, text in shown.items() if name not in allowed]
    if wrong:
        raise UsageError(
            f"{rundir.root}: the rest would be measured on something else than what is finished: "
            f"{', '.join(wrong)}; make it as it was, start a new campaign, or allow each with "
            "--allow-diff NAME"
        )
    return tuple(shown)


def _refuse_other_plan(rundir: RunDir, operators: Sequence[Operator], rounds: int) -> None:
    planned = {(step.label, step.side, step.round) for step in rundir.planned()}
    now = {
        (step.label, step.side, step.round)
        for operator in operators
        for step in steps(operator.label, rounds)
    }
    if planned != now:
        names = ", ".join(sorted({repr(label) for label, _, _ in planned ^ now}))
        raise UsageError(
            f"{rundir.root}: its plan is not what the suite gives now: {names}; "
            "start a new campaign"
        )


def _differing(kept: Mapping[str, Any], now: Mapping[str, Any], side: str) -> set[str]:
    """Names of what is another now; what was not kept is another one too."""
    pairs = [(_dict(kept, "identity", side), now["identity"][side])]
    for part in ("shown", "others"):
        pairs.append((_dict(kept, "environment", side, part), now["environment"][side][part]))
    return {
        name for one, other in pairs for name in {*one, *other} if one.get(name) != other.get(name)
    }


def _dict(data: Any, *path: str) -> dict[str, Any]:
    for name in path:
        data = data.get(name) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def _suite(path: Path) -> dict[str, str]:
    try:
        return parse_sums(path.read_bytes())
    except OSError:
        return {}
