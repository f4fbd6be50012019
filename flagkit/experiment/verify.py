"""Seals a run with digests of all that it is made of, and re-checks every one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flagkit.errors import InputError, RunError
from flagkit.experiment.harness import SUMS, check_sums, files
from flagkit.experiment.receipts import KEPT, check_receipt, digests_of
from flagkit.experiment.rundir import CAMPAIGN, RECEIPT, RECORD, read_json, write_json
from flagkit.experiment.suitesums import SUITE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from flagkit.experiment.rundir import PlannedSide, RunDir

GONE = "missing: it did not end, or its receipt was taken away"
_OWN = (RECEIPT, RECORD, "caches", "outputs", *(name for name in KEPT if "/" not in name))
_EVIDENCE = (RECEIPT, "run.log", "measurements.jsonl")


def seal(rundir: RunDir, reports: Iterable[str] = ()) -> None:
    """Write the run's own receipt, last: digests of its plan, code, sides' receipts, *reports*."""
    names = [*_made_of(rundir, rundir.processes()), *reports]
    write_json(rundir.root / RECEIPT, {"schema": 1, "digests": digests_of(rundir.root, names)})


def unseal(rundir: RunDir) -> None:
    """Take the run's own receipt away: it is being gone on with, and will be sealed anew."""
    try:
        (rundir.root / RECEIPT).unlink(missing_ok=True)
    except OSError as error:
        raise RunError(f"cannot go on in {rundir.root}: {error.strerror or error}") from error


def verify(rundir: RunDir) -> tuple[int, list[str]]:
    """How many files were checked, and one line for each that is not as recorded.

    What the plan asks for and is not there is named, and so is what was added to it.
    Raises :class:`InputError` if there is no plan to go by.
    """
    planned = rundir.processes()
    problems = [f"harness/{text}" for text in check_sums(rundir.harness)]
    checked = sum(1 for _ in files(rundir.harness))
    places = [(rundir.root, ""), *((step.directory, _name(rundir, step)) for step in planned)]
    for directory, name in places:
        count, found = _receipt(directory, side=bool(name))
        if not name:
            found += _unsealed(rundir, planned)
        checked += count
        problems += [f"{name}/{text}" if name else text for text in found]
    return checked, [*problems, *added(rundir, planned)]


def _made_of(rundir: RunDir, planned: Sequence[PlannedSide]) -> list[str]:
    """Files that every run's own receipt must name."""
    sides = [(_name(rundir, step), step.directory) for step in planned]
    records = [
        f"{name}/{RECORD}/{path.name}"
        for name, directory in sides
        for path in sorted((directory / RECORD).glob("*.jsonl"))
    ]
    receipts = [f"{name}/{RECEIPT}" for name, _ in sides]
    return [CAMPAIGN, SUITE, f"harness/{SUMS}", *receipts, *records]


def _name(rundir: RunDir, step: PlannedSide) -> str:
    return step.directory.relative_to(rundir.root).as_posix()


def _receipt(directory: Path, *, side: bool) -> tuple[int, list[str]]:
    path = directory / RECEIPT
    if not path.is_file():
        return 0, [f"{RECEIPT}: {GONE}"]
    try:
        data = read_json(path)
    except InputError as error:
        return 0, [str(error).removeprefix(f"{directory}/")]
    recorded = data.get("digests")
    count = len(recorded) if isinstance(recorded, dict) else 0
    return count, check_receipt(directory, data, side=side)


def _unsealed(rundir: RunDir, planned: Sequence[PlannedSide]) -> list[str]:
    """What is there and the run's own receipt does not vouch for."""
    try:
        recorded = read_json(rundir.root / RECEIPT).get("digests")
    except InputError:
        return []
    return [
        f"{name}: {RECEIPT} does not have it"
        for name in _made_of(rundir, planned)
        if isinstance(recorded, dict) and name not in recorded and (rundir.root / name).is_file()
    ]


def added(rundir: RunDir, planned: Sequence[PlannedSide]) -> Iterator[str]:
    """Runs that are in no plan, and files of a side that nothing of flagkit's wrote.

    What an unfinished side left is put aside and no part of the run.
    """
    known = {step.directory for step in planned}
    for step in planned:
        if step.directory.is_dir():
            names = sorted(path.name for path in step.directory.iterdir())
            yield from (f"{_name(rundir, step)}/{n}: added" for n in names if n not in _OWN)
    for path in [*sorted(rundir.root.glob("*")), *sorted(rundir.root.glob("*/*"))]:
        inside = {path, *path.parents} & {*known, rundir.harness}
        evidence = any((path / name).exists() for name in _EVIDENCE)
        if evidence and not inside and ".unfinished-" not in path.name:
            yield f"{path.relative_to(rundir.root).as_posix()}: added"
