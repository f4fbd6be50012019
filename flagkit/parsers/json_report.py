"""What the entries of a JSON report say: rows, outcomes of tests, stamps of several runs."""

from __future__ import annotations

from datetime import datetime, timezone
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from flagkit.model import Damaged, Note, Source
from flagkit.parsers.json_entries import Entry, entries
from flagkit.parsers.json_rows import decode, is_result, rows_of
from flagkit.parsers.json_tools import tool_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from flagkit.model import Row

MERGED_AFTER_S = 4 * 3600
"""Neighbouring stamps further apart than this are of several runs: a session may last longer,
but none of its operators does."""

_STAMPS = ("timestamp", "time", "date", "datetime", "created", "start_time", "end_time")


class Report:
    """What a report's entries have said so far."""

    def __init__(self, source: str) -> None:
        self._file = source
        self._stamps: set[float] = set()
        self._op = ""

    def read(self, lines: Iterable[bytes]) -> Iterator[Row | Damaged | Note]:
        """Every fact of the report."""
        for entry in entries(lines):
            where = Source(file=self._file, line=entry.line)
            if entry.problem:
                yield Damaged(text=entry.text[:500], reason=entry.problem, source=where)
            else:
                yield from self._entry(entry, where)
            if entry.cut:
                text = "the report ends in the middle: its writer was stopped or still writes"
                yield Note(code="incomplete", text=text, source=where)
        stamps = sorted(self._stamps)
        gaps = [after - before for before, after in pairwise(stamps)]
        if any(gap > MERGED_AFTER_S for gap in gaps):
            yield self._merged(stamps[0], stamps[-1], max(gaps))

    def _entry(self, entry: Entry, where: Source) -> Iterator[Row | Damaged | Note]:
        name, value = entry.name, entry.value
        self._stamp({name: value})
        if is_result(value):
            yield from rows_of(value, where)
            return
        if not isinstance(value, dict) or not ({"details", "result", "test_case"} & value.keys()):
            if name in ("op", "op_name", "operator") and isinstance(value, str):
                self._op = value
            yield from tool_rows(name, value, where, self._op)
            return
        self._stamp(value)
        yield from self._outcome(name, value, where)
        details = value.get("details")
        for item in details if isinstance(details, list) else [details] if details else []:
            yield from self._detail(item, where)

    def _outcome(self, name: str, value: dict[str, Any], where: Source) -> Iterator[Note]:
        result = value.get("result")
        test = value.get("test_case") or name
        if result in ("failed", "skipped", "error"):
            verb = "was skipped" if result == "skipped" else "failed"
            reason = " ".join(str(value.get("reason") or "").split())[:500]
            text = f"{test} {verb}{': ' if reason else ''}{reason}"
            yield Note(code="incomplete", text=text, source=where)
        elif result is not None and not value.get("details"):
            yield Note(code="no-details", text=f"{test}: {result}, without a row", source=where)

    def _detail(self, item: Any, where: Source) -> Iterator[Row | Damaged]:
        if isinstance(item, str):
            try:
                item, _ = decode(item.strip())
            except ValueError:
                reason = "its details are text and no JSON"
                yield Damaged(text=str(item)[:500], reason=reason, source=where)
                return
        for one in item if isinstance(item, list) else [item]:
            if is_result(one):
                self._stamp(one)
                yield from rows_of(one, where)
            else:
                reason = "it is not a result"
                yield Damaged(text=str(one)[:500], reason=reason, source=where)

    def _stamp(self, value: dict[str, Any]) -> None:
        for name in _STAMPS:
            seconds = _seconds(value.get(name))
            if seconds is not None:
                self._stamps.add(seconds)

    def _merged(self, first: float, last: float, gap: float) -> Note:
        begin, end = (
            datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%d %H:%M")
            for at in (first, last)
        )
        text = (
            f"results of several runs were merged into this report: from {begin} to {end} (UTC), "
            f"and none for {gap / 3600:.0f} hours between"
        )
        return Note(code="merged", text=text, source=Source(file=self._file))


def _seconds(value: object) -> float | None:
    """A time stamp in seconds since 1970; None for anything that is none."""
    if isinstance(value, str):
        try:
            at = datetime.fromisoformat(value.strip().replace("Z", "+00:00"))
        except ValueError:
            return None
        return (at if at.tzinfo else at.replace(tzinfo=timezone.utc)).timestamp()
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 1e9 < value < 4e9:
        return float(value)
    return None
