"""What a switch takes out of a side's log: kept beside it, bounded, and with its receipt.

Which lines those are, only the switch knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flagkit.experiment.collect import LOG
from flagkit.experiment.rundir import write_text
from flagkit.interfaces import TakesExcerpts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from flagkit.interfaces import Switch

EXCERPT = "switch.log"
LONGEST_LINE = 1 << 16
"""Bytes of a line that the switch is shown."""
LARGEST = 1 << 18
"""Characters of the text that is kept."""
MOST_FACTS, LONGEST_FACT = 200, 500


def take_excerpt(switch: Switch, options: Mapping[str, Any], side: Path) -> dict[str, Any]:
    """Let *switch* look at what a side printed; what the receipt keeps of it, empty for nothing.

    A switch that fails breaks only its excerpt: its side was measured and stands.
    """
    if not isinstance(switch, TakesExcerpts):
        return {}
    try:
        found = switch.excerpt(_lines(side / LOG), options)
        if found is None:
            return {}
        text, facts = str(found.text), dict(found.facts)
    except Exception as error:
        problem = f"switch {switch.name!r}: excerpt() raised {type(error).__name__}: {error}"
        return {"problem": _shown(problem, LONGEST_FACT)}
    if text:
        whole = "".join(c if c == "\n" else _shown(c, 10) for c in text[:LARGEST])
        write_text(side / EXCERPT, whole if len(text) <= LARGEST else f"{whole}\n(cut short)\n")
    kept = list(facts.items())[:MOST_FACTS]
    return {"facts": {_shown(n, LONGEST_FACT): _shown(v, LONGEST_FACT) for n, v in kept}}


def excerpt_of(receipt: Mapping[str, Any] | None) -> tuple[dict[str, str], str]:
    """The facts in a receipt, and what went wrong when they were taken."""
    found = (receipt or {}).get("excerpt")
    if not isinstance(found, dict):
        return {}, ""
    facts = found.get("facts")
    pairs = facts.items() if isinstance(facts, dict) else ()
    return {str(name): str(value) for name, value in pairs}, str(found.get("problem") or "")


def _lines(path: Path) -> Iterator[bytes]:
    """The log's lines as they come, long ones cut; none if there is no log."""
    try:
        file = path.open("rb")
    except OSError:
        return
    with file:
        start = True
        while line := file.readline(LONGEST_LINE):
            if start:
                yield line
            start = line.endswith(b"\n")


def _shown(value: object, longest: int) -> str:
    """*value* with what does not print written out."""
    text = str(value)[:longest]
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
