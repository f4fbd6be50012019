"""Pair the rows of two logs by key. Every row ends in exactly one place.

Nothing is paired by position: the n-th row of a key pairs with the n-th only when both
sides show the key equally often, failed and invalid rows counted. Linear in the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from flagkit.compare import rules
from flagkit.model import BUCKETS, SIDES, Ledger, Pair, SideLedger, Unpaired

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from flagkit.model import Row, RunLog, Side

_Group = tuple[str, str, str, str]


class Identity(NamedTuple):
    """What a row is paired by. ``node`` is empty unless every log is journalled."""

    op: str
    dtype: str
    size_key: str
    node: str
    occurrence: int


@dataclass(frozen=True, slots=True)
class Paired:
    """One round: ``pairs`` in the before side's order, ``unpaired`` by side, then order."""

    pairs: Mapping[Identity, Pair]
    unpaired: Mapping[tuple[Side, Identity], Unpaired]
    damaged: tuple[Unpaired, ...]


@dataclass(frozen=True, slots=True)
class _Rows:
    """One side's rows in the log's order, and how often each key stands there."""

    rows: Mapping[Identity, Row]
    counts: Mapping[_Group, int]


def use_node(logs: Iterable[RunLog]) -> bool:
    """Whether every log tells its rows' test nodes, so that they are part of the keys."""
    return all(log.journalled for log in logs)


def pair_rows(before: RunLog, after: RunLog, *, nodes: bool) -> Paired:
    """Pair one round. ``nodes`` makes the test node a part of the key."""
    sides = (_identified(before.rows, nodes), _identified(after.rows, nodes))
    pairs: dict[Identity, Pair] = {}
    unpaired: dict[tuple[Side, Identity], Unpaired] = {}
    for identity, row in sides[0].rows.items():
        if _count(sides[0], identity) != _count(sides[1], identity):
            continue
        partner = sides[1].rows[identity]
        found = _judge(row, partner)
        if isinstance(found, Pair):
            pairs[identity] = found
    for side, mine, others in zip(SIDES, sides, reversed(sides), strict=True):
        for identity, row in mine.rows.items():
            if identity not in pairs:
                unpaired[side, identity] = _left(side, identity, row, mine, others)
    damaged = tuple(
        Unpaired(side=side, reason="damaged", damaged=line, detail=line.reason)
        for side, log in zip(SIDES, (before, after), strict=True)
        for line in log.damaged
    )
    return Paired(pairs=pairs, unpaired=unpaired, damaged=damaged)


def ledger_of(before: RunLog, after: RunLog, paired: int, unpaired: Sequence[Unpaired]) -> Ledger:
    """Both sides' books; raises ``ValueError`` if they do not balance."""
    counts: dict[Side, dict[str, int]] = {
        side: dict.fromkeys(BUCKETS.values(), 0) for side in SIDES
    }
    for entry in unpaired:
        counts[entry.side][BUCKETS[entry.reason]] += 1
    return Ledger(
        before=SideLedger(seen=before.seen, paired=paired, **counts["before"]),
        after=SideLedger(seen=after.seen, paired=paired, **counts["after"]),
    )


def identified(rows: Sequence[Row], nodes: bool) -> Mapping[Identity, Row]:
    """*rows* by what they are paired by, in their order, numbered anew."""
    return _identified(rows, nodes).rows


def _identified(rows: Sequence[Row], nodes: bool) -> _Rows:
    places: dict[_Group, list[int]] = {}
    groups: list[_Group] = []
    for place, row in enumerate(rows):
        key = row.key
        group = (key.op, key.dtype, key.size_key, key.node if nodes else "")
        groups.append(group)
        places.setdefault(group, []).append(place)
    numbers = [0] * len(rows)
    for same in places.values():
        if len(same) == 1:
            continue
        # A log that counts its keys is trusted, whatever order its rows come in. Across
        # test nodes the counts start anew: there only the log's order is left.
        if nodes or not any(rows[place].key.node for place in same):
            same.sort(key=lambda place: rows[place].key.occurrence)
        for nth, place in enumerate(same):
            numbers[place] = nth
    return _Rows(
        rows={
            Identity(*group, nth): row if row.key.occurrence == nth else row.numbered(nth)
            for group, nth, row in zip(groups, numbers, rows, strict=True)
        },
        counts={group: len(same) for group, same in places.items()},
    )


def _count(side: _Rows, identity: Identity) -> int:
    return side.counts.get(identity[:4], 0)


def _judge(before: Row, after: Row) -> Pair | rules.Obstacle | None:
    """The pair, what stands between two sound rows, or None where one is not sound."""
    if rules.own_trouble(before) or rules.own_trouble(after):
        return None
    found = rules.obstacle(before, after)
    return found or Pair(before=before, after=after, flags=rules.pair_flags(before, after))


def _left(side: Side, identity: Identity, row: Row, mine: _Rows, others: _Rows) -> Unpaired:
    """Where a row that did not pair ends, and why."""
    other: Side = "after" if side == "before" else "before"
    missing = f"missing-{other}"
    count, their_count = _count(mine, identity), _count(others, identity)
    if not their_count:
        reason = rules.alone(row) or missing
        return Unpaired(side=side, reason=reason, row=row, detail=row.reason)
    if count != their_count:
        detail = f"{_times(count)} {side}, {_times(their_count)} {other}"
        if row.status != "ok":
            detail += f"; this row: {_state(row)}"
        return Unpaired(side=side, reason="ambiguous", row=row, detail=detail)
    partner = others.rows[identity]
    found = _judge(row, partner) if side == "before" else _judge(partner, row)
    if isinstance(found, rules.Obstacle):
        return Unpaired(side=side, reason=found.reason, row=row, detail=found.detail)
    alone = rules.alone(row)
    if alone:
        return Unpaired(side=side, reason=alone, row=row, detail=row.reason)
    detail = f"its {other} row: {_state(partner)}"
    return Unpaired(side=side, reason=missing, row=row, detail=detail)


def _state(row: Row) -> str:
    return f"{row.status} ({row.reason})" if row.reason else row.status


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")
