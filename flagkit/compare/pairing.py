"""Pair the rows of two logs by key. Every row ends in exactly one place.

Nothing is paired by position: the n-th row of a key pairs with the n-th only when both
sides show the key equally often, failed and invalid rows counted, and nothing makes that doubtful
(:mod:`flagkit.compare.doubts`). Linear in the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from flagkit.compare import rules
from flagkit.compare.ticks import within_one_tick
from flagkit.drafts import draft_of
from flagkit.model import (
    BUCKETS,
    SEVERAL_TABLES,
    SIDES,
    UNKNOWN,
    Ledger,
    Pair,
    SideLedger,
    Unpaired,
    speedup_percent,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from flagkit.model import Row, RunLog, Side

Identity = tuple[str, str, str, str, int]
"""What a row is paired by: op, dtype, size key, node and occurrence.

The node is empty unless every log is journalled. A bare tuple, since the garbage collector
looks at every named one again and again.
"""


_PairDraft = draft_of(Pair)


class Paired(NamedTuple):
    """One round: ``pairs`` in the before side's order, ``unpaired`` by side, then order.

    ``identities`` are those of ``pairs``: a dictionary of both is made only where there are
    several rounds to look things up in.
    """

    identities: Sequence[Identity]
    pairs: Sequence[Pair]
    unpaired: Mapping[tuple[Side, Identity], Unpaired]
    damaged: tuple[Unpaired, ...]

    def by_identity(self) -> dict[Identity, Pair]:
        """The pairs by what they are paired by."""
        return dict(zip(self.identities, self.pairs, strict=True))


class _Rows(NamedTuple):
    """One side's rows in the log's order.

    ``repeats`` tells how often a key stands there, by the identity of its first row, for
    keys that stand there several times.
    """

    rows: Mapping[Identity, Row]
    repeats: Mapping[Identity, int]

    def count(self, identity: Identity) -> int:
        """How often the key of *identity* stands there."""
        first = _first(identity)
        return self.repeats.get(first, 1 if first in self.rows else 0)


def use_node(logs: Iterable[RunLog]) -> bool:
    """Whether every log tells its rows' test nodes, so that they are part of the keys."""
    return all(log.journalled for log in logs)


def pair_rows(before: RunLog, after: RunLog, *, nodes: bool, tick: float | None = None) -> Paired:
    """Pair one round.

    :param nodes: the test node is a part of the key.
    :param tick: the timer's step in ms, where it has one that matters.
    """
    mine, theirs = _identified(before.rows, nodes), _identified(after.rows, nodes)
    uneven = {first for first, count in mine.repeats.items() if theirs.repeats.get(first) != count}
    uneven |= theirs.repeats.keys() - mine.repeats.keys()
    doubtful = _doubtful((before, mine), (after, theirs))
    uneven |= doubtful.keys()
    identities: list[Identity] = []
    pairs: list[Pair] = []
    left: list[Identity] = []
    for identity, row in mine.rows.items():
        partner = theirs.rows.get(identity)
        pair = None
        if partner is not None and not (uneven and _first(identity) in uneven):
            pair = _pair(row, partner, tick)
        if pair is None:
            left.append(identity)
        else:
            identities.append(identity)
            pairs.append(pair)
    unpaired: dict[tuple[Side, Identity], Unpaired] = {
        ("before", identity): _left("before", identity, mine, theirs, doubtful) for identity in left
    }
    for identity in _left_after(left, mine, theirs):
        unpaired["after", identity] = _left("after", identity, theirs, mine, doubtful)
    damaged = tuple(
        Unpaired(side=side, reason="damaged", damaged=line, detail=line.reason)
        for side, log in zip(SIDES, (before, after), strict=True)
        for line in log.damaged
    )
    return Paired(identities=identities, pairs=pairs, unpaired=unpaired, damaged=damaged)


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
    placed: dict[Identity, Row] = {}
    repeats: dict[Identity, int] = {}
    turned: set[Identity] = set()
    for row in rows:
        key = row.key
        node = key.node if nodes else ""
        identity = first = (key.op, key.dtype, key.size_key, node, 0)
        if first in placed:
            nth = repeats.get(first, 1)
            repeats[first] = nth + 1
            identity = (key.op, key.dtype, key.size_key, node, nth)
        placed[identity] = row
        if key.occurrence != identity[4]:
            turned.add(first)
    if not turned:
        return _Rows(rows=placed, repeats=repeats)
    found = list(placed)
    # A log that counts its keys is trusted, whatever order its rows come in. Across test
    # nodes the counts start anew: there only the log's order is left.
    if nodes or not any(row.key.node for row in rows):
        _renumber(found, rows, turned)
    return _Rows(
        rows={
            identity: row if row.key.occurrence == identity[4] else row.numbered(identity[4])
            for identity, row in zip(found, rows, strict=True)
        },
        repeats=repeats,
    )


def _renumber(found: list[Identity], rows: Sequence[Row], turned: set[Identity]) -> None:
    """Number the rows of the keys of *turned* in the order of their own occurrences."""
    places: dict[Identity, list[int]] = {first: [] for first in turned}
    for place, identity in enumerate(found):
        first = _first(identity)
        if first in places:
            places[first].append(place)
    for first, same in places.items():
        same.sort(key=lambda place: rows[place].key.occurrence)
        for nth, place in enumerate(same):
            found[place] = (*first[:4], nth)


def _first(identity: Identity) -> Identity:
    """The first row of the same key."""
    return (*identity[:4], 0) if identity[4] else identity


def _doubtful(*sides: tuple[RunLog, _Rows]) -> Mapping[Identity, str]:
    """Keys that may be another row's, and why, by the identity of their first row."""
    untold = any(UNKNOWN in {identity[0] for identity in rows.rows} for _, rows in sides)
    alike = any(
        SEVERAL_TABLES in rows.rows[first].flags for _, rows in sides for first in rows.repeats
    )
    if not (untold or alike or all(log.damaged for log, _ in sides)):
        return {}
    # Loaded here: few pairs of logs raise a doubt.
    from flagkit.compare.doubts import doubts

    before, after = ((log, rows.rows) for log, rows in sides)
    return doubts(before, after)


def _is_sound(before: Row, after: Row) -> bool:
    return before.status == "ok" and after.status == "ok"


def _pair(before: Row, after: Row, tick: float | None) -> Pair | None:
    """The pair of two rows of one key, or None if they may not be divided."""
    if not _is_sound(before, after):
        return None
    flags: tuple[str, ...] = ()
    if not rules.only_numbers(before, after):
        if rules.obstacle(before, after) is not None:
            return None
        flags = rules.pair_flags(before, after)
    if tick is not None and within_one_tick(before, after, tick):
        flags = (*flags, "one-tick")
    assert before.latency_ms is not None and after.latency_ms is not None
    pair = _PairDraft()
    pair.before, pair.after, pair.flags = before, after, flags
    pair.rounds = (speedup_percent(before.latency_ms, after.latency_ms),)
    pair.__class__ = Pair
    return pair  # type: ignore[no-any-return]


def _left_after(left: Sequence[Identity], mine: _Rows, theirs: _Rows) -> Iterator[Identity]:
    """The after side's rows that did not pair, in their order, by the before side's *left*."""
    found = {identity for identity in left if identity in theirs.rows}
    if len(theirs.rows) - len(found) > len(mine.rows) - len(left):
        found |= theirs.rows.keys() - mine.rows.keys()
    return filter(found.__contains__, theirs.rows) if found else iter(())


def _left(
    side: Side, identity: Identity, mine: _Rows, others: _Rows, doubtful: Mapping[Identity, str]
) -> Unpaired:
    """Where a row that did not pair ends, and why."""
    row = mine.rows[identity]
    other: Side = "after" if side == "before" else "before"
    missing = f"missing-{other}"
    count, their_count = mine.count(identity), others.count(identity)
    if not their_count:
        reason = rules.alone(row) or missing
        return Unpaired(side=side, reason=reason, row=row, detail=row.reason)
    if count != their_count:
        detail = f"{_times(count)} {side}, {_times(their_count)} {other}"
        if row.status != "ok":
            detail += f"; this row: {_state(row)}"
        return Unpaired(side=side, reason="ambiguous", row=row, detail=detail)
    if doubt := doubtful.get(_first(identity)):
        detail = doubt if row.status == "ok" else f"{doubt}; this row: {_state(row)}"
        return Unpaired(side=side, reason="ambiguous", row=row, detail=detail)
    partner = others.rows[identity]
    if _is_sound(row, partner):
        both = (row, partner) if side == "before" else (partner, row)
        found = rules.obstacle(*both)
        assert found is not None
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
