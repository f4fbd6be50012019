"""What every human reporter says, as plain facts: headlines, rows, ledger lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from flagkit.compare.verdicts import wrong_results
from flagkit.model import SIDES, SideLedger
from flagkit.reporters import text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from flagkit.model import Note, Pair, Range, RangeReport, Unpaired

SAME_CODE_NOTES = {
    "control": "control: the same code on both sides, this is noise",
    "same-code": "no compiled code and no launch differs: this is noise",
}
"""Notes that change how a range is read, and what the headline says for them."""

QUIET_NOTES = frozenset(
    {"one-tick", "regime-foreign", "proof", "switch", "switch-proof", "checked"}
)
"""Notes that tell without warning."""

LONGEST_SIZE = 1000
"""Characters of a size detail shown to people; JSON and CSV keep all."""

DOUBTS = ("one-tick", "unsteady", "short-windows")
"""Flags that put a row's speedup in doubt, so that an end of a range has to tell them."""

LEDGER_WORDS = {
    "only": "on this side only",
    "ambiguous": "ambiguous",
    "failed": "failed",
    "invalid": "invalid",
    "damaged": "damaged",
    "mixed": "mixed",
    "drifted": "drifted",
    "inputs_differ": "with other inputs",
    "no_device_work": "without device work",
}


class RowText(NamedTuple):
    """A pair as words. ``rounds`` is the extent of its speedups, empty for a single round."""

    op: str
    dtype: str
    size: str
    before: str
    after: str
    speedup: str
    rounds: str
    flags: str


class UnpairedText(NamedTuple):
    """An unpaired entry as words."""

    side: str
    op: str
    dtype: str
    size: str
    latency: str
    reason: str
    detail: str


class ClosingText(NamedTuple):
    """A whole report as one line of the closing table."""

    label: str
    rows: str
    lowest: str
    highest: str
    regime: str
    unpaired: str
    remarks: str


def headline(report: RangeReport) -> str:
    """``gelu_backward: 5 rows paired, speedup -0.43% ~ +0.09%``, unescaped.

    A wrong result is said before that.
    """
    found, wrong = report.range, wrong_results(report)
    label = f"{report.label}: {wrong}" if wrong else report.label
    if found is None:
        return f"{label}: nothing paired"
    line = (
        f"{label}: {text.count(found.rows, 'row')} paired, "
        f"speedup {text.span(found.min_percent, found.max_percent)}"
    )
    said = same_code(report)
    return f"{line} ({said})" if said else line


def same_code(report: RangeReport) -> str:
    """What the headline says of a comparison of equal code; empty for any other."""
    return next(
        (SAME_CODE_NOTES[note.code] for note in report.notes if note.code in SAME_CODE_NOTES), ""
    )


def range_line(one: Range, main: Range | None) -> str:
    """A further range: another regime's, or one that leaves rows out."""
    rows = text.count(one.rows, "row")
    extent = text.span(one.min_percent, one.max_percent)
    if one.name:
        return f"{one.name}: {rows}, speedup {extent}"
    apart = "timed under another regime, " if main is not None and one is not main else ""
    return f"{apart}{one.regime}: {rows}, speedup {extent}"


def ends(one: Range, pairs: Sequence[Pair]) -> tuple[tuple[str, str], tuple[str, str]]:
    """The range's two ends: what each is, and the row that stands there."""
    low, high = (_end(pairs[place]) for place in (one.min_row, one.max_row))
    return (text.percent(one.min_percent), low), (text.percent(one.max_percent), high)


def _end(pair: Pair) -> str:
    (row,) = row_texts([pair])
    return ", ".join([f"{row.op} {row.dtype} {row.size}", *(f for f in pair.flags if f in DOUBTS)])


def row_columns(pairs: Sequence[Pair]) -> tuple[list[str], ...]:
    """Pairs as words, unescaped: a column for each field of :class:`RowText`."""
    before = [pair.before for pair in pairs]
    keys = [row.key for row in before]
    rounds = [pair.rounds for pair in pairs]
    return (
        [key.op for key in keys],
        [short_dtype(key.dtype) for key in keys],
        [numbered(key.size_key, key.occurrence) for key in keys],
        [text.milliseconds(row.latency_ms) for row in before],
        [text.milliseconds(pair.after.latency_ms) for pair in pairs],
        [text.signed(pair.speedup_percent) for pair in pairs],
        [text.span(min(all_), max(all_)) if len(all_) > 1 else "" for all_ in rounds],
        [", ".join(pair.flags) for pair in pairs],
    )


def row_texts(pairs: Sequence[Pair]) -> Iterator[RowText]:
    """Each pair as words, unescaped."""
    return map(RowText, *row_columns(pairs))


def unpaired_text(entry: Unpaired) -> UnpairedText:
    """One unpaired entry as words, unescaped."""
    row, damaged = entry.row, entry.damaged
    if row is not None:
        return UnpairedText(
            side=entry.side,
            op=row.key.op,
            dtype=short_dtype(row.key.dtype),
            size=numbered(row.key.size_key, row.key.occurrence),
            latency=text.milliseconds(row.latency_ms),
            reason=entry.reason,
            detail=entry.detail,
        )
    assert damaged is not None
    where = f"{damaged.source}: " if damaged.source.file else ""
    return UnpairedText(
        side=entry.side,
        op="",
        dtype="",
        size=damaged.text.strip()[:60],
        latency="-",
        reason=entry.reason,
        detail=f"{where}{entry.detail}",
    )


def closing_text(report: RangeReport) -> ClosingText:
    """One operator's line of the table that ends several reports, unescaped."""
    found = report.range
    remarks = [
        *(["wrong result"] if wrong_results(report) else []),
        *(["control"] if same_code(report) else []),
        *(["incomplete"] if report.incomplete else []),
        *([] if found else ["nothing paired"]),
        *(f"{one.rows} under {one.regime}" for one in report.ranges[1:] if not one.name),
    ]
    return ClosingText(
        label=report.label,
        rows=str(found.rows if found else 0),
        lowest=text.signed(found.min_percent) if found else "-",
        highest=text.signed(found.max_percent) if found else "-",
        regime=found.regime if found else "-",
        unpaired=str(len(report.unpaired)),
        remarks=", ".join(remarks),
    )


def ledger_line(side: str, ledger: SideLedger) -> str:
    """``before  5 seen = 4 paired + 1 failed``: the parts always add up."""
    parts = [f"{ledger.paired} paired"]
    parts += [
        f"{getattr(ledger, name)} {words}"
        for name, words in LEDGER_WORDS.items()
        if getattr(ledger, name)
    ]
    return f"{side:<6}  {ledger.seen} seen = {' + '.join(parts)}"


def ledger_lines(report: RangeReport) -> list[str]:
    """Both sides' books."""
    return [ledger_line(side, getattr(report.ledger, side)) for side in SIDES]


def warnings(report: RangeReport) -> list[tuple[bool, str]]:
    """What qualifies the range, unfinished runs first: whether it is grave, and its words."""
    wrong = [note for note in report.notes if note.code == "wrong-result"]
    lines = [(True, note_line(note)) for note in wrong]
    lines += [(True, f"incomplete run: {reason}") for reason in report.incomplete]
    said = same_code(report)
    notes = [note for note in report.notes if not said or note.code not in SAME_CODE_NOTES]
    notes = [note for note in notes if note not in wrong]
    lines += [(True, note_line(note)) for note in notes if _is_grave(note)]
    lines += [(False, note_line(note)) for note in notes if not _is_grave(note)]
    if any(one.regime.startswith("graph/") for one in report.ranges):
        lines.append((False, "graph rows leave out what a launch costs the host"))
    return lines


def _is_grave(note: Note) -> bool:
    if note.code == "torch-control":
        return bool(note.data.get("large"))
    if note.code == "certificate":
        return bool(note.data.get("missed")) or not note.data
    return note.code not in QUIET_NOTES


def note_line(note: Note) -> str:
    """A note as words."""
    return f"{note.side}: {note.text}" if note.side else note.text


def short_dtype(dtype: str) -> str:
    """Torch's dtypes without their package: every dtype of a report has it."""
    return dtype.removeprefix("torch.")


def numbered(size: str, occurrence: int) -> str:
    """The size, with its number where the same size stands several times.

    A benchmark that takes a list of a million numbers prints all of them as its size.
    """
    if len(size) > LONGEST_SIZE:
        size = f"{size[:LONGEST_SIZE]}... ({len(size):,} characters)"
    return f"{size} ({occurrence + 1})" if occurrence else size


def several_ops(report: RangeReport) -> bool:
    """Whether rows of more than the label's operator stand in the report."""
    ops = {pair.before.key.op for pair in report.pairs}
    ops |= {entry.row.key.op for entry in report.unpaired if entry.row is not None}
    return ops != {report.label}
