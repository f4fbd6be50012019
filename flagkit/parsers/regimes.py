"""How rows were timed, as far as a log's own lines tell.

FlagGems prints ``mode=kernel`` with or without a graph-timing plug-in. Lines that plug-ins
print tell: flagkit's own before each table, an older plug-in's, and the marker of a row that
could not be captured.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flagkit.compare.sizes import normalise_op
from flagkit.model import UNKNOWN, Note, Regime
from flagkit.parsers.rows import UNKNOWN_REGIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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

_PAIR = re.compile(
    r"""["']?\b(?P<name>[A-Za-z_]+)["']?\s*(?:=|:(?!:))\s*
        (?P<value>"[^"]*"|'[^']*'|[^\s,;|]+)""",
    re.VERBOSE,
)
_REASON = re.compile(
    r"""["']?\b(?:reason|error|err|exc|exception|cause)["']?\s*[=:]\s*(.*)""", re.IGNORECASE
)
_PHASES = ("sync", "warmup", "capture", "replay")
_NAME = re.compile(r"[A-Za-z_][\w.]*")


def kept_mode(mode: str) -> str:
    """What *mode* means today: kernel, operator, wrapper or cudagraph."""
    if mode in ("", UNKNOWN):
        return UNKNOWN
    return MODES.get(mode, "kernel")


def regime_of_mode(mode: str) -> Regime:
    """What the mode alone tells. Kernel mode tells nothing: a plug-in may have timed it."""
    return _BY_MODE.get(mode, UNKNOWN_REGIME)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallback(Note):
    """A marker line: rows of *op* were timed without graph capture. No op: any may be."""

    op: str = ""
    phase: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegimeLine:
    """A plug-in's line about how it times. No op: it holds for all that follow."""

    regime: Regime
    op: str = ""


def regime_line(text: str) -> RegimeLine | None:
    """Read flagkit's line or an older plug-in's; None for any other text."""
    text = text[:MAX_LINE]
    if FLAGKIT_LINE in text:
        fields = _fields("requested=" + text.partition(FLAGKIT_LINE)[2])
        return RegimeLine(regime=_regime(fields), op=normalise_op(fields.get("op", "")))
    if OLDER_LINE not in text or MARKER in text:
        return None
    fields = _fields(text.partition(OLDER_LINE)[2])
    fields.setdefault("resolved", "graph")
    fields.setdefault("requested", fields["resolved"])
    fields.setdefault("cache", "hot" if fields["resolved"] == "graph" else "cold")
    fields.setdefault("protocol", "cudagraph-plugin")
    return RegimeLine(regime=_regime(fields), op=normalise_op(_op_of(fields)))


def fallback_line(text: str) -> Fallback | None:
    """Read a marker line, whatever the order and spelling of its fields."""
    if MARKER not in text:
        return None
    tail = text.partition(MARKER)[2][:MAX_LINE].strip(" :-]|")
    reason = _REASON.search(tail)
    before = tail[: reason.start()] if reason else tail
    fields = _fields(before)
    words = [word for word in re.split(r"[\s,;:=|\"']+", before) if word]
    phase = fields.get("phase") or next((word for word in words if word in _PHASES), "")
    op = _op_of(fields)
    if not op and not fields and words and _NAME.fullmatch(words[0]) and words[0] not in _PHASES:
        op = words[0]
    why = (reason[1] if reason else "").strip().strip("\"'})") or "not told"
    op = normalise_op(op)
    return Fallback(
        code="fallback",
        text=f"{op or 'an operator'}: timed without graph capture"
        f"{f' (in {phase})' if phase else ''}: {why}",
        op=op,
        phase=phase,
        reason=why,
    )


def apply_fallbacks(rows: Iterable[Row], marks: Sequence[Fallback]) -> list[Row]:
    """Give the rows of marked operators the regime they were really timed under.

    A marker names an operator, not a row, and may stand anywhere in the log (another
    stream, another buffer), so all of the operator's device-timed rows carry it. Rows of a
    journal know better and are left as they are.
    """
    if not marks:
        return list(rows)
    by_op: dict[str, Fallback] = {}
    for mark in marks:
        by_op.setdefault(mark.op, mark)
    result = []
    for row in rows:
        found = by_op.get(row.key.op) or by_op.get("")
        if found is None or row.key.node or row.mode not in ("kernel", UNKNOWN):
            result.append(row)
            continue
        regime = Regime(
            requested="graph",
            resolved="event",
            # The original do_bench clears the L2 before each call.
            cache="cold",
            fallback_reason=found.reason,
            phase=found.phase,
            protocol=row.regime.protocol,
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
    return {pair["name"].lower(): pair["value"].strip("\"'{}()[]") for pair in _PAIR.finditer(text)}


def _op_of(fields: dict[str, str]) -> str:
    for name in ("op", "operator", "op_name", "name"):
        if fields.get(name):
            return fields[name]
    return ""
