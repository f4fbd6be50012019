"""The replay certificate: whether both sides of a row really launched the same configs.

Ruled from what was launched, on the host, after the runs. A row of the after side is

- ``config-drift`` if a decision it uses was missed, or a config it launched is another one;
- ``rebuilt`` if a config it launched had to be built outside the tuner's candidates;
- ``certified`` if everything it launched through a tuner is what the before side launched;
- ``no-tuner`` if neither side launched anything through a tuner in it.

Its partner on the before side gets the same certificate.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from flagkit.compare.pairing import identified, use_node
from flagkit.compare.tuninglines import TuningSide, canonical, read_side, short_name
from flagkit.model import Note

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from flagkit.compare.tuninglines import Identity
    from flagkit.model import Certificate, Row, RunLog

LAUNCH_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
"""Options of a compiled kernel that a tuner or a heuristic chooses. What else its metadata
holds (shared memory, names) comes of compiling and may differ by the switch."""

CERTIFICATES: tuple[Certificate, ...] = ("certified", "rebuilt", "no-tuner", "config-drift")


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateSummary:
    """What became of the before side's decisions, and how many rows each certificate has.

    ``recorded`` counts the before side's decisions, ``replayed``, ``rebuilt`` and ``missed``
    the after side's, ``unused`` the recorded ones nothing asked for, each distinct one once.
    ``rows`` counts the after side's rows by certificate, ``uncertain`` those that no record
    covers. ``notes`` say what was wrong with the records.
    """

    recorded: int = 0
    replayed: int = 0
    rebuilt: int = 0
    missed: int = 0
    unused: int = 0
    rows: Mapping[str, int] = field(default_factory=dict)
    uncertain: int = 0
    notes: tuple[Note, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The counts alone."""
        names = ("recorded", "replayed", "rebuilt", "missed", "unused", "uncertain")
        return {**{name: getattr(self, name) for name in names}, "rows": dict(self.rows)}

    def note(self) -> Note:
        """The certificate as a report's note, code ``certificate``."""
        counts = f"{self.recorded} decisions recorded, {self.replayed} replayed, "
        counts += f"{self.rebuilt} rebuilt, " if self.rebuilt else ""
        counts += f"{self.missed} missed, {self.unused} unused"
        rows = [f"{count} {name}" for name, count in self.rows.items() if count]
        rows += [f"{self.uncertain} without a record"] if self.uncertain else []
        text = f"{counts}; rows: {', '.join(rows) or 'none'}"
        return Note(code="certificate", text=text, data=self.to_json())


def certify(
    before_tuning: Iterable[Any], after_tuning: Iterable[Any], before: RunLog, after: RunLog
) -> tuple[RunLog, RunLog, CertificateSummary]:
    """Give every row its certificate.

    The tuning records are decoded lines (:func:`flagkit.compare.tuninglines.decode_tuning`);
    lines that cannot be read end in the summary's notes. Rows that no timed call of the
    journal stands for keep none.
    """
    recorded, notes_before = read_side(before_tuning, "before")
    replayed, notes_after = read_side(after_tuning, "after")
    nodes = use_node((before, after))
    partners = identified(before.rows, nodes)
    rulings = {
        row_id: _rule(row, partners.get(row_id), recorded, replayed)
        for row_id, row in identified(after.rows, nodes).items()
    }
    ruled_after = [
        _ruled(row, ruling) for row, ruling in zip(after.rows, rulings.values(), strict=True)
    ]
    ruled_before = [
        _ruled(row, rulings.get(row_id)) for row, row_id in zip(before.rows, partners, strict=True)
    ]
    summary = _summary(recorded, replayed, ruled_after)
    notes = (*notes_before, *notes_after, *_source_notes(recorded, replayed))
    return (
        replace(before, rows=tuple(ruled_before)),
        replace(after, rows=tuple(ruled_after)),
        replace(summary, notes=notes),
    )


def _rule(
    row: Row, partner: Row | None, recorded: TuningSide, replayed: TuningSide
) -> tuple[Certificate, str] | None:
    if not row.call:
        return None
    drift = next(_drifts(row, partner, recorded, replayed), "")
    if drift:
        return "config-drift", drift
    states = {state for _, state in replayed.used_states.get(row.call, ())}
    if "rebuilt" in states:
        return "rebuilt", ""
    partner_call = partner.call if partner else ""
    if replayed.uses.get(row.call):
        return "certified", ""
    if recorded.uses.get(partner_call):
        return None
    launched = replayed.launches.get(row.call, {}).keys() & recorded.launches.get(partner_call, {})
    return ("certified", "") if launched & recorded.parameters.keys() else ("no-tuner", "")


def _drifts(
    row: Row, partner: Row | None, recorded: TuningSide, replayed: TuningSide
) -> Iterator[str]:
    """Why the row's configs are not the before side's, one reason at a time."""
    uses = replayed.uses.get(row.call, {})
    for _, kernel, key in sorted(replayed.missed_in.get(row.call, ())):
        yield f"{kernel} {key}: no recorded decision could be replayed"
    for (_, kernel, key), state in sorted(replayed.used_states.get(row.call, ())):
        if state == "missed":
            yield f"{kernel} {key}: tuned anew, no recorded decision could be replayed"
    partner_call = partner.call if partner else ""
    theirs = recorded.uses.get(partner_call, {})
    for identity, configs in sorted(uses.items()):
        expected = theirs.get(identity) or recorded.decided.get(identity) or set()
        others = sorted(configs - expected)
        if others:
            _, kernel, key = identity
            against = " or ".join(sorted(expected)) or "no recorded one"
            yield f"{kernel} {key}: launched {others[0]} against {against}"
    yield from _launch_drifts(row.call, partner_call, recorded, replayed)


def _launch_drifts(
    call: str, partner_call: str, recorded: TuningSide, replayed: TuningSide
) -> Iterator[str]:
    mine, theirs = replayed.launches.get(call, {}), recorded.launches.get(partner_call, {})
    # A kernel that only one side launched is the switch's own doing, not a tuner's.
    for kernel in sorted(mine.keys() & theirs.keys()):
        chosen = recorded.parameters.get(kernel, set())
        now = {_launched(line, chosen) for line in mine[kernel]}
        then = {_launched(line, chosen) for line in theirs[kernel]}
        if now != then:
            yield f"{kernel}: launched {' and '.join(sorted(now))} against {' and '.join(sorted(then))}"


def _launched(line: Mapping[str, Any], chosen: Collection[str]) -> str:
    config, constants = line["config"], line.get("constexprs")
    options = {name: config[name] for name in LAUNCH_OPTIONS if name in config}
    if isinstance(constants, dict):
        options.update((name, constants[name]) for name in chosen if name in constants)
    return canonical(options)


def _ruled(row: Row, ruling: tuple[Certificate, str] | None) -> Row:
    if ruling is None:
        return row
    certificate, reason = ruling
    return replace(row, certificate=certificate, reason=row.reason or reason)


def _summary(recorded: TuningSide, replayed: TuningSide, rows: list[Row]) -> CertificateSummary:
    def in_state(side: TuningSide, *states: str) -> set[Identity]:
        return {identity for identity, seen in side.states.items() if seen & {*states}}

    decided = in_state(recorded, "recorded", "replayed", "rebuilt", "missed")
    counts = Counter(row.certificate for row in rows)
    return CertificateSummary(
        recorded=len(decided),
        replayed=len(in_state(replayed, "replayed")),
        rebuilt=len(in_state(replayed, "rebuilt")),
        missed=len(in_state(replayed, "missed")),
        unused=len(decided - replayed.asked()),
        rows={name: counts[name] for name in CERTIFICATES},
        uncertain=counts[None],
    )


def _source_notes(recorded: TuningSide, replayed: TuningSide) -> Iterator[Note]:
    other = {
        short_name(identity[1])
        for identity, sources in replayed.sources.items()
        if identity in recorded.sources and not sources & recorded.sources[identity]
    }
    if other:
        text = f"the source of {', '.join(sorted(other))} differs between the sides"
        yield Note(code="kernel-source-differs", text=text, data={"kernels": sorted(other)})
