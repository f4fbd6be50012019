"""When two rows of one key may be divided, and what to say of the pair if so.

Rules of the field: only equal things are compared. A row's own trouble (it failed, its
number cannot be divided by, it did no device work) is found first; then what stands
between two sound rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from flagkit.compare.steadiness import unsteady
from flagkit.model import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from flagkit.model import Regime, Row

HOST_BOUND_MODES = frozenset({"operator", "wrapper"})
"""FlagGems' modes that never pass through a replaceable timer: an unknown regime is then
the same on both sides. In kernel mode it is not: a graph-timing plug-in leaves no trace."""


class Obstacle(NamedTuple):
    """Why two sound rows are not divided: one of ``flagkit.model.REASONS``, and the detail."""

    reason: str
    detail: str


def own_trouble(row: Row) -> str:
    """What is wrong with *row* whatever its partner is, as a reason; empty if nothing."""
    return "" if row.status == "ok" else row.status


def alone(row: Row) -> str:
    """Why *row* could not pair with any partner, as a reason; empty if it could."""
    return own_trouble(row) or ("config-drift" if row.certificate == "config-drift" else "")


def only_numbers(before: Row, after: Row) -> bool:
    """Whether nothing but latencies is told of two ok rows, and all else is the same.

    They may then be divided without a remark. Most rows of a printed log are such.
    """
    return (
        (before.regime is after.regime or before.regime == after.regime)
        and before.mode == after.mode
        and before.level == after.level
        and before.inputs is after.inputs is None
        and before.certificate is after.certificate is None
        and before.flags == after.flags == ()
        and before.samples_ms == after.samples_ms == ()
        and not before.regime.fallback_reason
    )


def obstacle(before: Row, after: Row) -> Obstacle | None:
    """What keeps two ok rows apart; None if they may be divided."""
    for row in (before, after):
        if row.certificate == "config-drift":
            return Obstacle("config-drift", row.reason or "other configs were launched")
    mixed = _mixed(before, after)
    if mixed:
        return Obstacle("mixed-regime", mixed)
    differ = _inputs_differ(before, after)
    if differ:
        return Obstacle("inputs-differ", differ)
    return None


def pair_flags(before: Row, after: Row) -> tuple[str, ...]:
    """What a reader of the pair has to know; both rows' own flags come first."""
    flags = dict.fromkeys((*before.flags, *after.flags))
    if "rebuilt" in (before.certificate, after.certificate):
        flags["rebuilt"] = None
    inputs = [row.inputs for row in (before, after) if row.inputs is not None]
    if any(one.mutated for one in inputs):
        flags["mutated-inputs"] = None
    if any(one.unseen for one in inputs):
        flags["unseen-inputs"] = None
    if before.regime.fell_back or after.regime.fell_back:
        flags["fallback"] = None
    if unsteady(before, after):
        flags["unsteady"] = None
    return tuple(flags)


def regime_unknown(row: Row) -> bool:
    """Whether nothing tells how *row* was timed."""
    return row.regime.resolved == UNKNOWN


def distinct(regimes: Iterable[Regime]) -> dict[int, Regime]:
    """Each regime once, by its identity: the rows of a table share theirs."""
    return {id(regime): regime for regime in regimes}


def labels(regimes: Sequence[Regime]) -> list[str]:
    """The label of each."""
    known: dict[int, str] = {}
    return [known.get(id(one)) or known.setdefault(id(one), one.label) for one in regimes]


def _mixed(before: Row, after: Row) -> str:
    for name, one, other in (
        ("mode", before.mode, after.mode),
        ("level", before.level, after.level),
    ):
        if UNKNOWN not in (one, other) and one != other:
            return f"{name} {one} against {other}"
    one, other = before.regime.label, after.regime.label
    if one != other and not _excused(before, after):
        return f"{one} against {other}{_fallback(before, after)}"
    one, other = before.regime.protocol, after.regime.protocol
    if one and other and one != other:
        return f"protocol {one} against {other}"
    return ""


def _fallback(before: Row, after: Row) -> str:
    """Why a side was timed otherwise than asked, where only one was."""
    for side, row, other in (("before", before, after), ("after", after, before)):
        regime = row.regime
        if regime.fell_back and not other.regime.fell_back:
            return f" ({': '.join(filter(None, (side, regime.phase, regime.fallback_reason)))})"
    return ""


def _excused(before: Row, after: Row) -> bool:
    """Whether an untold regime on one side cannot hide another timer."""
    modes = {before.mode, after.mode} - {UNKNOWN}
    untold = regime_unknown(before) or regime_unknown(after)
    return untold and bool(modes) and modes <= HOST_BOUND_MODES


def _inputs_differ(before: Row, after: Row) -> str:
    if "inputs-differ" in before.flags or "inputs-differ" in after.flags:
        return "the benchmark's inputs differ between the sides"
    one, other = before.inputs, after.inputs
    if one is None or other is None:
        return ""
    if one.fingerprint and other.fingerprint and one.fingerprint != other.fingerprint:
        return "shapes, dtypes or strides differ"
    # An output made without filling holds leftovers before the run and the result after.
    settled = bool(one.settled) and one.settled == other.settled
    if one.digest and other.digest and one.digest != other.digest and not settled:
        return "values differ"
    return ""
