"""Whether both sides' timed calls launched the same kernels, in the same way and order."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Place = tuple[str, int]
    Launched = tuple[str, ...]

CUT: Launched = ("cut",)
"""Stands behind the launches of a call of which not all were kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchProof:
    """Both sides' launches compared.

    ``equal`` says whether each call that both sides timed launched the same kernels with the
    same grids and numbers in the same order; None where launches are not known, or not all.
    ``silent`` of ``rows`` timed rows launched no kernel of Triton's on either side: a library
    did their work, of whose code nothing is known.
    """

    equal: bool | None = None
    rows: int = 0
    silent: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedCalls:
    """A journal's timed calls: where each stands, its test and its number there, by its id.

    ``rows`` are those that became a row and had work to do; a torch column's are none.
    """

    places: Mapping[str, Place]
    rows: frozenset[Place]

    @classmethod
    def read(cls, journal: Iterable[Any]) -> TimedCalls:
        """From the lines of ``measurements.jsonl``."""
        places: dict[str, Place] = {}
        worked, by_themselves, taken = set(), set(), set()
        for line in journal:
            kind, name = line.get("kind"), str(line.get("id"))
            if kind == "call" and "id" in line and isinstance(line.get("call"), int):
                places[name] = (str(line.get("node", "")), line["call"])
                if line.get("status", "ok") == "ok":
                    worked.add(name)
                if line.get("role") == "row":
                    by_themselves.add(name)
            elif kind == "row":
                taken.add(name)
        rows = worked & (by_themselves | taken or set(places))
        return cls(places=places, rows=frozenset(places[name] for name in rows))


def compare_launches(
    launches: tuple[Iterable[Any], Iterable[Any]], timed: tuple[TimedCalls, TimedCalls] | None
) -> LaunchProof:
    """Compare both sides' decoded lines of ``tuning.jsonl``."""
    one, other = (
        launch_sequences(lines, timed[side].places if timed else None)
        for side, lines in enumerate(launches)
    )
    if not (any(one.values()) and any(other.values())):
        return LaunchProof()
    if timed is None or not all(calls.places for calls in timed):
        return LaunchProof(equal=_equal(one, other, one.keys() | other.keys()))
    shared = one.keys() & other.keys()
    rows = shared & timed[0].rows & timed[1].rows
    silent = sum(not one[place] and not other[place] for place in rows)
    return LaunchProof(equal=_equal(one, other, shared), rows=len(rows), silent=silent)


def _equal(
    one: Mapping[Place, tuple[Launched, ...]],
    other: Mapping[Place, tuple[Launched, ...]],
    places: Iterable[Place],
) -> bool | None:
    pairs = [(one.get(place, ()), other.get(place, ())) for place in places]
    if any(before != after for before, after in pairs):
        return False
    known = pairs and not any(CUT in before for before, _ in pairs)
    return True if known else None


def launch_sequences(
    lines: Iterable[Any], places: Mapping[str, Place] | None = None
) -> dict[Place, tuple[Launched, ...]]:
    """What each timed call launched, in order, by the test and the call's place in it.

    Ids of calls are not compared: another number of calls before would shift them. *places*
    are all calls there were; without them, those that launched something are counted.
    """
    calls: dict[tuple[str, str], list[tuple[int, Launched]]] = {}
    ends: dict[tuple[str, str], list[Launched]] = {}
    for line in lines:
        if isinstance(line, dict) and line.get("kind") == "launch":
            call = (str(line.get("node", "")), str(line.get("call", "")))
            order = line.get("order")
            nth = order if isinstance(order, int) else 0
            calls.setdefault(call, []).append((nth, _launched(line)))
            ends[call] = [(str(line.get("sequence", "")),), *([CUT] if line.get("cut") else [])]
    found: dict[Place, tuple[Launched, ...]] = dict.fromkeys((places or {}).values(), ())
    counted: Counter[str] = Counter()
    for call, launched in calls.items():
        node, name = call
        counting = (node, counted[node])
        counted[node] += 1
        place = places.get(name) if places else counting
        if place is not None:
            found[place] = (*(text for _, text in sorted(launched)), *ends[call])
    return found


def _launched(line: Mapping[str, Any]) -> Launched:
    names = ("kernel", "grid", "scalars", "signature", "constexprs", "count")
    return tuple(json.dumps(line.get(name), sort_keys=True, default=str) for name in names)
