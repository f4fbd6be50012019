"""From paired rows to a report: one range a regime, and what qualifies it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from flagkit.compare.pairing import Identity, Paired, ledger_of, pair_rows, use_node
from flagkit.compare.remarks import remarks
from flagkit.compare.rules import labels
from flagkit.compare.ticks import infer_ticks
from flagkit.errors import UsageError
from flagkit.model import SIDES, Pair, Range, RangeReport, Unpaired

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flagkit.model import RunLog, Side

WITHOUT_ONE_TICK = "without one-tick rows"
"""Name of the range that leaves out rows whose sides the timer cannot tell apart."""

OF_ONE_ROUND = ("one-tick", "unsteady")
"""Flags that tell of a round's own latencies."""


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
    pairs, lost = _settled(paired)
    entries = (*paired[0].unpaired.values(), *lost, *paired[0].damaged)
    unpaired = tuple(sorted(entries, key=lambda entry: SIDES.index(entry.side)))
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
    speedups = [pair.speedup_percent for pair in pairs]
    places: dict[str, list[int]] = {}
    for place, label in enumerate(labels([pair.before.regime for pair in pairs])):
        places.setdefault(label, []).append(place)
    by_size = sorted(places.items(), key=lambda item: -len(item[1]))
    ranges = [_range(speedups, regime, rows) for regime, rows in by_size]
    if by_size:
        regime, rows = by_size[0]
        told_apart = [place for place in rows if "one-tick" not in pairs[place].flags]
        if told_apart and len(told_apart) < len(rows):
            ranges.append(_range(speedups, regime, told_apart, name=WITHOUT_ONE_TICK))
    return tuple(ranges)


def _range(speedups: Sequence[float], regime: str, places: Sequence[int], name: str = "") -> Range:
    lowest = min(places, key=speedups.__getitem__)
    highest = max(places, key=speedups.__getitem__)
    return Range(
        regime=regime,
        rows=len(places),
        min_percent=speedups[lowest],
        max_percent=speedups[highest],
        min_row=lowest,
        max_row=highest,
        name=name,
    )


def _settled(paired: Sequence[Paired]) -> tuple[tuple[Pair, ...], list[Unpaired]]:
    """The pairs that every round has, and the rows of those that only the first one has."""
    if len(paired) == 1:
        return tuple(paired[0].pairs), []
    kept: list[Pair] = []
    lost: list[Unpaired] = []
    rounds = [one.by_identity() for one in paired]
    for identity, pair in rounds[0].items():
        without = next((place for place, one in enumerate(rounds) if identity not in one), None)
        if without is None:
            kept.append(_median_round([one[identity] for one in rounds]))
        else:
            lost.extend(_lost(paired[without], without + 1, identity, pair))
    return tuple(kept), lost


def _median_round(rounds: Sequence[Pair]) -> Pair:
    speedups = tuple(pair.speedup_percent for pair in rounds)
    order = sorted(range(len(rounds)), key=speedups.__getitem__)
    median = rounds[order[(len(order) - 1) // 2]]
    # What is said of the round that is shown says nothing of the other rounds, nor they of it.
    flags = dict.fromkeys(
        flag
        for pair in (median, *rounds)
        for flag in pair.flags
        if flag not in OF_ONE_ROUND or pair is median
    )
    return replace(median, flags=tuple(flags), rounds=speedups)


def _lost(later: Paired, number: int, identity: Identity, pair: Pair) -> tuple[Unpaired, Unpaired]:
    """Both rows of a first-round pair that does not pair in round *number*."""
    entries = {side: later.unpaired.get((side, identity)) for side in SIDES}

    def left(side: Side, other: Side) -> Unpaired:
        own, partner = entries[side], entries[other]
        missing = f"missing-{other}"
        if own is not None:
            reason, detail = own.reason, own.detail
        elif partner is not None and not partner.reason.startswith("missing"):
            reason, detail = missing, f"its {other} row: {partner.detail or partner.reason}"
        else:
            reason = partner.reason if partner is not None else missing
            detail = f"the {side} side does not show it"
        row = pair.before if side == "before" else pair.after
        detail = f"round {number}: {detail or 'does not pair'}"
        return Unpaired(side=side, reason=reason, row=row, detail=detail)

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
