"""Reads whatever ``flagkit compare`` is pointed at: a log, a side, a directory of runs."""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flagkit.errors import FlagkitError, InputError
from flagkit.experiment.collect import JOURNAL, LOG, collect
from flagkit.experiment.rundir import CAMPAIGN, RECEIPT, read_json
from flagkit.model import UNKNOWN, RunLog, number_rows
from flagkit.parsers.reading import read_log

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from flagkit.model import Damaged, Row
    from flagkit.plugins import Registry

NO_RUNS = f"no runs there: no */{LOG}, no {JOURNAL} and no *.log"


def read_any(path: Path, registry: Registry, parser: str | None) -> RunLog:
    """A log of any known format, or one side's directory.

    A directory with nothing but a ``run.log`` is another driver's run: its log is all of it.
    """
    try:
        if is_side(path):
            if is_own(path):
                return collect(path, registry)
            path = path / LOG
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    return read_log(path, registry.parsers(), parser)


def is_own(path: Path) -> bool:
    """Whether a side's directory is flagkit's: it has a journal or a receipt."""
    return any((path / name).is_file() for name in (JOURNAL, RECEIPT))


def is_side(path: Path) -> bool:
    """Whether *path* is the directory of one side."""
    return path.is_dir() and any((path / name).is_file() for name in (LOG, JOURNAL))


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One operator's log in a directory of runs, and the side it is all of, if it is one's."""

    log: RunLog
    side: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operators:
    """A directory of runs by operator. ``problems``: what could not be read, and why.

    ``refused``: operators whose rows stand in several runs. Which of them a row of another
    directory belongs to, only their order would tell. Rows of no known operator too, where
    there are others or several runs of them: they may be of any.
    """

    found: Mapping[str, Found]
    refused: frozenset[str]
    problems: tuple[str, ...]


def by_operator(path: Path, registry: Registry, parser: str | None) -> Operators:
    """The logs of a directory of runs, taken apart and put together by operator.

    A run that cannot be read is a problem, and the others stand. Raises
    :class:`InputError` if no run can be read, or if there is a campaign, which has both
    sides of each operator.
    """
    refuse_campaign(path)
    found: dict[str, Found] = {}
    refused: set[str] = set()
    problems: list[str] = []
    untold: list[RunLog] = []
    for run in runs_or_logs(path):
        for folder in run.parents:
            if folder == path or path not in folder.parents:
                break
            refuse_campaign(folder)
        try:
            parts = split(read_any(run, registry, parser))
        except FlagkitError as error:
            problems.append(str(error))
            continue
        untold += [part for op, part in parts.items() if op == UNKNOWN]
        for op, part in parts.items():
            if op not in found:
                found[op] = Found(log=part, side=journalled_side(run))
                continue
            one = found[op].log
            if op != UNKNOWN and _same_rows(one, part):
                refused.add(op)
                problems.append(
                    f"{path}: {op!r} was run more than once there: {one.source} and {part.source} "
                    "show the same rows; compare single runs, further ones with "
                    "--round BEFORE AFTER"
                )
            found[op] = Found(log=join(one, part))
    if not found:
        raise InputError(problems[0] if problems else f"{path}: {NO_RUNS}")
    if len(untold) > 1 or (untold and len(found) > 1):
        refused.add(UNKNOWN)
        problems += [
            f"{part.source}: {part.seen} of its rows tell no operator (their table's title is "
            "missing), so they pair with none of another directory; compare it as a log"
            for part in untold
        ]
    kept = {op: one for op, one in found.items() if op not in refused}
    return Operators(found=kept, refused=frozenset(refused), problems=tuple(problems))


def _same_rows(one: RunLog, other: RunLog) -> bool:
    keys, others = (
        {(row.key.dtype, row.key.size_key, row.key.node) for row in log.rows}
        for log in (one, other)
    )
    return not keys.isdisjoint(others)


def journalled_side(path: Path) -> Path | None:
    """*path* if it is a side's directory with a journal, whose tuners' records rule its rows."""
    return path if (path / JOURNAL).is_file() else None


def refuse_campaign(path: Path) -> None:
    """A campaign of ``flagkit ab`` is no side of a comparison."""
    if not (path / CAMPAIGN).is_file():
        return
    request = read_json(path / CAMPAIGN).get("request")
    if isinstance(request, dict) and request.get("switch"):
        raise InputError(
            f"{path} is a campaign with both sides in it: see it with `flagkit report`, or "
            f"compare single sides, such as {path / 'OP' / 'before'}"
        )


def runs_or_logs(path: Path) -> list[Path]:
    """The runs below *path*; where there is none, its own ``*.log`` files."""
    return list(runs(path)) or sorted(log for log in path.glob("*.log") if log.is_file())


def runs(path: Path) -> Iterator[Path]:
    """Sides and logs below *path*, sorted; a side is not looked into.

    A folder further down that cannot be looked into is given as a run: whoever reads it is
    told why it cannot be read, and the others stand. A folder that several links lead to,
    or a link to one that it stands in, is looked into once.
    """
    yield from _runs(path, set())


def _runs(path: Path, seen: set[Path]) -> Iterator[Path]:
    real = path.resolve()
    if real in seen:
        return
    seen.add(real)
    try:
        if is_side(path):
            yield path
            return
        children = [child for child in sorted(path.iterdir()) if child.is_dir()]
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    # A run's own name is told, not that of a link to it.
    for child in sorted(children, key=lambda child: child.is_symlink()):
        if not _aside(child):
            try:
                yield from _runs(child, seen)
            except InputError:
                yield child


def _aside(path: Path) -> bool:
    """Folders that hold no run, or one that did not finish and was run again."""
    return path.name in ("harness", "caches") or ".unfinished-" in path.name


def split(log: RunLog) -> dict[str, RunLog]:
    """*log* by operator. A damaged line belongs to the operator whose table it stands in.

    Where none is told, it may be of either table between whose rows it stands: each of them
    has it. Notes stay with the first operator that is known.
    """
    rows: dict[str, list[Row]] = {}
    for row in log.rows:
        rows.setdefault(row.key.op, []).append(row)
    damaged: dict[str, list[Damaged]] = {}
    places = sorted((row.source.file, row.source.line, row.key.op) for row in log.rows)
    for line in log.damaged:
        for op in {line.op} if line.op else _around(line, places) or {UNKNOWN}:
            damaged.setdefault(op, []).append(line)
    ops = list(dict.fromkeys([*rows, *damaged]))
    first = next((op for op in ops if op != UNKNOWN), UNKNOWN)
    return {
        op: replace(
            log,
            rows=tuple(rows.get(op, ())),
            damaged=tuple(damaged.get(op, ())),
            notes=log.notes if op == first else (),
        )
        for op in ops
    }


def _around(line: Damaged, places: Sequence[tuple[str, int, str]]) -> set[str]:
    """The operators of the rows in *places* that stand next to *line* in its file."""
    at = bisect(places, (line.source.file, line.source.line, ""))
    near = places[max(0, at - 1) : at + 1]
    return {op for file, _, op in near if file == line.source.file}


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
