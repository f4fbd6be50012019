"""How rows were timed, as far as a log's own lines tell.

FlagGems prints ``mode=kernel`` with or without a graph-timing plug-in. Lines that plug-ins
print tell: flagkit's own before each table, an older plug-in's, and the marker of a row that
could not be captured.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from flagkit.compare.sizes import normalise_op
from flagkit.model import UNKNOWN, Note, Regime
from flagkit.parsers.rows import UNKNOWN_REGIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from flagkit.model import Row

MARKER = "BENCHMARK_DIRECT_NO_CUDAGRAPH"
FLAGKIT_LINE = "[flagkit] regime: requested="
OLDER_LINE = "[cudagraph-plugin]"

MAX_LINE = 4000
"""Characters of a line that are looked at."""

MODES = {"cpu": "operator", "cudagraph": "cudagraph", "operator": "operator", "wrapper": "wrapper"}
"""``cpu`` was the host-timed mode until 2025-07-30; a device's name was the kernel mode."""

_BY_MODE = {
    # FlagGems times these two by the host's clock around a loop of calls.
    "operator": Regime(requested="host", resolved="host", cache="hot"),
    "wrapper": Regime(requested="host", resolved="host", cache="hot"),
    # triton.testing.do_bench_cudagraph does not clear the L2 between calls.
    "cudagraph": Regime(
        requested="graph", resolved="graph", cache="hot", protocol="do_bench_cudagraph"
    ),
}

# Patterns as text are compiled when the first line of a plug-in comes: most logs have none.
_PAIR = r"""(?x) ["']?\b(?P<name>[A-Za-z_]+)["']?\s*(?:=|:(?!:))\s*
    (?P<value>"[^"]*"|'[^']*'|[^\s,;|]+)"""
_REASON = r"""(?i)["']?\b(?:reason|error|err|exc|exception|cause)["']?\s*[=:]\s*(.*)"""
_PHASE = re.compile(r"\b(sync|warmup|capture|replay)\b")
_LABELLED_PHASE = r"(?i)\bphase\W+(sync|warmup|capture|replay)\b"
_LABELLED = r"""(?ix) \b(?:op|operator|op_name|name)["']?\s*[=:]\s*["']?
    (?P<op>[^\s=:,;|"'][^=:,;|"']*?(?=\s+phase\s*=) | [^\s,;|"'\]}]+(?:\ backward\b)?)"""
_NAME = r"(?P<op>(?!(?:sync|warmup|capture|replay|phase)\b)[A-Za-z_][\w.]*(?: backward\b)?)"
_SPOKEN = rf"(?i)\b(?:op|operator)\s+{_NAME}"
_FIRST = rf"\W*{_NAME}\W+(?:phase\W+)?(?:sync|warmup|capture|replay)\b"
_FELL_BACK = r"(?i)\b(?:(?:fell|falls|falling) back|fallback (?:to|for))\b"
_OFF = (
    r"(?i)\W*(?:is |was )?(?:disabled|inactive|off|unavailable|skipped|restored|unpatched"
    r"|not (?:active|enabled|available|installed|loaded|patched|used))\b"
)
"""An older plug-in that does nothing: the benchmark's own timer is left in place."""
_DOUBT = (
    r"(?i)n't\b"
    r"|\b(?:not?|disabled|inactive|off|unavailable|failed|failure|cannot|without|error)\b"
)
"""What it says may mean either."""


def kept_mode(mode: str) -> str:
    """What *mode* means today: kernel, operator, wrapper or cudagraph."""
    if mode in ("", UNKNOWN):
        return UNKNOWN
    return MODES.get(mode, "kernel")


def regime_of_mode(mode: str) -> Regime:
    """What the mode alone tells. Kernel mode tells nothing: a plug-in may have timed it."""
    return _BY_MODE.get(mode, UNKNOWN_REGIME)


def regime_of_table(told: Mapping[str, Regime], op: str, mode: str) -> Regime:
    """How a table's rows were timed.

    :param told: what plug-ins' lines said so far, by operator; empty: of all that follow.
        Such a line is about kernel mode's timer, the only one that plug-ins replace.
    :param mode: the table's, as :func:`kept_mode` gives it.
    """
    own = told.get(normalise_op(op))
    if own is None and mode in ("kernel", UNKNOWN):
        own = told.get("")
    return own or regime_of_mode(mode)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallback(Note):
    """A marker line: rows of *op* were timed without graph capture. No op: any may be.

    ``sure``: the line labels *op* as an operator; else it is a word that may be one.
    """

    op: str = ""
    sure: bool = False
    phase: str = ""
    reason: str = ""


class RegimeLine(NamedTuple):
    """A plug-in's line about how it times. No op: it holds for all that follow."""

    regime: Regime
    op: str = ""


def regime_line(text: str) -> RegimeLine | None:
    """Read flagkit's line or an older plug-in's; None for any other text."""
    text = text[:MAX_LINE]
    if FLAGKIT_LINE in text:
        told, _, op = ("requested=" + text.partition(FLAGKIT_LINE)[2]).partition(" op=")
        return RegimeLine(regime=_regime(_fields(told)), op=normalise_op(op))
    if OLDER_LINE not in text or MARKER in text:
        return None
    said = text.partition(OLDER_LINE)[2]
    fields = _fields(said)
    if re.match(_OFF, said):
        fields.setdefault("resolved", "event")
    elif not re.search(_DOUBT, said):
        fields.setdefault("resolved", "graph")
        fields.setdefault("protocol", "cudagraph-plugin")
    resolved = fields.setdefault("resolved", UNKNOWN)
    fields.setdefault("requested", resolved)
    fields.setdefault("cache", {"graph": "hot", "event": "cold"}.get(resolved, UNKNOWN))
    return RegimeLine(regime=_regime(fields), op=_named(said)[0])


def fallback_line(text: str) -> Fallback | None:
    """Read a marker line, whatever the order and spelling of its fields.

    An older plug-in's line which says that it fell back is one too.
    """
    text = text[:MAX_LINE]
    front, mark, tail = text.partition(MARKER)
    if not mark:
        front, mark, tail = text.partition(OLDER_LINE)
        if not mark or not re.search(_FELL_BACK, tail):
            return None
    tail = tail.strip()
    labelled = re.search(_REASON, tail)
    before = tail[: labelled.start()] if labelled else tail
    op, sure, end = _named(before)
    phase = (
        re.search(_LABELLED_PHASE, before) or _PHASE.search(before, end) or _PHASE.search(before)
    )
    if not op and not phase and (tail.startswith("=") or front.endswith("export ")):
        return None  # a variable of that name, not a row's marker
    why = labelled[1] if labelled else before[max(end, phase.end() if phase else 0) :]
    why = why.strip(" \t\"'{}[]:;,|-")
    why = (why if "(" in why else why.strip(") ")) or "not told"
    return Fallback(
        code="fallback",
        text=f"{op or 'an operator'}: timed without graph capture"
        f"{f' (in {phase[1]})' if phase else ''}: {why}",
        op=op,
        sure=sure,
        phase=phase[1] if phase else "",
        reason=why,
    )


def apply_fallbacks(rows: Iterable[Row], marks: Sequence[Fallback]) -> list[Row]:
    """Give the rows of marked operators the regime they were really timed under.

    A marker names an operator, not a row, and may stand anywhere in the log (another
    stream, another buffer), so all of the operator's device-timed rows carry it. One whose
    operator is not told, or is a word that no row has for its operator, may be anyone's.
    Rows of a journal know better and are left as they are.
    """
    rows = list(rows)
    if not marks:
        return rows
    ops = {_joined(row.key.op) for row in rows}
    by_op: dict[str, Fallback] = {}
    for mark in marks:
        op = _joined(mark.op)
        by_op.setdefault(op if mark.sure or op in ops else "", mark)
    result = []
    for row in rows:
        found = by_op.get(_joined(row.key.op)) or by_op.get("")
        if found is None or row.key.node or row.mode in ("operator", "wrapper"):
            result.append(row)
            continue
        regime = Regime(
            requested="graph",
            resolved="event",
            # The original do_bench clears the L2 before each call.
            cache="cold",
            fallback_reason=found.reason,
            phase=found.phase,
        )
        result.append(replace(row, regime=regime, flags=(*row.flags, "fallback")))
    return result


def _regime(fields: dict[str, str]) -> Regime:
    def known(name: str, *allowed: str) -> str:
        value = fields.get(name, "").lower()
        return value if value in allowed else UNKNOWN

    timings = ("graph", "event", "host", "foreign")
    protocol = fields.get("protocol", "")
    return Regime(
        requested=known("requested", *timings),
        resolved=known("resolved", *timings),
        cache=known("cache", "hot", "cold"),
        fallback_reason=fields.get("fallback_reason", ""),
        phase=fields.get("phase", ""),
        protocol="" if protocol == UNKNOWN else protocol,
    )


def _fields(text: str) -> dict[str, str]:
    return {
        pair["name"].lower(): pair["value"].strip("\"'{}()[]") for pair in re.finditer(_PAIR, text)
    }


def _named(text: str) -> tuple[str, bool, int]:
    """The operator that *text* is about, whether it says that it is one, and where that ends.

    Empty and 0 where none can be told.
    """
    if found := re.search(_LABELLED, text):
        op = found["op"].rstrip(":")
        op = op if "(" in op else op.rstrip(")")
        return normalise_op(op), True, found.end()
    found = re.search(_SPOKEN, text) or re.match(_FIRST, text)
    return (normalise_op(found["op"]), False, found.end("op")) if found else ("", False, 0)


def _joined(op: str) -> str:
    """An operator as a plug-in writes it that takes no blanks."""
    return "_".join(op.split())
