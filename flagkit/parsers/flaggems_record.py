"""FlagGems' record logs (``--record log``), every version since 2024-10.

One line an operator and dtype: ``[INFO]`` and JSON. Other libraries' lines and query mode's
stand between them and are passed over. A JSON object ends itself, so text glued behind or
before one does no harm; one that was cut is damaged as a whole.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flagkit import hookimpl
from flagkit.model import Damaged, Note, Source
from flagkit.parsers.dirt import plain
from flagkit.parsers.json_rows import decode, is_result, rows_of
from flagkit.parsers.stream import Wanted, as_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from flagkit.model import Row

MAX_DAMAGED = 4
"""Broken records looked for in one line: each costs a look at all the rest of it."""

BANNER = b"[INFO] Benchmark record logger enabled"
_BEGIN = re.compile(r'\{\s*"op_name"\s*:')
_CLAIM = re.compile(rb'\[INFO\] \{\s*"op_name"\s*:')
_WANTED = Wanted({b'{"op_name":': b"{", b"{'op_name':": b"{"}, rb'\[INFO\] \{ *"op_name')


class RecordParser:
    """Reads record logs."""

    name = "flaggems-record"
    summary = "FlagGems' record logs, made with --record log"

    def claims(self, head: bytes, path: Path) -> bool:
        """Whether a record stands in *head*, or the record logger's banner without a table."""
        if _CLAIM.search(head):
            return True
        return BANNER in head and b"Performance Test (" not in head

    def parse(self, lines: Iterable[bytes], source: str) -> Iterator[Row | Damaged | Note]:
        """Read a record log."""
        stream = as_lines(lines)
        stream.wait_for(_WANTED)
        for raw in stream:
            if b"op_name" not in raw:
                continue
            where = Source(file=source, line=stream.number)
            text = plain(raw)
            if "{'op_name'" in text:
                yield Note(code="query", text="shapes of a --query run, not results", source=where)
            yield from _records(text, where, cut=not raw.endswith(b"\n"))


def _records(text: str, where: Source, cut: bool) -> Iterator[Row | Damaged | Note]:
    position = failed = 0
    while failed < MAX_DAMAGED and (found := _BEGIN.search(text, position)):
        try:
            value, position = decode(text, found.start())
        except ValueError:
            reason = "the record is cut or something stands in it"
            yield Damaged(text=text[found.start() :][:500], reason=reason, source=where)
            if cut:
                yield Note(code="incomplete", text="the log ends in mid-record", source=where)
            position = found.end()
            failed += 1
            continue
        if is_result(value):
            yield from rows_of(value, where)


@hookimpl
def flagkit_parser() -> RecordParser:
    """FlagGems' record logs."""
    return RecordParser()
