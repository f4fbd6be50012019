"""FlagGems' JSON reports (``--record json``, since 2026-05) and what its tools make of them.

A report maps a test's mark to its outcome and details. It is merged into a file that
exists, so results of older runs survive in it; details are keyed by operator and outcomes
by mark, so that one test can have two entries; details can be JSON within a string.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flagkit import hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from flagkit.model import Damaged, Note, Row

_FIELDS = rb'"(?:details|result|reason|test_case|op_name|performance|accuracy|customized|ref_us)"'
_COMMENTS = re.compile(rb"(?:\s*#[^\n]*\n)*\s*")
_CLAIM = re.compile(rb"(?:\[\s*)?\{\s*(?=\").*?" + _FIELDS + rb"\s*:", re.DOTALL)


class JsonParser:
    """Reads JSON reports."""

    name = "flaggems-json"
    summary = "FlagGems' JSON reports, made with --record json"

    def claims(self, head: bytes, path: Path) -> bool:
        """Whether *head* begins as a report does: JSON that speaks of results."""
        start = head[_COMMENTS.match(head).end() :]  # type: ignore[union-attr]
        if start[:200].replace(b" ", b"").startswith(b'{"kind":'):
            return False
        return _CLAIM.match(start) is not None

    def parse(self, lines: Iterable[bytes], source: str) -> Iterator[Row | Damaged | Note]:
        """Read a report entry by entry."""
        # Loaded here: every log is shown to this parser, and few are for it.
        from flagkit.parsers.json_report import Report

        yield from Report(source).read(lines)


@hookimpl
def flagkit_parser() -> JsonParser:
    """FlagGems' JSON reports."""
    return JsonParser()
