"""Records what tuners decide, and gives it back on the replaying side."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from flagkit.model import Decision

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    Identity = tuple[str, str, str]
    Note = Callable[[str, str], None]

LONGEST_LINE = 1 << 20
"""Characters. A line beyond is no decision: the longest config known has under 10,000."""


class Generators(Protocol):
    """Random generators, whose states a tuner's timing must not move on one side alone."""

    def save(self) -> Any:
        """Every generator's state."""
        ...

    def restore(self, state: Any) -> None:
        """Put them back."""
        ...


class TuningJournal:
    """The tuning log of one side.

    :param write: takes each line of ``tuning.jsonl``.
    :param current: the test under way and the id of the timed call that is, or comes next.
    :param note: told what is wrong with the record, as (code, text).
    :param replay: the before side's ``tuning.jsonl``; None: this side records.
    :param across_builds: the sides are different builds, so that a kernel of another source
        is still the same kernel: it pairs by name, key and candidates.
    :param generators: gives what is kept around a tuner's timing, where given.

    ``decisions`` counts those that fell so far, recorded, replayed or missed alike.
    """

    def __init__(
        self,
        write: Callable[[Mapping[str, Any]], None],
        current: Callable[[], tuple[str, str]],
        note: Note,
        *,
        replay: Path | None = None,
        across_builds: bool = False,
        generators: Callable[[], Generators] | None = None,
    ) -> None:
        self.replaying = replay is not None
        self._write = write
        self._current = current
        self._note = note
        self._noted: set[tuple[str, str]] = set()
        self._generators = generators
        recorded = load_decisions(replay, self.note) if replay is not None else ()
        self._record = _Record(recorded, across_builds=across_builds)
        self._states: dict[Identity, str] = {}
        self._why: dict[Identity, str] = {}
        self._call: tuple[str, str] | None = None
        self._told: dict[int, Decision] = {}
        self._distinct: set[tuple[Identity, str]] = set()
        self._depth = 0
        self.decisions = 0

    @property
    def in_tuner(self) -> bool:
        """Whether a tuner is timing its candidates: a timer asked for now is the tuner's."""
        return self._depth > 0

    def lookup(
        self,
        tuner: str,
        kernel: str,
        key: str,
        *,
        source_hash: str = "",
        candidates_hash: str = "",
    ) -> Decision | None:
        """The before side's decision. The n-th question of one key gets the n-th decision."""
        if not self.replaying:
            return None
        identity = (tuner, kernel, key)
        found, reason = self._record.take(identity, source_hash, candidates_hash)
        self._why[identity] = "" if found else reason
        if found is not None and reason:
            self.note("tuning-carried-over", f"{kernel} {key}: {reason}")
        return found

    def decided(self, decision: Decision, state: str, reason: str = "") -> None:
        """Journal a decision. A missed one always says why."""
        self._states[decision.identity] = state
        if state == "missed":
            reason = reason or self._why.get(decision.identity) or "no decision was recorded"
            self.note("tuning-missed", f"{decision.kernel} {decision.key}: {reason}")
        self.decisions += 1
        node, call = self._current()
        self._write(
            {
                "kind": "decision",
                "state": state,
                "tuner": decision.tuner,
                "kernel": decision.kernel,
                "key": decision.key,
                "config": dict(decision.config),
                "source_hash": decision.source_hash,
                "candidates_hash": decision.candidates_hash,
                "reason": reason,
                "node": node,
                "call": call,
            }
        )

    def used(self, decision: Decision) -> None:
        """Journal a launch through a tuner, each distinct one once a timed call.

        Runs at every launch, so what was told before costs one look-up. A tuner's own
        trials are no uses.
        """
        if self._depth:
            return
        now = self._current()
        if now != self._call:
            self._call = now
            self._told.clear()
            self._distinct.clear()
        elif id(decision) in self._told:
            return
        self._told[id(decision)] = decision
        config = dict(decision.config)
        distinct = (decision.identity, json.dumps(config, sort_keys=True, default=str))
        if distinct in self._distinct:
            return
        self._distinct.add(distinct)
        self._write(
            {
                "kind": "use",
                "state": self._states.get(decision.identity, ""),
                "tuner": decision.tuner,
                "kernel": decision.kernel,
                "key": decision.key,
                "config": config,
                "node": now[0],
                "call": now[1],
            }
        )

    def note(self, code: str, text: str) -> None:
        """Pass a remark on, each distinct one once."""
        if (code, text) not in self._noted:
            self._noted.add((code, text))
            self._note(code, text)

    @contextmanager
    def tuning(self, tuner: str) -> Iterator[None]:
        """Around a tuner's own timing: :attr:`in_tuner` holds, the generators are kept."""
        generators = self._generators() if self._generators and not self._depth else None
        state = generators.save() if generators else None
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if generators:
                generators.restore(state)

    def unused(self) -> tuple[Decision, ...]:
        """Recorded decisions that nothing on this side asked for."""
        return self._record.untaken()


class _Record:
    """The before side's decisions, given out in their order."""

    def __init__(self, decisions: Sequence[Decision], *, across_builds: bool) -> None:
        self._across_builds = across_builds
        self._lists: dict[Identity, list[Decision]] = {}
        for decision in decisions:
            self._lists.setdefault(decision.identity, []).append(decision)
        self._next: dict[tuple[Any, ...], int] = {}
        self._taken: set[int] = set()

    def take(self, identity: Identity, source: str, candidates: str) -> tuple[Decision | None, str]:
        """The next decision for *identity*, or why there is none.

        A reason with a decision says what was carried over although it differs.
        """
        known = self._lists.get(identity, [])
        if not known:
            return None, "no decision was recorded"
        same_source = [d for d in known if _agree(d.source_hash, source)]
        if not same_source and not self._across_builds:
            return None, "it was recorded for another version of the kernel's source"
        pool, carried = (same_source, "") if same_source else (known, "the kernel's source differs")
        same_list = [d for d in pool if _agree(d.candidates_hash, candidates)]
        if not same_list:
            if len({(d.source_hash, d.candidates_hash) for d in pool}) > 1:
                return None, "several tuners of this name recorded one, of other candidates"
            carried = "; ".join(filter(None, (carried, "the list of candidates differs")))
        return self._in_turn(same_list or pool, (identity, source, candidates)), carried

    def _in_turn(self, pool: list[Decision], asked: tuple[Any, ...]) -> Decision:
        """A key that was tuned again (a new tuner, a cleared cache) has several; the last stays."""
        turn = self._next.get(asked, 0)
        self._next[asked] = turn + 1
        found = pool[min(turn, len(pool) - 1)]
        self._taken.add(id(found))
        return found

    def untaken(self) -> tuple[Decision, ...]:
        return tuple(d for known in self._lists.values() for d in known if id(d) not in self._taken)


def _agree(one: str, other: str) -> bool:
    """Whether two hashes may be of the same thing: an empty one says nothing."""
    return not one or not other or one == other


def load_decisions(path: Path, note: Note) -> tuple[Decision, ...]:
    """The decisions of a side's ``tuning.jsonl``, in their order.

    Never raises for what the file holds. *note* is told of a file that cannot be read
    (``tuning-unreadable``), a last line cut short (``tuning-cut-short``), lines that are
    none of ours (``tuning-foreign``) and keys decided more than once, differently
    (``tuning-duplicate``).
    """
    try:
        with path.open("rb") as file:
            lines = file.read().split(b"\n")
    except OSError as error:
        why = error.strerror or type(error).__name__
        note("tuning-unreadable", f"{path.name}: {why}; every decision will be missed")
        return ()
    decisions, foreign = [], 0
    for number, raw in enumerate(lines, 1):
        if not raw.strip():
            continue
        decision = _parse(raw)
        if isinstance(decision, Decision):
            decisions.append(decision)
        elif decision is None and number == len(lines):
            note("tuning-cut-short", f"{path.name}:{number}: the last line is cut short; ignored")
        elif decision is None:
            foreign += 1
    if foreign:
        note("tuning-foreign", f"{path.name}: {foreign} lines are no tuning decisions; ignored")
    for text in _duplicates(decisions):
        note("tuning-duplicate", text)
    return tuple(decisions)


def _parse(raw: bytes) -> Decision | str | None:
    """A decision; the kind of another of our lines; None for anything else."""
    if len(raw) > LONGEST_LINE:
        return None
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(line, dict):
        return None
    if line.get("kind") in ("use", "launch"):
        return str(line["kind"])
    texts = [line.get(name) for name in ("tuner", "kernel", "key")]
    hashes = [line.get(name, "") for name in ("source_hash", "candidates_hash")]
    config = line.get("config")
    if line.get("kind") != "decision" or not isinstance(config, dict):
        return None
    if not all(isinstance(text, str) for text in (*texts, *hashes)):
        return None
    tuner, kernel, key = (str(text) for text in texts)
    source, candidates = (str(text) for text in hashes)
    return Decision(
        tuner=tuner,
        kernel=kernel,
        key=key,
        config=config,
        source_hash=source,
        candidates_hash=candidates,
    )


def _duplicates(decisions: Sequence[Decision]) -> Iterator[str]:
    seen: dict[tuple[Any, ...], list[str]] = {}
    for d in decisions:
        same = (*d.identity, d.source_hash, d.candidates_hash)
        seen.setdefault(same, []).append(json.dumps(d.config, sort_keys=True))
    for (_, kernel, key, *_), configs in seen.items():
        if len(set(configs)) > 1:
            yield (
                f"{kernel} {key} was tuned {len(configs)} times, with "
                f"{len(set(configs))} outcomes; they are replayed in that order"
            )
