"""flagkit's own journal of one side, ``measurements.jsonl``.

The agent writes one line a timed call and one a row that FlagGems made of it, as they
happen, so the rows can be told even where the printed table was lost.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from flagkit import hookimpl
from flagkit.compare.sizes import normalise_dtype
from flagkit.model import UNKNOWN, Damaged, Inputs, Note, Plan, Regime, Source
from flagkit.parsers.dirt import text_of
from flagkit.parsers.regimes import kept_mode
from flagkit.parsers.rows import make_row, measured

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from flagkit.model import Row

SCHEMA = 1
MAX_NOTES = 20
"""Lines of no journal that are named one by one."""

_TIMINGS = ("graph", "event", "host", "foreign")


class JournalParser:
    """Reads the agent's journal."""

    name = "flagkit-journal"
    summary = "flagkit's own journal of a side, measurements.jsonl"

    def claims(self, head: bytes, path: Path) -> bool:
        """Whether *head* begins as a journal does."""
        return head.lstrip()[:200].replace(b" ", b"").startswith(b'{"kind":')

    def parse(self, lines: Iterable[bytes], source: str) -> Iterator[Row | Damaged | Note]:
        """Read a journal. Rows come at its end: later lines complete earlier ones."""
        journal = _Journal(source)
        for number, line in enumerate(lines, 1):
            yield from journal.feed(line, number)
        yield from journal.rows()
        yield from journal.ending()


class _Journal:
    """What a journal has said so far."""

    def __init__(self, source: str) -> None:
        self._file = source
        self._calls: dict[str, tuple[dict[str, Any], int]] = {}
        self._found: dict[str, tuple[dict[str, Any], int]] = {}
        self._ended = False
        self._exit: Any = 0
        self._told = False
        self._strange = 0
        self._crowded = False

    def feed(self, line: bytes, number: int) -> Iterator[Damaged | Note]:
        """Take note of one line."""
        if not line.strip():
            return
        where = Source(file=self._file, line=number)
        try:
            entry = json.loads(text_of(line))
            kind = entry["kind"]
        except (ValueError, KeyError, TypeError, RecursionError):
            yield from self._unreadable(line, where)
            return
        if kind == "call":
            identity = _text(entry.get("id"))
            if identity in self._calls and not self._crowded:
                self._crowded = True
                text = f"call {identity} is there twice: more than one process wrote this journal"
                yield Note(code="incomplete", text=text, source=where)
            self._calls[identity] = (entry, number)
        elif kind == "row":
            if isinstance(entry.get("replaces"), dict):
                self._found.pop(_identity(entry["replaces"], number), None)
            self._found[_identity(entry, number)] = (entry, number)
        elif kind == "test":
            yield from self._test(entry, where)
        elif kind == "note":
            code = _text(entry.get("code")) or "note"
            yield Note(code=code, text=_text(entry.get("text")), source=where)
        elif kind == "start" and entry.get("schema") != SCHEMA:
            text = f"a journal of schema {entry.get('schema')!r}; this flagkit knows {SCHEMA}"
            yield Note(code="schema", text=text, source=where)
        elif kind == "end":
            self._ended, self._exit = True, entry.get("exit", 0)

    def rows(self) -> Iterator[Row | Damaged]:
        """Every row in the order of its timed call, or of its line where it has none."""
        merged = []
        for entry, number in self._found.values():
            call, called = self._calls.get(_text(entry.get("id")), ({}, number))
            merged.append((called, entry, call, number))
        known = {_text(entry.get("id")) for entry, _ in self._found.values()}
        failed = any(call.get("status") == "failed" for call, _ in self._calls.values())
        timed = self._timed() if failed else {}
        for identity, (call, number) in self._calls.items():
            if identity in known:
                continue
            if call.get("role") == "row" or _ended_its_row(call, number, timed):
                merged.append((number, {}, call, number))
        for _, entry, call, number in sorted(merged, key=lambda item: item[0]):
            yield self._row(entry, call, number)

    def _timed(self) -> dict[tuple[str, ...], int]:
        """Where each label was last timed without an error, or made a row."""
        last: dict[tuple[str, ...], int] = {}
        for entry, number in self._found.values():
            last[_label(entry)] = max(number, last.get(_label(entry), 0))
        for call, number in self._calls.values():
            if call.get("status") != "failed":
                last[_label(call)] = max(number, last.get(_label(call), 0))
        return last

    def ending(self) -> Iterator[Note]:
        """Whether the journal tells that the run ended well."""
        if not self._ended:
            yield self._incomplete("the benchmark's process ended before its session did")
        elif self._exit not in (0, None) and not self._told:
            yield self._incomplete(f"the benchmark's session ended with exit code {self._exit}")

    def _row(self, entry: dict[str, Any], call: dict[str, Any], number: int) -> Row | Damaged:
        def told(name: str) -> str:
            return _text(entry.get(name)) or _text(call.get(name))

        where = Source(file=self._file, line=number)
        try:
            status = _status(entry, call)
            row = make_row(
                op=told("op"),
                dtype=normalise_dtype(told("dtype")),
                size_detail=told("size_detail"),
                latency_ms=measured((entry or call).get("latency_ms")),
                baseline_ms=measured(entry.get("baseline_ms")),
                tflops=measured(entry.get("tflops")),
                gbps=measured(entry.get("gbps")),
                baseline_gbps=measured(entry.get("baseline_gbps")),
                failed=status == "failed",
                reason=told("reason"),
                mode=kept_mode(told("mode")),
                level=told("level") or UNKNOWN,
                regime=_regime(entry, call),
                node=told("node"),
                samples_ms=_samples(call),
                plan=_plan(call),
                call=_text(call.get("id")),
                inputs=_inputs(call),
                flags=tuple(str(flag) for flag in call.get("flags") or ()),
                source=where,
            )
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            text = json.dumps(entry or call)[:500]
            return Damaged(text=text, reason=f"it breaks the schema: {problem}", source=where)
        return _ruled(row, status)

    def _test(self, entry: dict[str, Any], where: Source) -> Iterator[Note]:
        outcome = entry.get("outcome")
        if outcome not in ("failed", "skipped"):
            return
        self._told = True
        verb = "was skipped" if outcome == "skipped" else f"failed in {entry.get('when', 'call')}"
        reason = " ".join(_text(entry.get("reason")).split())[:500]
        text = f"{entry.get('node', 'a test')} {verb}{': ' if reason else ''}{reason}"
        yield Note(code="incomplete", text=text, source=where)

    def _unreadable(self, line: bytes, where: Source) -> Iterator[Damaged | Note]:
        if not line.endswith(b"\n"):
            yield Note(code="cut-line", text="the journal's last line is cut short", source=where)
            return
        text = text_of(line.strip())[:500]
        if b'"row"' in line:
            yield Damaged(text=text, reason="it is not a journal's line", source=where)
        elif self._strange < MAX_NOTES:
            self._strange += 1
            yield Note(code="cut-line", text=f"not a journal's line: {text[:80]!r}", source=where)

    def _incomplete(self, text: str) -> Note:
        return Note(code="incomplete", text=text, source=Source(file=self._file))


def _identity(entry: dict[str, Any], number: int) -> str:
    """What a later line about the same row has in common with *entry*."""
    if entry.get("id") is not None:
        return f"id {entry['id']}"
    if entry.get("serial") is not None:
        return f"serial {entry['serial']}"
    return f"line {number}"


def _label(entry: dict[str, Any]) -> tuple[str, ...]:
    return tuple(_text(entry.get(name)) for name in ("node", "op", "dtype", "size_detail"))


def _ended_its_row(call: dict[str, Any], number: int, timed: Mapping[tuple[str, ...], int]) -> bool:
    """Whether an operator's call failed and the benchmark made no row of its label any more.

    FlagGems ends a test at such a call, so that its row is in no table. A benchmark that
    went on with the same label tried again: its row is the later one.
    """
    if call.get("role") != "op" or call.get("status") != "failed":
        return False
    label = _label(call)
    return all(label[1:]) and timed.get(label, 0) < number


def _status(entry: dict[str, Any], call: dict[str, Any]) -> str:
    """The worse of what row and call say: a row never is better than its call."""
    told = (_text(entry.get("status")), _text(call.get("status")))
    for status in ("failed", "no-device-work", "invalid"):
        if status in told:
            return status
    return "ok"


def _ruled(row: Row, status: str) -> Row:
    if status in ("failed", "ok") or row.status == "failed":
        return row
    from dataclasses import replace

    reason = row.reason or ("nothing ran on the device" if status != "invalid" else "")
    return replace(row, status=status, reason=reason)  # type: ignore[arg-type]


def _regime(entry: dict[str, Any], call: dict[str, Any]) -> Regime:
    if entry and entry.get("id") is None:
        return Regime(requested="foreign", resolved="foreign")
    data = call.get("regime") or {}

    def known(name: str, allowed: tuple[str, ...]) -> str:
        value = _text(data.get(name))
        return value if value in allowed else UNKNOWN

    return Regime(
        requested=known("requested", _TIMINGS),
        resolved=known("resolved", _TIMINGS),
        cache=known("cache", ("hot", "cold")),
        fallback_reason=_text(data.get("fallback_reason")),
        phase=_text(data.get("phase")),
        protocol=_text(data.get("protocol")),
    )


def _samples(call: dict[str, Any]) -> tuple[float, ...]:
    values = (measured(value) for value in call.get("samples_ms") or ())
    return tuple(value for value in values if value is not None)


def _plan(call: dict[str, Any]) -> Plan | None:
    return Plan.from_json(call["plan"]) if call.get("plan") else None


def _inputs(call: dict[str, Any]) -> Inputs | None:
    data = call.get("inputs")
    if not data:
        return None
    return Inputs(
        fingerprint=_text(data.get("fingerprint")),
        digest=_text(data.get("digest")),
        settled=_text(data.get("settled")),
        mutated=bool(data.get("mutated")),
        unseen=int(data.get("unseen") or 0),
    )


def _text(value: object) -> str:
    return "" if value is None else str(value)


@hookimpl
def flagkit_parser() -> JournalParser:
    """flagkit's own journal."""
    return JournalParser()
