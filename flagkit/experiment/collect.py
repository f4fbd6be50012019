"""From a side's directory to its rows.

The journal is the source: it has every row at full precision with its test, plan,
samples and regime, also where FlagGems' table was never printed. The printed table is
read as well, and rows that are only in it were timed by something flagkit did not see:
their regime is ``foreign``.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flagkit.errors import InputError
from flagkit.experiment.rundir import RECEIPT, read_json
from flagkit.model import Regime, Row, RunLog, number_rows
from flagkit.parsers.reading import parse_file

if TYPE_CHECKING:
    from pathlib import Path

    from flagkit.plugins import Registry

LOG, JOURNAL = "run.log", "measurements.jsonl"

MOST_REFUSAL = 1 << 14
"""Bytes of a log within which pytest refuses its arguments: it does so at once."""

_REFUSAL = re.compile(
    r"^(?:(?:\S+ -m )?\S*pytest\S*|__main__\.py): error: (?P<what>.+)$", re.MULTILINE
)


def collect(directory: Path, registry: Registry) -> RunLog:
    """Everything a finished or unfinished side left.

    Raises :class:`InputError` if it left no row at all, saying why.
    """
    receipt = read_json(directory / RECEIPT) if (directory / RECEIPT).is_file() else None
    journal, printed = RunLog(source=str(directory)), RunLog(source=str(directory))
    if (directory / JOURNAL).is_file():
        journal = parse_file(directory / JOURNAL, registry.parser("flagkit-journal"))
    if (directory / LOG).is_file():
        printed = parse_file(directory / LOG, registry.parser("flaggems-table"))
    log = merge(journal, printed, receipt)
    if not log.seen:
        raise InputError(f"{directory}: {_nothing(log, directory)}")
    return log


def merge(journal: RunLog, printed: RunLog, receipt: dict[str, Any] | None) -> RunLog:
    """One log out of a side's journal and what it printed."""
    foreign = _only_printed(journal.rows, printed.rows)
    incomplete = list(journal.incomplete or (() if journal.rows else printed.incomplete))
    problem = str((receipt or {}).get("problem") or "")
    if receipt is None:
        incomplete.insert(0, "the side has no receipt: it did not finish")
    elif problem:
        incomplete.insert(0, f"the benchmark's process {problem}")
    elif not incomplete and receipt.get("exit"):
        incomplete.append(f"pytest ended with exit code {receipt['exit']}")
    return RunLog(
        rows=number_rows([*journal.rows, *foreign]),
        damaged=(*journal.damaged, *(() if journal.rows else printed.damaged)),
        notes=journal.notes,
        incomplete=tuple(dict.fromkeys(incomplete)),
        journalled=bool(journal.rows),
        source=journal.source,
        receipt=receipt,
    )


def _only_printed(journalled: tuple[Row, ...], printed: tuple[Row, ...]) -> list[Row]:
    """Printed rows that the journal does not have, by how often each key stands in both."""
    known = Counter(_key(row) for row in journalled)
    foreign = []
    for row in printed:
        if known[_key(row)] > 0:
            known[_key(row)] -= 1
        else:
            regime = Regime(requested=row.regime.requested, resolved="foreign")
            foreign.append(replace(row, regime=regime))
    return foreign


def _key(row: Row) -> tuple[str, str, str]:
    return (row.key.op, row.key.dtype, row.key.size_key)


def _nothing(log: RunLog, directory: Path) -> str:
    reasons = [*log.incomplete, *_refused(directory / LOG)]
    reason = "; ".join(reasons) or "it printed no table and timed nothing"
    return f"the benchmark gave no rows: {reason}; see {directory / LOG}"


def _refused(log: Path) -> list[str]:
    """What pytest says of arguments that it does not take, where it began no session."""
    if not log.is_file():
        return []
    with log.open("rb") as stream:
        head = stream.read(MOST_REFUSAL).decode("utf-8", "replace")
    said = _REFUSAL.search(head)
    return [said["what"].strip()[:300]] if said and "test session starts" not in head else []
