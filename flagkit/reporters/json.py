"""Reports as JSON, schema 1: the contract for scripts."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from flagkit import hookimpl
from flagkit.model import SIDES, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import click

    from flagkit.interfaces import Reporter
    from flagkit.model import Note, Pair, Range, RangeReport, Unpaired

_encode = json.JSONEncoder(allow_nan=False, default=str).encode

SCHEMA = 1
"""1: since 0.1. Keys are only ever added within a schema."""


class JsonReporter:
    """One report is an object of schema 1, several are ``{"schema": 1, "reports": [...]}``."""

    name = "json"
    summary = "schema 1, for scripts"
    suffix = ".json"

    def render(self, reports: Sequence[RangeReport], options: Mapping[str, Any]) -> str:
        """Strict JSON in ASCII: a value that is no number is null."""
        shown = [report_json(report) for report in reports]
        data = shown[0] if len(shown) == 1 else {"schema": SCHEMA, "reports": shown}
        if options.get("compact"):
            return _dumps(data) + "\n"
        if len(shown) == 1:
            return _lines(data) + "\n"
        reports_text = ",\n".join(map(_lines, shown))
        return f'{{"schema": {SCHEMA}, "reports": [\n{reports_text}\n]}}\n'

    def options(self) -> Sequence[click.Option]:
        """``--json-compact``."""
        import click

        return [click.Option(["--json-compact"], is_flag=True, help="JSON on one line.")]


@hookimpl
def flagkit_reporter() -> Reporter:
    """JSON, schema 1."""
    return JsonReporter()


def report_json(report: RangeReport) -> dict[str, Any]:
    """One report as plain data. Numbers are given in full, latencies in ms."""
    regimes = [_range(one) for one in report.ranges if not one.name]
    return {
        "schema": SCHEMA,
        "label": report.label,
        "rows": [_row(pair) for pair in report.pairs],
        "unpaired": [_unpaired(entry) for entry in report.unpaired],
        "ledger": {side: asdict(getattr(report.ledger, side)) for side in SIDES},
        "range": regimes[0] if regimes else None,
        "ranges": regimes,
        "derived_ranges": [{**_range(one), "name": one.name} for one in report.ranges if one.name],
        "notes": [_note(note) for note in report.notes],
        "complete": not report.incomplete,
        "incomplete": list(report.incomplete),
        "control": any(note.code == "control" for note in report.notes),
        "torch_control": _data(report, "torch-control"),
        "certificate": _data(report, "certificate"),
        "receipts": dict(report.receipts),
    }


def finite(value: Any) -> Any:
    """*value* with every number that JSON has no word for replaced by None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(one) for one in value]
    return value


def _lines(report: Mapping[str, Any]) -> str:
    """A report with each key, and each row, on a line of its own."""
    parts = []
    for key, value in report.items():
        if isinstance(value, list) and value:
            rows = ",\n  ".join(map(_dumps, value))
            parts.append(f"{_dumps(key)}: [\n  {rows}\n ]")
        else:
            parts.append(f"{_dumps(key)}: {_dumps(value)}")
    return "{\n " + ",\n ".join(parts) + "\n}"


def _dumps(data: Any) -> str:
    try:
        return _encode(data)
    except ValueError:  # one of the numbers is no number: rare, so looked for only now
        return _encode(finite(data))


def _row(pair: Pair) -> dict[str, Any]:
    before, after = pair.before, pair.after
    return {
        "op": before.key.op,
        "dtype": before.key.dtype,
        "size_detail": before.size_detail,
        "size_key": before.key.size_key,
        "occurrence": before.key.occurrence,
        "before_ms": before.latency_ms,
        "after_ms": after.latency_ms,
        "speedup_percent": pair.speedup_percent,
        "regime": pair.regime,
        "flags": list(pair.flags),
        "rounds": list(pair.rounds),
        "node": before.key.node,
        "mode": before.mode if before.mode != UNKNOWN else after.mode,
        "level": before.level if before.level != UNKNOWN else after.level,
        "before_torch_ms": before.baseline_ms,
        "after_torch_ms": after.baseline_ms,
        "before_samples_ms": list(before.samples_ms),
        "after_samples_ms": list(after.samples_ms),
        "certificate": after.certificate,
    }


def _unpaired(entry: Unpaired) -> dict[str, Any]:
    row, damaged = entry.row, entry.damaged
    source = row.source if row else damaged.source if damaged else None
    return {
        "side": entry.side,
        "op": row.key.op if row else None,
        "dtype": row.key.dtype if row else None,
        "size_key": row.key.size_key if row else None,
        "occurrence": row.key.occurrence if row else None,
        "reason": entry.reason,
        "latency_ms": row.latency_ms if row else None,
        "detail": entry.detail,
        "size_detail": row.size_detail if row else None,
        "regime": row.regime.label if row else None,
        "text": damaged.text if damaged else None,
        "source": str(source) if source and source.file else None,
    }


def _range(one: Range) -> dict[str, Any]:
    return {
        "regime": one.regime,
        "rows": one.rows,
        "min_percent": one.min_percent,
        "max_percent": one.max_percent,
        "min_row": one.min_row,
        "max_row": one.max_row,
    }


def _note(note: Note) -> dict[str, Any]:
    found: dict[str, Any] = {"code": note.code, "text": note.text}
    if note.side:
        found["side"] = note.side
    if note.source:
        found["source"] = str(note.source)
    if note.data:
        found["data"] = dict(note.data)
    return found


def _data(report: RangeReport, code: str) -> dict[str, Any] | None:
    return next((dict(note.data) for note in report.notes if note.code == code), None)
