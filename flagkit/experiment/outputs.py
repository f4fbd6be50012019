"""What ``--check`` found: both sides' kept outputs, compared row by row."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from flagkit.compare import rules
from flagkit.compare.closeness import compare, itemsize, tolerance
from flagkit.compare.pairing import identified, use_node
from flagkit.experiment.keptoutputs import CallOutputs, asked, read_outputs, reader
from flagkit.experiment.outputtext import notes_of, unravel, wrong_shape, wrong_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from flagkit.compare.closeness import Closeness
    from flagkit.compare.pairing import Identity
    from flagkit.experiment.keptoutputs import Output, Read, Sample
    from flagkit.model import RangeReport, Row, RunLog

    State = Literal["equal", "close", "unchecked", "wrong"]

STATES: tuple[State, ...] = ("equal", "close", "unchecked", "wrong")
"""From the best: a row is what its worst output is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What became of one row, or of one output: ``detail`` says why, ``data`` in figures.

    ``types`` are the types compared with a tolerance, ``sampled`` says that not all values were.
    """

    state: State
    detail: str = ""
    types: frozenset[str] = frozenset()
    sampled: bool = False
    data: Mapping[str, Any] = field(default_factory=dict, hash=False)


def check_outputs(
    report: RangeReport,
    sides: Sequence[tuple[Path, Path]],
    logs: Sequence[tuple[RunLog, RunLog]],
) -> RangeReport:
    """*report* with what the outputs of its rounds say: notes, and wrong rows flagged.

    Unchanged where no side was asked to keep its outputs.
    """
    if not any(asked(side) for both in sides for side in both):
        return report
    nodes = use_node(log for both in logs for log in both)
    found: dict[Identity, tuple[Row, Ruling]] = {}
    for number, (both, both_logs) in enumerate(zip(sides, logs, strict=True), 1):
        kept = [read_outputs(side) for side in both]
        readers = [reader(side) for side in both]
        for identity, before, after in _pairs(both_logs, nodes):
            ruling = rule(
                _of(kept[0], before), _of(kept[1], after), readers=(readers[0], readers[1])
            )
            if len(sides) > 1 and ruling.detail:
                ruling = replace(ruling, detail=f"round {number}: {ruling.detail}")
            old = found.get(identity)
            if old is None or STATES.index(old[1].state) < STATES.index(ruling.state):
                found[identity] = (before, ruling)
    wrong = {identity for identity, (_, ruling) in found.items() if ruling.state == "wrong"}
    pairs = tuple(
        replace(pair, flags=(*pair.flags, "wrong-result"))
        if _identity(pair.before, nodes) in wrong
        else pair
        for pair in report.pairs
    )
    said = notes_of([(row.key, ruling) for row, ruling in found.values()])
    grave = [note for note in said if note.code == "wrong-result"]
    others = [note for note in said if note.code != "wrong-result"]
    return replace(report, pairs=pairs, notes=(*grave, *report.notes, *others))


def rule(before: CallOutputs, after: CallOutputs, *, readers: tuple[Read, Read]) -> Ruling:
    """Compare one row's outputs; the worst of them decides."""
    for side, call in (("before", before), ("after", after)):
        if call.reason:
            return Ruling(state="unchecked", detail=f"{side}: {call.reason}")
    given = [[o.name for o in call.outputs if _is_result(o)] for call in (before, after)]
    if given[0] != given[1]:
        return Ruling(state="wrong", detail=wrong_shape("the call", *map(_listed, given)))
    theirs = {output.name: output for output in after.outputs}
    both = [(one, theirs[one.name]) for one in before.outputs if one.name in theirs]
    ruled = [_rule(one, other, readers) for one, other in both if one.written or other.written]
    if not ruled:
        reason = "the call returned no array and wrote none that flagkit can reach"
        return Ruling(state="unchecked", detail=reason)
    worst = max(ruled, key=lambda ruling: STATES.index(ruling.state))
    return replace(
        worst,
        types=frozenset().union(*(ruling.types for ruling in ruled)),
        sampled=any(ruling.sampled for ruling in ruled),
    )


def _rule(one: Output, other: Output, readers: tuple[Read, Read]) -> Ruling:
    reason = one.reason or other.reason
    if reason:
        return Ruling(state="unchecked", detail=f"{one.name}: {reason}")
    kinds = [f"{o.dtype} {list(o.shape)}" for o in (one, other)]
    if kinds[0] != kinds[1]:
        return Ruling(state="wrong", detail=wrong_shape(one.name, *kinds))
    if one.sha256 and (one.sha256, one.digested) == (other.sha256, other.digested):
        return Ruling(state="equal")
    if not itemsize(one.dtype):
        detail = f"{one.name}: its bytes differ, and type {one.dtype} cannot be decoded"
        return Ruling(state="unchecked", detail=detail)
    values = [_values(o, o.sample, read) for o, read in zip((one, other), readers, strict=True)]
    if values[0] is None or values[1] is None or len(values[0]) != len(values[1]):
        return Ruling(state="unchecked", detail=f"{one.name}: its kept values cannot be read")
    close = compare(one.dtype, values[0], values[1])
    sampled = close.elements < one.count
    if not close.different:
        part = f"none of {close.elements} sampled of {one.count} values does"
        reason = part if sampled else "its kept values are not those that were digested"
        return Ruling(state="unchecked", detail=f"{one.name}: its bytes differ, but {reason}")
    if not close.off:
        return Ruling(state="close", types=frozenset({one.dtype}), sampled=sampled)
    if not _repeats(one, values[0], readers[0]):
        return Ruling(
            state="unchecked",
            detail=f"{one.name}: the before side differs from itself when it runs twice with "
            "equal inputs and generators",
        )
    return _wrong(one, other, close, stable=_repeats(other, values[1], readers[1]))


def _wrong(one: Output, other: Output, close: Closeness, *, stable: bool) -> Ruling:
    assert one.sample is not None
    limit = tolerance(one.dtype)
    place = unravel(_position(one.sample, one.count, close.index), one.shape)
    data = {
        "output": one.name,
        "dtype": one.dtype,
        "place": list(place),
        "before": close.before,
        "after": close.after,
        "difference": close.difference,
        "allowed": close.allowed,
        "rtol": limit.rtol,
        "atol": limit.atol,
        "off": close.off,
        "compared": close.elements,
        "elements": one.count,
        "repeats": stable,
    }
    return Ruling(state="wrong", detail=wrong_value(data), data=data)


def _position(sample: Sample, count: int, index: int) -> int:
    """Which of the output's elements is the sample's element *index*."""
    if sample.runs < 2 or not sample.run:
        return index
    nth, within = divmod(index, sample.run)
    return nth * (count - sample.run) // (sample.runs - 1) + within


def _repeats(output: Output, values: bytes, read: Read) -> bool:
    if output.again is None:
        return output.repeats
    again = _values(output, output.again, read)
    return again is None or not compare(output.dtype, values, again).off


def _values(output: Output, sample: Sample | None, read: Read) -> bytes | None:
    """The sampled bytes; None unless they are all there."""
    size = itemsize(output.dtype)
    if sample is None or sample.length != sample.runs * sample.run * size:
        return None
    data = read(sample)
    return data if len(data) == sample.length else None


def _is_result(output: Output) -> bool:
    return output.name.startswith(("returned", "grad"))


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:4]) or "nothing"
    return shown + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _pairs(logs: tuple[RunLog, RunLog], nodes: bool) -> Iterator[tuple[Identity, Row, Row]]:
    """The rows of one round that pair, as in :mod:`flagkit.compare.pairing`."""
    rows = [identified(log.rows, nodes) for log in logs]
    counts = [Counter(identity[:4] for identity in side) for side in rows]
    for identity, before in rows[0].items():
        after = rows[1].get(identity)
        if after is None or counts[0][identity[:4]] != counts[1][identity[:4]]:
            continue
        if before.status == after.status == "ok" and rules.obstacle(before, after) is None:
            yield identity, before, after


def _identity(row: Row, nodes: bool) -> Identity:
    key = row.key
    return (key.op, key.dtype, key.size_key, key.node if nodes else "", key.occurrence)


def _of(kept: Mapping[str, CallOutputs], row: Row) -> CallOutputs:
    if not row.call:
        return CallOutputs(reason="flagkit did not time this row")
    return kept.get(row.call) or CallOutputs(reason="no outputs were kept")
