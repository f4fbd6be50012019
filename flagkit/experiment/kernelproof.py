"""What a switch did to compiled code: N of M kernels changed, and whether launches did."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from flagkit.experiment.kernels import read_kernels
from flagkit.experiment.launchproof import LaunchProof, TimedCalls, compare_launches
from flagkit.jsonl import read_lines
from flagkit.model import SIDES, Note

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from flagkit.experiment.kernels import KernelRecord

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
    """Both sides' kernels, and what their timed calls launched, compared."""

    pairs: tuple[KernelPair, ...] = ()
    launches: LaunchProof = field(default_factory=LaunchProof)

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
        """Whether both sides provably ran the same code in the same way, in every row."""
        launches = self.launches
        proven = launches.equal is True and not launches.silent
        return bool(self.pairs) and proven and self.unequal == 0

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
        elif self.launches.equal is False:
            said.append("the launches differ")
        elif self.launches.equal and not self.changed:
            said.append("the launches are equal")
        if self.launches.silent:
            said.append(
                f"{self.launches.silent} of {self.launches.rows} timed rows launched no kernel "
                "of Triton's, so that nothing is known of their code"
            )
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
            "launches_equal": self.launches.equal,
            "rows_without_kernels": self.launches.silent,
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
    timed = [TimedCalls.read(read_lines(side / "measurements.jsonl")) for side in (before, after)]
    return compare_kernels(kernels[0], kernels[1], (lines[0], lines[1]), timed=(timed[0], timed[1]))


def compare_kernels(
    before: Sequence[KernelRecord],
    after: Sequence[KernelRecord],
    launches: tuple[Iterable[Any], Iterable[Any]] = ((), ()),
    *,
    timed: tuple[TimedCalls, TimedCalls] | None = None,
) -> KernelProof:
    """Join both sides' kernels by what they are, and compare their code.

    *launches* are both sides' decoded lines of ``tuning.jsonl``. Where timed calls' launches
    are known, kernels that no call launched (a tuner's candidates, set-up) are left out.
    *timed* are both sides' timed calls, so that a call that only one side came to (the other
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
    return KernelProof(pairs=tuple(pairs), launches=compare_launches(launches, timed))


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
