"""Whether a side tuned in the very process that measured it, on a device.

Tuning slows what a process measures afterwards, whatever it measures: on one H200, FlagGems'
``mm`` kernels under 6 us took 3 to 7 % longer in the process that had tried 1,826 configs than
in one that replayed its choices, and as long again in one that had tuned a single entry. So
a side that tuned is run once more, replaying, and that run is what is compared: the before side
from its own record, the after side from that record completed by what it had to decide itself.
The host's clock has shown no such thing, so that nothing is run twice there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flagkit.errors import InputError, RunError
from flagkit.experiment.rundir import RECORD, read_json, write_text
from flagkit.jsonl import read_lines
from flagkit.model import SIDES, Note

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ON_DEVICE = ("graph", "event")


def tuned_on_device(side: Path) -> int:
    """How many decisions cost timed trials in a process that timed calls on a device; else 0."""
    on_device = any(
        line.get("kind") == "call" and _resolved(line) in ON_DEVICE
        for line in read_lines(side / "measurements.jsonl")
    )
    if not on_device:
        return 0
    return sum(line.get("state") in ("recorded", "missed") for line in _decisions(side))


def complete_record(before: Path, after: Path) -> Path:
    """Write into *after* what *before* recorded, with what *after* had to decide in its place.

    The folder has the before side's plans and decisions. Those that the after side missed are
    its own there, and say so: see :func:`as_decided`. Raises :class:`flagkit.errors.RunError`.
    """
    own = [line for line in _decisions(after) if line.get("state") == "missed"]
    missed = {_identity(line) for line in own}
    kept = [line for line in _decisions(before) if _identity(line) not in missed]
    own = [{**line, "side": SIDES[1]} for line in own]
    calls = (x for x in read_lines(before / "measurements.jsonl") if x.get("kind") == "call")
    record = after / RECORD
    try:
        record.mkdir(exist_ok=True)
    except OSError as error:
        raise RunError(f"cannot make {record}: {error.strerror or error}") from error
    for name, lines in (("measurements.jsonl", calls), ("tuning.jsonl", (*kept, *own))):
        write_text(record / name, "".join(json.dumps(line) + "\n" for line in lines))
    return record


def as_decided(side: Path, lines: Sequence[Any]) -> list[Any]:
    """A side's tuning record *lines* with its own decisions as what they are: missed.

    A run that replays a completed record finds the after side's own decisions there. That
    they could be replayed does not make them the before side's.
    """
    own = _own(side)
    return [
        {**line, "state": "missed"}
        if isinstance(line, dict) and line.get("state") == "replayed" and _identity(line) in own
        else line
        for line in lines
    ]


def tuning_notes(sides: tuple[Path, Path]) -> Iterator[Note]:
    """For a report: a side that tuned where it was measured."""
    for name, side in zip(SIDES, sides, strict=True):
        count = tuned_on_device(side)
        if count:
            text = (
                f"{count} decisions of tuners fell in the process that was measured, which was "
                "seen to slow what it measures afterwards by some per cent"
            )
            yield Note(code="tuned-while-measured", text=text, side=name)


def _own(side: Path) -> frozenset[tuple[str, ...]]:
    """Decisions that *side* replayed from a completed record though they are not before's."""
    try:
        replay = read_json(side / "agent.json").get("replay")
    except InputError:
        return frozenset()
    if not isinstance(replay, str) or Path(replay).name != RECORD:
        return frozenset()
    # The run may have been moved since: the record is looked for beside this side.
    lines = _decisions(side.parent / Path(replay).parent.name / RECORD)
    return frozenset(_identity(line) for line in lines if line.get("side") == SIDES[1])


def _decisions(side: Path) -> Iterator[dict[str, Any]]:
    return (x for x in read_lines(side / "tuning.jsonl") if x.get("kind") == "decision")


def _identity(line: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(line.get(name)) for name in ("tuner", "kernel", "key"))


def _resolved(line: dict[str, object]) -> str:
    regime = line.get("regime")
    return str(regime.get("resolved")) if isinstance(regime, dict) else ""
