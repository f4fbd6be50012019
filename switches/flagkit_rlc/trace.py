"""What FlagTree's pass prints of its decisions, taken out of a side's log.

With ``FLAGTREE_RLC_TRACE_REJECTS`` set, the pass writes to stderr, one a line::

    FLAGTREE_RLC_TRACE phase=1b outcome=reject reason=<words-with-hyphens> op=ttg.convert_layout

as FlagTree's own tests of the pass expect it. More ``key=value`` follow for some reasons.
The vendors' builds compile the same source, so that neither name has their prefix.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from flagkit.interfaces import Excerpt
from flagkit.model import Note

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

VARIABLE = "FLAGTREE_RLC_TRACE_REJECTS"
MOST_LINES = 1000
"""Distinct lines that are kept: an autotuner compiles a kernel a thousand times."""
LONGEST_LINE = 500
MOST_KINDS = 100
LONGEST_WORD = 60
SHOWN = 5
"""Kinds that the report names, of each side."""

_LINE = re.compile(rb"FLAGTREE_(?:[A-Z0-9]+_)?RLC_TRACE[ \t]+(?=[a-z_]+=)")
_FIELD = re.compile(r"(?<!\S)([A-Za-z_]\w*)=(\S+)")
_KERNEL = ("kernel", "func", "function")
"""Not seen in its tests: the fields that would name what was compiled."""
_TOTAL, _KIND, _OTHERS = "trace lines", "trace: ", "trace: of other kinds"


def excerpt(lines: Iterable[bytes]) -> Excerpt:
    """The trace in *lines*: each distinct line with how often it came, and counts by kind."""
    distinct: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    total = others = left_out = 0
    for raw in lines:
        found = _LINE.search(raw)
        if found is None:
            continue
        total += 1
        line = raw[found.start() :].decode("utf-8", "replace").strip()[:LONGEST_LINE]
        if line in distinct or len(distinct) < MOST_LINES:
            distinct[line] += 1
        else:
            left_out += 1
        kind = _kind(dict(_FIELD.findall(line)))
        if kind in kinds or len(kinds) < MOST_KINDS:
            kinds[kind] += 1
        else:
            others += 1
    facts = {_TOTAL: str(total)}
    facts |= {f"{_KIND}{kind}": str(count) for kind, count in kinds.most_common()}
    if others:
        facts[_OTHERS] = str(others)
    text = [f"{count:8}  {line}" for line, count in distinct.most_common()]
    if left_out:
        text.append(f"{left_out:8}  further lines, not kept")
    return Excerpt(text="".join(f"{line}\n" for line in text), facts=facts)


def _kind(fields: Mapping[str, str]) -> str:
    """``reject some-reason (phase 1b)``, with the kernel where the line names one."""
    word = {name: value[:LONGEST_WORD] for name, value in fields.items()}
    said = f"{word.get('outcome', '?')} {word.get('reason', '?')} (phase {word.get('phase', '?')})"
    kernel = next((word[name] for name in _KERNEL if name in word), "")
    return f"{kernel}: {said}" if kernel else said


def notes(before: Mapping[str, str], after: Mapping[str, str]) -> Sequence[Note]:
    """What both sides printed, from their facts; nothing where no trace was asked for."""
    if _TOTAL not in before and _TOTAL not in after:
        return ()
    sides = {"before": _counts(before), "after": _counts(after)}
    totals = {side: counts.get(_TOTAL, 0) for side, counts in sides.items()}
    if not any(totals.values()):
        text = (
            "the build printed no RLC trace on either side: it has none, or nothing was "
            f"compiled with {VARIABLE}=1"
        )
        return (Note(code="trace-missing", text=text),)
    told = "; ".join(_told(side, counts) for side, counts in sides.items())
    return (Note(code="switch", text=f"RLC trace {told}", data=sides),)


def _counts(facts: Mapping[str, str]) -> dict[str, int]:
    """Numbers by what they count. Facts come from a file: what is no number is left out."""
    return {
        name.removeprefix(_KIND): int(value)
        for name, value in facts.items()
        if (name == _TOTAL or name.startswith(_KIND)) and re.fullmatch(r"[0-9]{1,12}", value)
    }


def _told(side: str, counts: Mapping[str, int]) -> str:
    total = counts.get(_TOTAL, 0)
    if not total:
        return f"{side}: none"
    kinds = {kind: count for kind, count in counts.items() if kind != _TOTAL}
    # What was refused is what one looks for; the rest explains it.
    order = sorted(kinds, key=lambda kind: ("reject " not in kind, -kinds[kind], kind))
    shown = [f"{kinds[kind]} {kind}" for kind in order[:SHOWN]]
    rest = sum(kinds[kind] for kind in order[SHOWN:])
    if rest:
        shown.append(f"{rest} of {len(order) - SHOWN} other kinds")
    return f"{side}: {total} line{'s' if total > 1 else ''}, {', '.join(shown)}"
