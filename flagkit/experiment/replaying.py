"""What a single run replays: whether that was another build, and what could not be taken over.

``flagkit ab`` knows both its builds. A single run knows its own, and the run that it replays
says what it was on.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from flagkit.errors import InputError, UsageError
from flagkit.experiment.directories import is_side
from flagkit.experiment.identity import DEVICE
from flagkit.experiment.rundir import CAMPAIGN, RECEIPT, folder_name, read_json
from flagkit.jsonl import read_lines

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from flagkit.experiment.campaign import Operator

SHOWN = 4
"""Differences, or reasons, that one line names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A side to replay. ``differs`` names what it was run on that is another now."""

    side: Path
    differs: tuple[str, ...] = ()
    known: bool = True

    @property
    def across_builds(self) -> bool:
        """Whether kernels of another source are still the same kernels."""
        return bool(self.differs)

    def remark(self) -> str:
        """What to say before the run; empty if it is of the same build."""
        if not self.known:
            return (
                "the run that is replayed does not say what it was run on: decisions for kernels "
                "of another source are not carried over"
            )
        if not self.differs:
            return ""
        names = ", ".join(self.differs[:SHOWN]) + (", ..." if len(self.differs) > SHOWN else "")
        return (
            f"replaying another build's run ({names} differ): decisions for kernels of another "
            "source are carried over by name, key and candidates"
        )


def side_of(replay: Path, operator: Operator) -> Path:
    """The side to replay: of a single run, of a campaign, or the directory itself.

    Raises :class:`UsageError` where *replay* has none of this operator, or several and none
    of the same file.
    """
    op, file = operator.op, operator.targets["before"].path.name
    name = folder_name(op)
    own = dict.fromkeys([replay / folder_name(operator.label), replay / name])
    folders = [*own, *sorted(replay.glob(f"{name}@*"))]
    places = [place for folder in folders for place in (folder, folder / "before")] + [replay]
    told = {place.absolute(): _orders(place) for place in places if is_side(place)}
    sides = [side for side, (ran, _) in told.items() if ran in ("", op)]
    same = [side for side in sides if file in told[side][1]]
    if same or (len(sides) == 1 and operator.label == op):
        return (same or sides)[0]
    if sides and operator.label == op:
        names = ", ".join(str(side) for side in sides)
        raise UsageError(f"--replay-from {replay}: {op!r} is there more than once; name {names}")
    others = ", ".join(sorted({repr(ran) for ran, _ in told.values() if ran}))
    there = f", only of {others}" if others else ""
    raise UsageError(f"--replay-from {replay}: it has no run of {operator.label!r}{there}")


def _orders(side: Path) -> tuple[str, set[str]]:
    """The operator *side* ran, empty if that is not known, and the names in its command."""
    for name in (RECEIPT, "agent.json"):
        try:
            data = read_json(side / name)
        except InputError:
            continue
        command = data.get("command")
        words = command if isinstance(command, list) else []
        return str(data.get("op", "")), {PurePath(str(word)).name for word in words}
    return "", set()


def replay_of(side: Path, here: Mapping[str, str]) -> Replay:
    """The replay of *side* on what *here* says (``flagkit.experiment.identity``)."""
    there = recorded_identity(side)
    if not there or not here:
        return Replay(side=side, known=False)
    names = sorted({*there, *here} - {*DEVICE})  # another device is not another build
    return Replay(side=side, differs=tuple(n for n in names if there.get(n) != here.get(n)))


def recorded_identity(side: Path) -> dict[str, str]:
    """What *side* was run on, as its campaign keeps it; empty if that is not known."""
    try:
        name = read_json(side / RECEIPT).get("side")
        folder = next(f for f in (side.parent, side.parent.parent) if (f / CAMPAIGN).is_file())
        identity = read_json(folder / CAMPAIGN).get("identity")
    except (InputError, StopIteration):
        return {}
    found = identity.get(name) if isinstance(identity, dict) else None
    return {str(n): str(v) for n, v in found.items()} if isinstance(found, dict) else {}


def taken_over(side: Path) -> str:
    """What became of the decisions that *side* replayed; empty if it could take each as it was."""
    states: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for line in read_lines(side / "tuning.jsonl"):
        if line.get("kind") == "decision":
            states[str(line.get("state"))] += 1
            if line.get("state") == "missed":
                reasons[str(line.get("reason") or "no reason told")[:200]] += 1
    carried = sum(
        line.get("kind") == "note" and line.get("code") == "tuning-carried-over"
        for line in read_lines(side / "measurements.jsonl")
    )
    parts = [f"{carried} carried over to other kernels or candidates"] if carried else []
    if states["missed"]:
        told = "; ".join(f"{reason} ({count})" for reason, count in reasons.most_common(SHOWN))
        parts.append(f"{states['missed']} tuned anew: {told}")
    total = states.total()
    decisions = f"{total} tuner decision{'' if total == 1 else 's'}"
    return f"of {decisions} {', '.join(parts)}" if parts else ""
