"""Reports as JSON, schema 1: the contract for scripts."""

from __future__ import annotations

import json
from dataclasses import asdict
from json.encoder import encode_basestring_ascii as _text
from math import isfinite
from typing import TYPE_CHECKING, Any

from flagkit import hookimpl
from flagkit.compare.rules import labels
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
        compact = bool(options.get("compact"))
        if len(reports) == 1:
            return _shown(reports[0], compact, end="\n")
        shown = [_shown(report, compact) for report in reports]
        if compact:
            return f'{{"schema": {SCHEMA}, "reports": [{", ".join(shown)}]}}\n'
        reports_text = ",\n".join(shown)
        return f'{{"schema": {SCHEMA}, "reports": [\n{reports_text}\n]}}\n'

    def options(self) -> Sequence[click.Option]:
        """``--json-compact``."""
        import click

        return [click.Option(["--json-compact"], is_flag=True, help="JSON on one line.")]


@hookimpl
def flagkit_reporter() -> Reporter:
    """JSON, schema 1."""
    return JsonReporter()


def _parts(report: RangeReport) -> dict[str, str | list[str]]:
    """One report's keys with their values as JSON; a list's elements each by itself."""
    regimes = [_range(one) for one in report.ranges if not one.name]
    derived = [{**_range(one), "name": one.name} for one in report.ranges if one.name]
    return {
        "schema": _dumps(SCHEMA),
        "label": _dumps(report.label),
        "rows": list(map(_row, report.pairs, labels([p.before.regime for p in report.pairs]))),
        "unpaired": [_dumps(_unpaired(entry)) for entry in report.unpaired],
        "ledger": _dumps({side: asdict(getattr(report.ledger, side)) for side in SIDES}),
        "range": _dumps(regimes[0] if regimes else None),
        "ranges": [_dumps(one) for one in regimes],
        "derived_ranges": [_dumps(one) for one in derived],
        "notes": [_dumps(_note(note)) for note in report.notes],
        "complete": _dumps(not report.incomplete),
        "incomplete": [_dumps(reason) for reason in report.incomplete],
        "control": _dumps(any(note.code == "control" for note in report.notes)),
        "torch_control": _dumps(_data(report, "torch-control")),
        "certificate": _dumps(_data(report, "certificate")),
        "receipts": _dumps(dict(report.receipts)),
    }


def finite(value: Any) -> Any:
    """*value* with every number that JSON has no word for replaced by None."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(one) for one in value]
    return value


def _shown(report: RangeReport, compact: bool, end: str = "") -> str:
    """A report on one line, or with each key, and each row, on a line of its own.

    Its rows are joined once, with all else put in front of the first and behind the last
    element of a list: a large report is not copied again.
    """
    of_keys, of_rows = ("", "") if compact else ("\n ", "\n  ")
    open_list, close_list = f"[{of_rows}", f"{of_keys}]"
    between_keys, between_rows = (", ", ", ") if compact else (f",{of_keys}", f",{of_rows}")
    texts: list[str] = []
    tail, comma = f"{{{of_keys}", ""
    for key, value in _parts(report).items():
        tail += f'{comma}"{key}": '
        comma = between_keys
        if isinstance(value, str):
            tail += value
        elif value:
            texts.append(tail + open_list + value[0])
            texts += value[1:]
            tail = texts.pop() + close_list
        else:
            tail += "[]"
    texts.append(f"{tail}{of_keys.rstrip(' ')}}}{end}")
    return between_rows.join(texts)


def _dumps(data: Any) -> str:
    try:
        return _encode(data)
    except ValueError:  # one of the numbers is no number: rare, so looked for only now
        return _encode(finite(data))


def _row(pair: Pair, regime: str) -> str:
    # Written out: a dictionary of its cells takes twice as long, and most of a report is rows.
    before, after = pair.before, pair.after
    key, flags = before.key, pair.flags
    mode = before.mode if before.mode != UNKNOWN else after.mode
    level = before.level if before.level != UNKNOWN else after.level
    percent = pair.speedup_percent
    speedup = _number(percent)
    rounds = f"[{speedup}]" if pair.rounds == (percent,) else _numbers(pair.rounds)
    return (
        f'{{"op": {_text(key.op)}, '
        f'"dtype": {_text(key.dtype)}, '
        f'"size_detail": {_text(before.size_detail)}, '
        f'"size_key": {_text(key.size_key)}, '
        f'"occurrence": {key.occurrence}, '
        f'"before_ms": {_number(before.latency_ms)}, '
        f'"after_ms": {_number(after.latency_ms)}, '
        f'"speedup_percent": {speedup}, '
        f'"regime": {_text(regime)}, '
        f'"flags": {_dumps(flags) if flags else "[]"}, '
        f'"rounds": {rounds}, '
        f'"node": {_text(key.node)}, '
        f'"mode": {_text(mode)}, '
        f'"level": {_text(level)}, '
        f'"before_torch_ms": {_number(before.baseline_ms)}, '
        f'"after_torch_ms": {_number(after.baseline_ms)}, '
        f'"before_samples_ms": {_numbers(before.samples_ms)}, '
        f'"after_samples_ms": {_numbers(after.samples_ms)}, '
        f'"certificate": {_dumps(after.certificate) if after.certificate else "null"}}}'
    )


def _number(value: float | None) -> str:
    if value is None:
        return "null"
    return repr(value) if type(value) is float and isfinite(value) else _dumps(value)


def _numbers(values: Sequence[float]) -> str:
    return f"[{', '.join(map(_number, values))}]" if values else "[]"


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
