"""The second table that the field publishes: every timed kernel, by row and side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flagkit import hookimpl
from flagkit.model import SIDES
from flagkit.reporters import text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import click

    from flagkit.interfaces import Reporter
    from flagkit.model import Pair, RangeReport, Row, Side

COLUMNS = (
    "kernel",
    "shape index",
    "side",
    "constexprs",
    "signature",
    "warps",
    "stages",
    "shared (bytes)",
    "registers",
    "spills",
    "layout conversions",
    "TTGIR",
    "code",
    "verdict",
)

DIGITS = 12
"""Of a digest: enough to tell the kernels of one report apart."""

SHAPES = ("shape index", "operator", "dtype", "size")


class KernelsReporter:
    """One Markdown table a report, two lines a kernel, and what each shape index stands for."""

    name = "kernels"
    summary = "compiled kernels of both sides, changed or identical"
    suffix = ".md"

    def render(self, reports: Sequence[RangeReport], options: Mapping[str, Any]) -> str:
        """A shape index is the place, from 1, of a row in the report's own table."""
        return "\n\n".join(block for report in reports for block in _report(report)) + "\n"

    def options(self) -> Sequence[click.Option]:
        """It has none."""
        return ()


@hookimpl
def flagkit_reporter() -> Reporter:
    """The kernel table."""
    return KernelsReporter()


def _report(report: RangeReport) -> Iterator[str]:
    yield f"### {text.markdown(report.label)}"
    proof = report.receipts.get("kernels")
    if not isinstance(proof, dict) or not proof.get("kernels"):
        yield "No compiled kernel is known."
        return
    yield text.markdown(str(proof.get("text", "")))
    counts = proof.get("conversions")
    if isinstance(counts, dict):
        said = ", ".join(f"{counts.get(side)} {side}" for side in SIDES)
        yield text.markdown(f"layout conversions in the TTGIR of both sides' kernels: {said}")
    places = {side: _places(report, side) for side in SIDES}
    lines = [
        _line(kernel, side, places[side])
        for kernel in proof["kernels"]
        for side in SIDES
        if isinstance(kernel.get(side), dict)
    ]
    yield _table(COLUMNS, lines)
    if report.pairs:
        yield _table(SHAPES, [_shape(place, pair.before) for place, pair in _numbered(report)])


def _table(columns: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    return "\n".join(
        f"| {' | '.join(line)} |" for line in (columns, ["---"] * len(columns), *lines)
    )


def _numbered(report: RangeReport) -> Iterator[tuple[int, Pair]]:
    return iter(enumerate(report.pairs, 1))


def _shape(place: int, row: Row) -> tuple[str, ...]:
    shown = (str(place), row.key.op, row.key.dtype, row.size_detail or row.key.size_key)
    return tuple(text.markdown(value) for value in shown)


def _places(report: RangeReport, side: Side) -> dict[str, int]:
    """Numbers of the report's rows by the timed call that each came from."""
    rows = [
        (place, pair.before if side == "before" else pair.after)
        for place, pair in _numbered(report)
    ]
    return {row.call: place for place, row in rows if row.call}


def _line(kernel: Mapping[str, Any], side: Side, places: Mapping[str, int]) -> tuple[str, ...]:
    record = kernel[side]
    options = record.get("options") or {}
    rows = sorted({places[call] for call in record.get("calls") or () if call in places})
    shown = (
        record.get("name"),
        " ".join(map(str, rows)) or None,
        side,
        record.get("constexprs"),
        record.get("signature"),
        options.get("num_warps"),
        options.get("num_stages"),
        record.get("shared"),
        record.get("registers"),
        record.get("spills"),
        record.get("conversions"),
        str(record.get("ttgir") or "")[:DIGITS],
        str(record.get("code") or "")[:DIGITS],
        f"{kernel.get('verdict')} ({record['reason']})"
        if record.get("reason")
        else kernel.get("verdict"),
    )
    return tuple("-" if value in (None, "") else text.markdown(str(value)) for value in shown)
