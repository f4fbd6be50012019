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
    from flagkit.model import RangeReport, Side

COLUMNS = (
    "kernel",
    "rows",
    "side",
    "constants",
    "signature",
    "warps",
    "stages",
    "shared (bytes)",
    "registers",
    "spills",
    "conversions",
    "TTGIR",
    "code",
    "verdict",
)

DIGITS = 12
"""Of a digest: enough to tell the kernels of one report apart."""


class KernelsReporter:
    """One Markdown table a report, two lines a kernel."""

    name = "kernels"
    summary = "compiled kernels of both sides, changed or identical"
    suffix = ".md"

    def render(self, reports: Sequence[RangeReport], options: Mapping[str, Any]) -> str:
        """Rows are numbered from 1, in the order of the report's own table."""
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
    places = {side: _places(report, side) for side in SIDES}
    lines = [COLUMNS, ("---",) * len(COLUMNS)]
    for kernel in proof["kernels"]:
        for side in SIDES:
            if isinstance(kernel.get(side), dict):
                lines.append(_line(kernel, side, places[side]))
    yield "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _places(report: RangeReport, side: Side) -> dict[str, int]:
    """Numbers of the report's rows by the timed call that each came from."""
    rows = [pair.before if side == "before" else pair.after for pair in report.pairs]
    return {row.call: place for place, row in enumerate(rows, 1) if row.call}


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
