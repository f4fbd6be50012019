"""From paired rows to a report: one range a regime, and what qualifies it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from flagkit.compare.pairing import Identity, Paired, ledger_of, pair_rows, use_node
from flagkit.compare.remarks import remarks
from flagkit.compare.ticks import infer_ticks
from flagkit.errors import UsageError
from flagkit.model import SIDES, Pair, Range, RangeReport, Unpaired

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flagkit.model import RunLog, Side

WITHOUT_ONE_TICK = "without one-tick rows"
"""Name of the range that leaves out rows whose sides the timer cannot tell apart."""


def compare(before: RunLog, after: RunLog, *, label: str, control: bool = False) -> RangeReport:
    """Compare two logs. ``control``: both ran the same code, so that the range is noise."""
    return compare_rounds([(before, after)], label=label, control=control)


def compare_rounds(
    rounds: Sequence[tuple[RunLog, RunLog]], *, label: str, control: bool = False
) -> RangeReport:
    """Compare several rounds of the same two sides.

    Each round is paired on its own, and a row is in the range only if it pairs in every
    round. Its two latencies are those of the round with the median speedup (the lower one
    of two), so that they were measured together. The ledger is the first round's.
    Raises :class:`flagkit.errors.UsageError` without any round.
    """
    if not rounds:
        raise UsageError("there is no round to compare: give a before and an after log")
    nodes = use_node(log for both in rounds for log in both)
    steps = [infer_ticks(before, after) for before, after in rounds]
    paired = [
        pair_rows(before, after, nodes=nodes, tick=step.step_ms)
        for (before, after), step in zip(rounds, steps, strict=True)
    ]
    kept = _kept(paired)
    pairs = tuple(kept.values())
    unpaired = _unpaired(paired, kept)
    return RangeReport(
        label=label,
        pairs=pairs,
        unpaired=unpaired,
        ledger=ledger_of(*rounds[0], len(pairs), unpaired),
        ranges=ranges_of(pairs),
        notes=remarks(rounds, pairs, paired, steps[0], control=control),
        incomplete=_incomplete(rounds),
        receipts=_receipts(rounds),
    )


def ranges_of(pairs: Sequence[Pair]) -> tuple[Range, ...]:
    """One range a regime, most rows first; then those of the first regime that leave rows out."""
    places: dict[str, list[int]] = {}
    for place, pair in enumerate(pairs):
        places.setdefault(pair.regime, []).append(place)
    by_size = sorted(places.items(), key=lambda item: -len(item[1]))
    ranges = [_range(pairs, regime, rows) for regime, rows in by_size]
    if by_size:
        regime, rows = by_size[0]
        told_apart = [place for place in rows if "one-tick" not in pairs[place].flags]
        if told_apart and len(told_apart) < len(rows):
            ranges.append(_range(pairs, regime, told_apart, name=WITHOUT_ONE_TICK))
    return tuple(ranges)


def _range(pairs: Sequence[Pair], regime: str, places: Sequence[int], name: str = "") -> Range:
    speedup = {place: pairs[place].speedup_percent for place in places}
    lowest = min(places, key=speedup.__getitem__)
    highest = max(places, key=speedup.__getitem__)
    return Range(
        regime=regime,
        rows=len(places),
        min_percent=speedup[lowest],
        max_percent=speedup[highest],
        min_row=lowest,
        max_row=highest,
        name=name,
    )


def _kept(paired: Sequence[Paired]) -> Mapping[Identity, Pair]:
    """The pairs that every round has."""
    first, *later = paired
    if not later:
        return first.pairs
    return {
        identity: _median_round([one.pairs[identity] for one in paired])
        for identity in first.pairs
        if all(identity in one.pairs for one in later)
    }


def _median_round(rounds: Sequence[Pair]) -> Pair:
    speedups = tuple(pair.speedup_percent for pair in rounds)
    order = sorted(range(len(rounds)), key=speedups.__getitem__)
    median = rounds[order[(len(order) - 1) // 2]]
    # A one-tick difference in the round that is shown says nothing of the other rounds.
    flags = dict.fromkeys(
        flag
        for pair in (median, *rounds)
        for flag in pair.flags
        if flag != "one-tick" or pair is median
    )
    return replace(median, flags=tuple(flags), rounds=speedups)


def _unpaired(paired: Sequence[Paired], kept: Mapping[Identity, Pair]) -> tuple[Unpaired, ...]:
    first = paired[0]
    lost: list[Unpaired] = []
    for identity, pair in first.pairs.items():
        if identity not in kept:
            lost.extend(_lost(paired, identity, pair))
    entries = [*first.unpaired.values(), *lost, *first.damaged]
    return tuple(sorted(entries, key=lambda entry: SIDES.index(entry.side)))


def _lost(paired: Sequence[Paired], identity: Identity, pair: Pair) -> tuple[Unpaired, Unpaired]:
    """Both rows of a first-round pair that does not pair in some later round."""
    number, later = next(
        (number, one) for number, one in enumerate(paired, 1) if identity not in one.pairs
    )
    entries = {side: later.unpaired.get((side, identity)) for side in SIDES}

    def left(side: Side, other: Side) -> Unpaired:
        found = entries[side] or entries[other]
        reason = found.reason if found else f"missing-{other}"
        detail = found.detail if found and found.detail else "does not pair"
        row = pair.before if side == "before" else pair.after
        return Unpaired(side=side, reason=reason, row=row, detail=f"round {number}: {detail}")

    return left("before", "after"), left("after", "before")


def _incomplete(rounds: Sequence[tuple[RunLog, RunLog]]) -> tuple[str, ...]:
    reasons = Counter(
        f"{side}{f' (round {number})' if len(rounds) > 1 else ''}: {reason}"
        for number, both in enumerate(rounds, 1)
        for side, log in zip(SIDES, both, strict=True)
        for reason in log.incomplete
    )
    return tuple(
        f"{text} ({count} times)" if count > 1 else text for text, count in reasons.items()
    )


def _receipts(rounds: Sequence[tuple[RunLog, RunLog]]) -> dict[str, object]:
    return {
        side if number == 1 else f"{side}.{number}": log.receipt
        for number, both in enumerate(rounds, 1)
        for side, log in zip(SIDES, both, strict=True)
        if log.receipt is not None
    }
