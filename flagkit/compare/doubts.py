"""Rows that have a partner by their key and may still belong to another row.

Three ways: a table whose title was lost has rows of an operator that nothing tells, so that rows
of different operators have equal keys; a text shows a key in several tables, and only their order
would tell which is which; and where both sides show damaged rows in a table that
shows its sizes several times, in different places, what is left of one size may be its first row
on one side and its second on the other.
"""

from __future__ import annotations

from bisect import bisect
from typing import TYPE_CHECKING

from flagkit.model import SEVERAL_TABLES, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from flagkit.model import Damaged, Row, RunLog

    Table = tuple[str, str]
    Identity = tuple[str, str, str, str, int]

UNTOLD = "its table does not tell the operator, and others do"
TABLES = "several tables of a text show it, and nothing tells which is which"
TWINS = "damaged rows on both sides may be of the same key"

_CLOSERS = {"[": "]", "(": ")", "{": "}"}


def doubts(
    before: tuple[RunLog, Mapping[Identity, Row]], after: tuple[RunLog, Mapping[Identity, Row]]
) -> dict[Identity, str]:
    """Why keys do not pair though both sides show them equally often.

    :param before: the log, and its rows by what they are paired by.
    :return: by the identity of each key's first row.
    """
    found: dict[Identity, str] = {}
    sides = (before, after)
    ops = {row.key.op for log, _ in sides for row in log.rows}
    if UNKNOWN in ops and len(ops) > 1:
        found |= {
            identity: UNTOLD
            for _, rows in sides
            for identity in rows
            if identity[0] == UNKNOWN and not identity[4]
        }
    found |= {
        identity: TABLES
        for _, rows in sides
        for identity, row in rows.items()
        if SEVERAL_TABLES in row.flags and not identity[4]
    }
    if all(log.damaged for log, _ in sides):
        found |= dict.fromkeys(_twins(before, after), TWINS)
    return found


def _twins(
    before: tuple[RunLog, Mapping[Identity, Row]], after: tuple[RunLog, Mapping[Identity, Row]]
) -> Iterator[Identity]:
    """Keys of which the sides may have lost different rows."""
    damaged = [_by_table(log) for log, _ in (before, after)]
    tables: dict[Table, list[dict[Identity, list[Row]]]] = {
        table: [{}, {}]
        for table, lost in damaged[0].items()
        if table in damaged[1] and _signature(lost) != _signature(damaged[1][table])
    }
    for side, (_, rows) in enumerate((before, after)):
        for identity, row in rows.items():
            if identity[:2] in tables:
                tables[identity[:2]][side].setdefault((*identity[:4], 0), []).append(row)
    for table, shown in tables.items():
        losses = [_Losses(side[table]) for side in damaged]
        repeats = any(len(rows) > 1 for side in shown for rows in side.values())
        for first in shown[0].keys() & shown[1].keys():
            gaps = [one.gaps(side[first]) for one, side in zip(losses, shown, strict=True)]
            # Rows that both sides lost in one and the same place shift no other.
            if not all(gaps) or (len({*gaps[0], *gaps[1]}) == 1):
                continue
            # A table that shows each of its sizes once has no second row of one to lose, unless
            # each size lost one.
            if repeats or min(map(len, gaps)) >= len(shown[0].keys() | shown[1].keys()):
                yield first


class _Losses:
    """The damaged lines of one side's table."""

    def __init__(self, lines: Sequence[Damaged]) -> None:
        told = [(line, _tells_a_size(line.text)) for line in lines]
        self._told = [line for line, tells in told if tells]
        self._untold = [line for line, tells in told if not tells]

    def gaps(self, rows: Sequence[Row]) -> list[int]:
        """Behind how many of *rows*, all of one key, each line stands that may be one more.

        A line that tells another size is none.
        """
        own = [line for line in self._told if rows[0].size_detail in line.text]
        places = sorted(_place(row) for row in rows)
        return [bisect(places, _place(line)) for line in (*own, *self._untold)]


def _place(fact: Row | Damaged) -> tuple[str, int]:
    return fact.source.file, fact.source.line


def _signature(lines: Sequence[Damaged]) -> list[tuple[int, str]]:
    """The same for one log twice, and for no two logs that differ."""
    return [(line.source.line, line.text) for line in lines]


def _by_table(log: RunLog) -> dict[Table, list[Damaged]]:
    """The damaged lines of the tables that they stand in, or between."""
    rows = sorted((_place(row), (row.key.op, row.key.dtype)) for row in log.rows)
    places = [place for place, _ in rows]
    found: dict[Table, list[Damaged]] = {}
    for line in log.damaged:
        at = bisect(places, _place(line))
        near = rows[max(0, at - 1) : at + 1]
        for table in {table for (file, _), table in near if file == line.source.file}:
            found.setdefault(table, []).append(line)
    return found


def _tells_a_size(text: str) -> bool:
    """Whether *text* ends in a whole size detail."""
    text = text.rstrip()
    starts = [at for at in map(text.find, _CLOSERS) if at >= 0]
    if not starts or text[-1:] not in _CLOSERS.values():
        return False
    expected: list[str] = []
    for char in text[min(starts) :]:
        if char in _CLOSERS:
            expected.append(_CLOSERS[char])
        elif char in _CLOSERS.values() and (not expected or expected.pop() != char):
            return False
    return not expected
