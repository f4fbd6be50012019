"""Whether a side tuned in the very process that measured it, on a device.

Tuning slows what a process measures afterwards, whatever it measures: on one H200, FlagGems'
``mm`` kernels under 6 us took 2 to 6 % longer in the process that had tried 1,826 configs than
in one that replayed its choices, and as long again in one that had tuned a single entry. So
the before side, which records, is run once more and replays its own record; that run is what
is compared. The host's clock has shown no such thing, so that nothing is run twice there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flagkit.jsonl import read_lines
from flagkit.model import SIDES, Note

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ON_DEVICE = ("graph", "event")


def tuned_on_device(side: Path) -> int:
    """How many decisions cost timed trials in a process that timed calls on a device; else 0."""
    on_device = any(
        line.get("kind") == "call" and _resolved(line) in ON_DEVICE
        for line in read_lines(side / "measurements.jsonl")
    )
    if not on_device:
        return 0
    return sum(
        line.get("kind") == "decision" and line.get("state") in ("recorded", "missed")
        for line in read_lines(side / "tuning.jsonl")
    )


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


def _resolved(line: dict[str, object]) -> str:
    regime = line.get("regime")
    return str(regime.get("resolved")) if isinstance(regime, dict) else ""
