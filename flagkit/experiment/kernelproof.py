"""What a switch did to compiled code: N of M kernels changed, and whether launches did."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from flagkit.experiment.kernels import read_kernels
from flagkit.jsonl import read_lines
from flagkit.model import SIDES, Note

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from flagkit.experiment.kernels import KernelRecord

    Launched = tuple[str, ...]
    Places = Mapping[str, tuple[str, int]]

MOST_REASONS = 2
"""Distinct reasons in the line for people; each kernel's own stands in the kernel table."""

Verdict = Literal["identical", "ttgir-only", "changed", "unknown", "only-before", "only-after"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelPair:
    """One kernel of both sides, or of one. ``verdict`` goes by what runs:

    ``ttgir-only`` says the compiler took another way to the same code, ``unknown`` that
    neither code nor TTGIR of both sides could be read.
    """

    before: KernelRecord | None
    after: KernelRecord | None
    verdict: Verdict

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        sides = {"before": self.before, "after": self.after}
        return {
            "kernel": next(side.name for side in sides.values() if side),
            "verdict": self.verdict,
            **{name: side.to_json() if side else None for name, side in sides.items()},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelProof:
    """Both sides' kernels compared.

    ``launches_equal`` says whether each call that both sides timed launched the same kernels
    with the same grids in the same order; None where launches are not known.
    """

    pairs: tuple[KernelPair, ...] = ()
    launches_equal: bool | None = None

    def count(self, *verdicts: Verdict) -> int:
        """How many kernels have one of *verdicts*."""
        return sum(pair.verdict in verdicts for pair in self.pairs)

    @property
    def changed(self) -> int:
        """Kernels whose code differs."""
        return self.count("changed")

    @property
    def total(self) -> int:
        """Kernels that both sides have."""
        return len(self.pairs) - self.count("only-before", "only-after")

    @property
    def same_code(self) -> bool:
        """Whether both sides provably ran the same code in the same way."""
        return bool(self.pairs) and self.launches_equal is True and self.unequal == 0

    @property
    def unequal(self) -> int:
        """Kernels that are not known to be the same code on both sides."""
        return len(self.pairs) - self.count("identical", "ttgir-only")

    def text(self) -> str:
        """One line for people."""
        if not self.pairs:
            return "no compiled kernel is known: nothing can be said of the code"
        said = [f"{self.changed} of {self.total} kernels changed"]
        for verdict, words in _WORDS.items():
            if count := self.count(verdict):
                why = f" ({self._reasons()})" if verdict == "unknown" else ""
                said.append(f"{count} {words}{why}")
        if self.same_code:
            said.append("both sides ran the same code: any difference is noise")
        elif self.launches_equal is False:
            said.append("the launches differ")
        elif self.launches_equal and not self.changed:
            said.append("the launches are equal")
        return "; ".join(said)

    def _reasons(self) -> str:
        """Why kernels could not be compared: what was wrong with either side's."""
        unknown = (pair for pair in self.pairs if pair.verdict == "unknown")
        records = (record for pair in unknown for record in (pair.before, pair.after))
        reasons = dict.fromkeys(record.reason for record in records if record and record.reason)
        return ", ".join(list(reasons)[:MOST_REASONS])

    @property
    def conversions(self) -> tuple[int, int]:
        """Layout conversions in the TTGIR of the before and the after side, over the kernels
        of which both are known."""
        known = [
            (pair.before.conversions, pair.after.conversions)
            for pair in self.pairs
            if pair.before and pair.after
        ]
        both = [(b, a) for b, a in known if b is not None and a is not None]
        return sum(b for b, _ in both), sum(a for _, a in both)

    def notes(self) -> tuple[Note, ...]:
        """For a report: ``proof``, and ``same-code`` where any difference is noise.

        Nothing is said where nothing was compiled: a host's operators have no kernels.
        """
        if not self.pairs:
            return ()
        counts = {"changed": self.changed, "total": self.total, "unequal": self.unequal}
        said = Note(code="proof", text=self.text(), data=counts)
        same = Note(code="same-code", text="no compiled code and no launch differs", data=counts)
        return (said, same) if self.same_code else (said,)

    def to_json(self) -> dict[str, Any]:
        """Plain values: counts, the line for people, and every kernel."""
        return {
            "changed": self.changed,
            "total": self.total,
            "launches_equal": self.launches_equal,
            "conversions": dict(zip(SIDES, self.conversions, strict=True)),
            "same_code": self.same_code,
            "text": self.text(),
            "kernels": [pair.to_json() for pair in self.pairs],
        }


_WORDS: dict[Verdict, str] = {
    "ttgir-only": "differ in TTGIR alone",
    "unknown": "could not be compared",
    "only-before": "on the before side alone",
    "only-after": "on the after side alone",
}


def prove(before: Path, after: Path) -> KernelProof:
    """Compare what two sides' directories hold: private caches and ``tuning.jsonl``."""
    lines = [list(read_lines(side / "tuning.jsonl")) for side in (before, after)]
    known = all(any(line.get("kind") == "launch" for line in side) for side in lines)
    kernels = [
        read_kernels(side / "caches" / "triton", launches, only_launched=known)
        for side, launches in zip((before, after), lines, strict=True)
    ]
    places = [_places(read_lines(side / "measurements.jsonl")) for side in (before, after)]
    return compare_kernels(
        kernels[0], kernels[1], (lines[0], lines[1]), places=(places[0], places[1])
    )


def compare_kernels(
    before: Sequence[KernelRecord],
    after: Sequence[KernelRecord],
    launches: tuple[Iterable[Any], Iterable[Any]] = ((), ()),
    *,
    places: tuple[Places, Places] | None = None,
) -> KernelProof:
    """Join both sides' kernels by what they are, and compare their code.

    *launches* are both sides' decoded lines of ``tuning.jsonl``. Where timed calls' launches
    are known, kernels that no call launched (a tuner's candidates, set-up) are left out.
    *places* are both sides' timed calls, so that a call that only one side came to (the other
    was cut short) is no difference in launches, and one that launched nothing there is.
    """
    if any(record.launched for record in before) and any(record.launched for record in after):
        before = [record for record in before if record.launched]
        after = [record for record in after if record.launched]
    theirs = _grouped(after)
    pairs: list[KernelPair] = []
    for identity, group in _grouped(before).items():
        pairs += _paired(group, theirs.pop(identity, []))
    for group in theirs.values():
        pairs += _paired([], group)
    return KernelProof(pairs=tuple(pairs), launches_equal=_launches_equal(launches, places))


def _launches_equal(
    launches: tuple[Iterable[Any], Iterable[Any]], places: tuple[Places, Places] | None
) -> bool | None:
    one, other = (
        launch_sequences(lines, places[side] if places else None)
        for side, lines in enumerate(launches)
    )
    if not (any(one.values()) and any(other.values())):
        return None
    if places is None or not all(places):
        return one == other
    shared = one.keys() & other.keys()
    return all(one[place] == other[place] for place in shared) if shared else None


def _places(journal: Iterable[Any]) -> Places:
    """Where each timed call of a journal stands: its test and its number in it, by its id."""
    return {
        str(line["id"]): (str(line.get("node", "")), line["call"])
        for line in journal
        if line.get("kind") == "call" and "id" in line and isinstance(line.get("call"), int)
    }


def launch_sequences(
    lines: Iterable[Any], timed: Places | None = None
) -> dict[tuple[str, int], tuple[Launched, ...]]:
    """What each timed call launched, in order, by the test and the call's place in it.

    Ids of calls are not compared: another number of calls before would shift them. *timed*
    are all calls there were; without them, those that launched something are counted.
    """
    calls: dict[tuple[str, str], list[tuple[int, Launched]]] = {}
    for line in lines:
        if isinstance(line, dict) and line.get("kind") == "launch":
            call = (str(line.get("node", "")), str(line.get("call", "")))
            order = line.get("order")
            nth = order if isinstance(order, int) else 0
            calls.setdefault(call, []).append((nth, _launched(line)))
    found: dict[tuple[str, int], tuple[Launched, ...]] = dict.fromkeys((timed or {}).values(), ())
    counted: Counter[str] = Counter()
    for (node, call_id), launched in calls.items():
        counting = (node, counted[node])
        counted[node] += 1
        place = timed.get(call_id) if timed else counting
        if place is not None:
            found[place] = tuple(text for _, text in sorted(launched))
    return found


def _launched(line: Mapping[str, Any]) -> Launched:
    names = ("kernel", "grid", "scalars", "signature", "constexprs", "count")
    return tuple(json.dumps(line.get(name), sort_keys=True, default=str) for name in names)


def _grouped(records: Iterable[KernelRecord]) -> dict[tuple[str, ...], list[KernelRecord]]:
    found: dict[tuple[str, ...], list[KernelRecord]] = {}
    for record in records:
        found.setdefault(record.identity, []).append(record)
    return found


def _paired(before: list[KernelRecord], after: list[KernelRecord]) -> Iterator[KernelPair]:
    """Pair one identity's kernels: equal code first, whatever is left by its order.

    Several of one identity differ in what is not known of them, such as constants of
    kernels that no call launched.
    """
    left, right = list(before), list(after)
    for record in before:
        same = next((o for o in right if _verdict(record, o) in ("identical", "ttgir-only")), None)
        if same is not None:
            left.remove(record)
            right.remove(same)
            yield KernelPair(before=record, after=same, verdict=_verdict(record, same))
    for one, other in zip(left, right, strict=False):
        yield KernelPair(before=one, after=other, verdict=_verdict(one, other))
    for one in left[len(right) :]:
        yield KernelPair(before=one, after=None, verdict="only-before")
    for other in right[len(left) :]:
        yield KernelPair(before=None, after=other, verdict="only-after")


def _verdict(one: KernelRecord, other: KernelRecord) -> Verdict:
    ttgir = one.ttgir == other.ttgir if one.ttgir and other.ttgir else None
    if one.code and other.code:
        if one.code != other.code:
            return "changed"
        return "ttgir-only" if ttgir is False else "identical"
    # Without both executables equal TTGIR proves nothing: later stages may read the switch.
    return "changed" if ttgir is False else "unknown"
