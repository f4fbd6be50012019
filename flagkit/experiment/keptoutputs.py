"""Outputs that the agent kept for ``--check``: a side's journal lines and raw values.

Lines of kind ``outputs`` say what each timed call gave, ``outputs/<call>.bin`` holds a sample
of its values. Both are untrusted: whatever is missing, damaged or odd becomes a reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flagkit.errors import InputError
from flagkit.experiment.rundir import read_json
from flagkit.jsonl import read_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    Read = Callable[["Sample"], bytes]

MOST_OUTPUTS, MOST_SAMPLED = 128, 65_536
"""Of one call, and elements of one output; more is none of the agent's."""

_CALL = re.compile(r"c\d{1,12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Where raw values stand: bytes of the call's file, as runs of elements."""

    call: str
    offset: int
    length: int
    runs: int
    run: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """One kept output. ``again`` is a second run's sample where its bytes were others;
    ``repeats`` is false where the second run gave no such output at all."""

    name: str
    dtype: str = ""
    shape: tuple[int, ...] = ()
    digested: int = 0
    sha256: str = ""
    written: bool = True
    reason: str = ""
    sample: Sample | None = None
    again: Sample | None = None
    repeats: bool = True

    @property
    def count(self) -> int:
        """How many elements."""
        count = 1
        for n in self.shape:
            count *= n
        return count


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOutputs:
    """What one call gave, or why that is not known."""

    outputs: tuple[Output, ...] = ()
    reason: str = ""


def asked(side: Path) -> bool:
    """Whether the side was to keep its outputs."""
    try:
        return bool(read_json(side / "agent.json").get("check"))
    except InputError:
        return False


def read_outputs(side: Path) -> dict[str, CallOutputs]:
    """What a side's journal says of its calls' outputs, by the call's id."""
    found = {}
    for line in read_lines(side / "measurements.jsonl"):
        call, outputs = line.get("call"), line.get("outputs")
        if line.get("kind") != "outputs" or not isinstance(call, str) or not _CALL.fullmatch(call):
            continue
        try:
            parsed = tuple(_output(call, each) for each in (outputs or [])[:MOST_OUTPUTS])
            found[call] = CallOutputs(outputs=parsed, reason=str(line.get("reason") or ""))
        except (KeyError, TypeError, ValueError, AttributeError):
            found[call] = CallOutputs(reason="its line in the journal breaks the schema")
    return found


def _output(call: str, data: Mapping[str, Any]) -> Output:
    again = data.get("again")
    return Output(
        name=str(data["name"])[:200],
        dtype=str(data["dtype"])[:40],
        shape=tuple(_whole(n) for n in data["shape"]),
        digested=_whole(data["digested"]),
        sha256=str(data["sha256"]),
        written=bool(data["written"]),
        reason=str(data["reason"])[:500],
        sample=_sample(call, data["sample"]),
        again=_sample(call, again["sample"]) if again else None,
        repeats=again is None,
    )


def _sample(call: str, data: Mapping[str, Any]) -> Sample:
    names = ("offset", "bytes", "runs", "run")
    offset, length, runs, run = (_whole(data[name]) for name in names)
    if runs * run > MOST_SAMPLED or length > MOST_SAMPLED * 16:
        raise ValueError("more values than any sample has")
    return Sample(call=call, offset=offset, length=length, runs=runs, run=run)


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise ValueError(f"not a count: {value!r}")
    return value


def reader(side: Path) -> Read:
    """Reads samples of a side; what is not there is empty."""

    def read(sample: Sample) -> bytes:
        try:
            with (side / "outputs" / f"{sample.call}.bin").open("rb") as file:
                file.seek(sample.offset)
                return file.read(sample.length)
        except OSError:
            return b""

    return read
