"""What a report says beside its numbers: notes, each with a code and its figures."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from flagkit.compare.rules import distinct
from flagkit.compare.steadiness import UNSTEADY_PERCENT, widest_percent
from flagkit.model import SIDES, UNKNOWN, Note, speedup_percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from flagkit.compare.pairing import Paired
    from flagkit.compare.ticks import Ticks
    from flagkit.model import Pair, Row, RunLog

LARGE_DRIFT_PERCENT = 5.0
"""Drift of the torch column from which its rows are warned of. The worst row of the same
code run twice was 2.9 % apart under a fixed plan (13 workloads, one NVIDIA H200)."""


def remarks(
    rounds: Sequence[tuple[RunLog, RunLog]],
    pairs: Sequence[Pair],
    paired: Sequence[Paired],
    steps: Ticks,
    *,
    control: bool,
) -> tuple[Note, ...]:
    """Every note of a comparison, the ones that change how its range is read first."""
    found = [
        *(_control() if control else ()),
        *_regimes(pairs),
        *_torch_control(pairs),
        *_ticks(steps, pairs),
        *_unsteady(pairs),
        *_rounds(paired),
        *_logs(rounds),
    ]
    return tuple(dict.fromkeys(found))


def torch_drift(pairs: Iterable[Pair]) -> list[float]:
    """How far the torch column moved between the sides, in per cent, where both show it.

    The same code ran on both sides, so that it should be near zero.
    """
    return [
        speedup_percent(before, after)
        for pair in pairs
        if (before := pair.before.baseline_ms) is not None
        and (after := pair.after.baseline_ms) is not None
        and 0 < before < inf
        and 0 < after < inf
    ]


def _sides(pairs: Iterable[Pair]) -> tuple[list[Row], list[Row]]:
    return [pair.before for pair in pairs], [pair.after for pair in pairs]


def _control() -> Iterator[Note]:
    text = "control: both sides ran the same code, so that the range shows noise alone"
    yield Note(code="control", text=text)


def _regimes(pairs: Sequence[Pair]) -> Iterator[Note]:
    before, after = ([row.regime for row in rows] for rows in _sides(pairs))
    known = distinct([*before, *after])
    counts = Counter(map(id, before))
    resolved = Counter[str]()
    for key, count in counts.items():
        resolved[known[key].resolved] += count
    unknown, foreign = resolved[UNKNOWN], resolved["foreign"]
    if unknown:
        text = (
            f"{_rows(unknown)} compared though neither log tells how they were timed: "
            "a graph-timing plug-in on one side alone would not show"
        )
        yield Note(code="regime-unknown", text=text, data={"rows": unknown})
    if foreign:
        text = f"{_rows(foreign)} timed by the benchmark itself, not by flagkit's timer"
        yield Note(code="regime-foreign", text=text, data={"rows": foreign})
    if not any(regime.fell_back for regime in known.values()):
        return
    fell = Counter(
        (one.label, told.requested, told.phase, told.fallback_reason)
        for one, other in zip(before, after, strict=True)
        if (told := one if one.fell_back else other).fell_back
    )
    for (regime, requested, phase, reason), count in fell.items():
        at = f" at {phase}" if phase else ""
        text = f"{_rows(count)} timed as {regime} instead of {requested}{at}: {reason}"
        data = {"rows": count, "regime": regime, "phase": phase, "reason": reason}
        yield Note(code="fallback", text=text, data=data)


def _torch_control(pairs: Sequence[Pair]) -> Iterator[Note]:
    drift = torch_drift(pairs)
    if not drift:
        return
    low, high = min(drift), max(drift)
    off = sum(1 for one in drift if abs(one) > LARGE_DRIFT_PERCENT)
    text = f"torch column, the same code on both sides: {low:+.2f}% ~ {high:+.2f}%"
    if off:
        text += (
            f"; {off} of {_rows(len(drift))} off by more than {LARGE_DRIFT_PERCENT:g}%, "
            "so speedups of that size may be noise"
        )
    data = {
        "rows": len(drift),
        "min_percent": low,
        "max_percent": high,
        "median_percent": _median(drift),
        "large": bool(off),
    }
    yield Note(code="torch-control", text=text, data=data)


def _ticks(steps: Ticks, pairs: Sequence[Pair]) -> Iterator[Note]:
    close = 0 if steps.step_ms is None else sum("one-tick" in pair.flags for pair in pairs)
    if not close:
        return
    sides = {"before": steps.before_ns, "after": steps.after_ns}
    known = {side: step for side, step in sides.items() if step is not None}
    shown = " and ".join(f"{ns} ns" for ns in sorted(set(known.values())))
    text = f"the timer steps by {shown}; {_rows(close)} differ by no more than one step"
    if close == len(pairs):
        text += ": it cannot tell any row's sides apart"
    yield Note(code="one-tick", text=text, data={"rows": close, "tick_ns": known})


def _unsteady(pairs: Sequence[Pair]) -> Iterator[Note]:
    found = [pair for pair in pairs if "unsteady" in pair.flags]
    if not found:
        return
    count = len(found)
    widest = widest_percent(row for pair in found for row in (pair.before, pair.after))
    text = (
        f"{_rows(count)} unsteady: half of a side's windows lie more than {UNSTEADY_PERCENT:g}% "
        f"apart, up to {widest:.1f}%; speedups of that size may be noise"
    )
    yield Note(code="unsteady", text=text, data={"rows": count, "widest_percent": widest})


def _rounds(paired: Sequence[Paired]) -> Iterator[Note]:
    first, *later = paired
    if not later:
        return
    if len(paired) % 2 == 0:
        text = (
            f"{len(paired)} rounds have no middle one: each row shows the lower speedup of the two "
            "nearest, so that the range lies low; an odd number of rounds does not"
        )
        yield Note(code="rounds-even", text=text, data={"rounds": len(paired)})
    known = {*first.identities, *(identity for _, identity in first.unpaired)}
    for number, one in enumerate(later, 2):
        new = {*one.identities, *(identity for _, identity in one.unpaired)} - known
        if new:
            text = f"round {number} shows {_rows(len(new))} that round 1 does not; left out"
            yield Note(code="rounds-differ", text=text, data={"round": number, "rows": len(new)})


def _logs(rounds: Sequence[tuple[RunLog, RunLog]]) -> Iterator[Note]:
    for both in rounds:
        for side, log in zip(SIDES, both, strict=True):
            for note in log.notes:
                yield note if note.side else replace(note, side=side)


def _median(values: Sequence[float]) -> float:
    # The statistics module's, without what importing that costs every comparison.
    ordered = sorted(values)
    middle = len(ordered) // 2
    return (ordered[middle] + ordered[~middle]) / 2


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"
