"""Which parser a log is for: found by content, and never guessed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flagkit.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from flagkit.interfaces import LogParser

_EVIDENCE = (
    (
        rb"bringing up nodes|created: \d+/\d+ workers|^\[gw\d+\]|^gw\d+ \[\d+\]",
        (
            "pytest-xdist ran its tests in workers, whose output is not shown: "
            "run the benchmark again without -n and with -s"
        ),
    ),
    (
        rb"Recommended Core Shapes|'recommended_core_shapes'|\"recommended_core_shapes\"",
        (
            "it is the output of --query, which shows shapes and measures nothing: "
            "run the benchmark without --query"
        ),
    ),
    (
        rb"Benchmark record logger enabled",
        (
            "it holds the record logger's banner only, so nothing was recorded: "
            "see the benchmark's own output for why"
        ),
    ),
    (
        rb"(?:^|\D)(?:collected 0 items|no tests ran|0 selected)",
        "pytest ran no test: check the operator's mark and file",
    ),
    (
        rb"Performance(?: |\xc2\xa0)Test(?: |\xc2\xa0)\((?:dtype=|torch\.)|^(?:Status|Size) .*Latency \(ms\)",
        (
            "a table begins, but no row follows: the benchmark was stopped, or still runs; "
            "let it end, or run it again"
        ),
    ),
    (rb"^collected \d+ items?|test session starts|\d+ passed.* in [\d.]+s", "pytest"),
)


def choose(
    head: bytes, path: Path, parsers: Sequence[LogParser], name: str | None = None
) -> LogParser | None:
    """The one of *parsers* that claims a log which holds *head*; None if none does.

    :param name: take this one, claim or not.
    """
    if name is not None:
        for parser in parsers:
            if parser.name == name:
                return parser
        known = ", ".join(sorted(parser.name for parser in parsers))
        raise UsageError(f"unknown parser {name!r}; known: {known}")
    claiming = [parser for parser in parsers if _claims(parser, head, path)]
    if len(claiming) > 1:
        names = ", ".join(sorted(parser.name for parser in claiming))
        raise InputError(
            f"{path} looks like a log of {len(claiming)} formats ({names}): "
            "say which with --parser NAME"
        )
    return claiming[0] if claiming else None


def _claims(parser: LogParser, head: bytes, path: Path) -> bool:
    """Whether *parser* claims the log. One that fails breaks only itself, so claims nothing."""
    try:
        return bool(parser.claims(head, path))
    except Exception:
        return False


class Evidence:
    """What a log without rows shows, to tell why it has none."""

    def __init__(self) -> None:
        self._seen: list[bytes] = []

    def see(self, text: bytes) -> None:
        """Keep a piece of the log; it is looked through only if it has to be."""
        self._seen.append(text)

    def why(self) -> str:
        """Why there are no rows, and what to do; empty where nothing tells."""
        for pattern, text in _EVIDENCE:
            if any(re.search(pattern, piece, re.MULTILINE) for piece in self._seen):
                return self._of_pytest() if text == "pytest" else text
        return ""

    def _of_pytest(self) -> str:
        """Why pytest printed no table: its own reasons where it names some."""
        from flagkit.parsers.dirt import shown
        from flagkit.parsers.pytest_output import Session

        session = Session("")
        for piece in self._seen:
            for number, line in enumerate(piece.splitlines(), 1):
                session.feed(shown(line)[-1], number)
        reasons = [note.text for note in session.notes()][:3]
        if reasons:
            return f"no table was printed: {'; '.join(reasons)}"
        return "pytest ran but no table was printed: run the benchmark with -s"
