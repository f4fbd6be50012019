"""Reads whatever ``flagkit compare`` is pointed at: a log, a side, a directory of runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flagkit.errors import InputError
from flagkit.experiment.collect import JOURNAL, LOG, collect
from flagkit.model import RunLog, number_rows
from flagkit.parsers.reading import read_log
from flagkit.plugins import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from flagkit.interfaces import LogParser
    from flagkit.plugins import Registry


def read_any(path: Path, registry: Registry, parser: str | None) -> RunLog:
    """A log of any known format, or one side's directory."""
    if is_side(path):
        return collect(path, registry)
    return read_log(path, parsers(registry), parser)


def is_side(path: Path) -> bool:
    """Whether *path* is the directory of one side."""
    return path.is_dir() and any((path / name).is_file() for name in (LOG, JOURNAL))


def parsers(registry: Registry) -> list[LogParser]:
    """Every parser that loads. A broken one is somebody else's problem."""
    statuses = registry.check((Kind.PARSER,))
    return [registry.parser(s.provider.name) for s in statuses if not s.problem]


def by_operator(path: Path, registry: Registry, parser: str | None) -> dict[str, RunLog]:
    """The logs of a directory of runs, taken apart and put together by operator.

    Raises :class:`InputError` if there is no run in it.
    """
    logs = [read_any(run, registry, parser) for run in runs(path)]
    if not logs:
        raise InputError(f"{path}: no runs there: no */{LOG} and no {JOURNAL}")
    found: dict[str, RunLog] = {}
    for log in logs:
        for op, part in split(log).items():
            found[op] = join(found[op], part) if op in found else part
    return found


def runs(path: Path) -> Iterator[Path]:
    """Sides and logs below *path*, sorted; a side is not looked into."""
    if is_side(path):
        yield path
        return
    try:
        children = sorted(path.iterdir())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    for child in children:
        if child.is_dir() and child.name not in ("harness", "caches"):
            yield from runs(child)


def split(log: RunLog) -> dict[str, RunLog]:
    """*log* by operator. What has no operator (a damaged line) stays with the first one."""
    ops = list(dict.fromkeys(row.key.op for row in log.rows))
    parts = {op: replace(log, rows=tuple(r for r in log.rows if r.key.op == op)) for op in ops}
    for op in ops[1:]:
        parts[op] = replace(parts[op], damaged=(), notes=())
    return parts


def join(one: RunLog, other: RunLog) -> RunLog:
    """Two logs of one operator as one."""
    return RunLog(
        rows=number_rows([*one.rows, *other.rows]),
        damaged=(*one.damaged, *other.damaged),
        notes=(*one.notes, *other.notes),
        incomplete=tuple(dict.fromkeys([*one.incomplete, *other.incomplete])),
        journalled=one.journalled and other.journalled,
        source=one.source,
        receipt=one.receipt,
    )
