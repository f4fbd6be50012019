"""What ``--fail-on`` asks of a report.

::

    condition  = "incomplete" | "regression" [ (":" | ">") percent ]
    percent    = a number of 0 or more, with or without "%"

``incomplete`` trips on an unfinished run, and on any row that is in no range for a reason
that may hide an effect. ``regression`` trips on any row, of any regime, whose after side is
slower by more than ``percent`` (:data:`DEFAULT_PERCENT` if not given): its speedup is below
minus that. ``regression:5``, ``regression>5`` and ``regression:5%`` mean the same.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from flagkit.errors import UsageError

if TYPE_CHECKING:
    from flagkit.model import RangeReport, SideLedger

DEFAULT_PERCENT = 3.0
"""Just above the worst row (2.87 %) of the same code run twice in two processes under one
plan: 13 workloads on one NVIDIA H200."""

EXIT_CODES = {"regression": 3, "incomplete": 4}
"""The command's exit code when a condition trips."""

_CONDITION = r"(?P<kind>incomplete|regression)(?:\s*[:>]\s*(?P<percent>\S+))?"


class FailOn(NamedTuple):
    """A parsed condition. ``percent`` counts for ``regression`` alone."""

    kind: Literal["incomplete", "regression"]
    percent: float = DEFAULT_PERCENT

    @property
    def exit_code(self) -> int:
        """The command's exit code when it trips: 3 or 4."""
        return EXIT_CODES[self.kind]


def parse_fail_on(expression: str) -> FailOn:
    """Read a condition; raises :class:`flagkit.errors.UsageError` for anything else."""
    match = re.fullmatch(_CONDITION, expression.strip())
    if match is None:
        raise UsageError(
            f"--fail-on: {expression!r} is no condition; "
            "give 'incomplete', 'regression' or 'regression:PERCENT'"
        )
    percent = match["percent"]
    if match["kind"] == "incomplete":
        if percent is not None:
            raise UsageError(f"--fail-on: 'incomplete' takes no number, as in {expression!r}")
        return FailOn(kind="incomplete")
    return FailOn(
        kind="regression",
        percent=DEFAULT_PERCENT if percent is None else _percent(percent, expression),
    )


def wrong_results(report: RangeReport) -> str | None:
    """How many rows of *report* gave a wrong result, on one line; None if none is known to."""
    notes = (note for note in report.notes if note.code == "wrong-result")
    rows = sum(int(note.data.get("rows", 1)) for note in notes)
    if not rows:
        return None
    return f"wrong result in {'1 row' if rows == 1 else f'{rows} rows'}"


def trips(report: RangeReport, expression: str | FailOn) -> str | None:
    """Why *report* trips the condition, on one line; None if it does not."""
    wanted = parse_fail_on(expression) if isinstance(expression, str) else expression
    if wanted.kind == "incomplete":
        return _incomplete(report)
    return _regression(report, wanted.percent)


def _regression(report: RangeReport, percent: float) -> str | None:
    slower = [pair for pair in report.pairs if pair.speedup_percent < -percent]
    if not slower:
        return None
    worst = min(slower, key=lambda pair: pair.speedup_percent)
    rows = "1 row is" if len(slower) == 1 else f"{len(slower)} rows are"
    close = ", within one step of the timer" if "one-tick" in worst.flags else ""
    return (
        f"{report.label}: {rows} slower by more than {percent:g}%; "
        f"worst {worst.speedup_percent:+.2f}%{close}: {worst.before.key.text()}"
    )


def _incomplete(report: RangeReport) -> str | None:
    reasons = list(report.incomplete)
    if report.ledger.incomplete:
        sides = (("before", report.ledger.before), ("after", report.ledger.after))
        reasons += [f"{side}: {left}" for side, book in sides if (left := _left_out(book))]
    return f"{report.label}: {'; '.join(reasons)}" if reasons else None


def _left_out(book: SideLedger) -> str:
    names = ("only", "ambiguous", "failed", "damaged", "mixed", "drifted", "inputs_differ")
    counts = {name: getattr(book, name) for name in names}
    return ", ".join(f"{count} {name.replace('_', '-')}" for name, count in counts.items() if count)


def _percent(text: str, expression: str) -> float:
    try:
        percent = float(text.removesuffix("%"))
    except ValueError:
        percent = math.nan
    if not (math.isfinite(percent) and percent >= 0):
        raise UsageError(f"--fail-on: {text!r} in {expression!r} is no per cent of 0 or more")
    return percent
