"""What the sides were when they ran, as their own processes journalled it.

What they would be is found out before (``flagkit.experiment.identity``). A conftest, or an
interpreter that is a script, may have had another say since.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from flagkit.errors import InputError
from flagkit.experiment.asking import PACKAGES, Module
from flagkit.experiment.identity import DEVICE, device_identity, modules_identity, permitted
from flagkit.experiment.rundir import RECEIPT, read_json
from flagkit.model import SIDES, Note

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    Facts = Mapping[str, str]


def notes_of_run(
    campaign: Mapping[str, Any], rounds: Sequence[tuple[Path, Path]], op: str
) -> tuple[Note, ...]:
    """Where a side imported another file than was found before; each once for all rounds.

    *campaign* is what ``campaign.json`` holds. Raises :class:`InputError` where what ran on
    both sides differs by more than the switch, or is one where two builds were found: their
    latencies would be a wrong answer.
    """
    request, claims = campaign.get("request"), campaign.get("identity")
    given = request.get("allow_diff") if isinstance(request, dict) else None
    allowed = permitted(map(str, given) if isinstance(given, list) else ())
    told = [_claimed(claims, side) for side in SIDES]
    found: dict[str, Note] = {}
    for directories in rounds:
        ran = [as_run(directory) for directory in directories]
        known = allowed.union(*map(_let_differ, directories))
        problem = difference(ran[0], ran[1], known, build=_across_builds(directories[1]))
        problem = problem or sameness(ran, told, known)
        if problem:
            raise InputError(f"{op}: {problem}")
        for side, facts, claimed in zip(SIDES, ran, told, strict=True):
            for text in _unexpected(facts, claimed):
                note = Note(code="imported-other", text=f"{side} side: {text}", side=side)
                found.setdefault(note.text, note)
    return tuple(found.values())


def as_run(directory: Path) -> dict[str, str]:
    """A side's device and imported files, by the names an identity has; empty if not told."""
    found: dict[str, str] = {}
    try:
        with (directory / "measurements.jsonl").open("rb") as file:
            for raw in file:
                if b'"facts"' in raw:  # the longest journals are read several times already
                    found |= _facts(raw)
    except OSError:
        pass
    return found


def difference(before: Facts, after: Facts, allowed: Collection[str] = (), *, build: bool) -> str:
    """What differs though both sides told it; empty if nothing. ``build``: the device alone."""
    names = {*DEVICE} if build else {*before, *after}
    wrong = [
        f"{name} ({before[name]} before, {after[name]} after)"
        for name in sorted(names & before.keys() & after.keys() - {*allowed})
        if before[name] != after[name]
    ]
    if not wrong:
        return ""
    return (
        f"the sides differed by more than the switch when they ran: {', '.join(wrong)}; make them "
        "equal, or allow it with --allow-diff (device, or the name)"
    )


def sameness(ran: Sequence[Facts], claimed: Sequence[Facts], allowed: Collection[str] = ()) -> str:
    """What both sides imported from one file, though two were found before; empty if nothing."""
    for package in PACKAGES:
        name = f"path of {package}"
        files, wanted = ({facts.get(name) for facts in both} for both in (ran, claimed))
        if name in allowed or None in files | wanted:
            continue
        if len(files) == 1 and len(wanted) == 2:
            return (
                f"both sides imported {package} from {files.pop()}, though two builds were to be "
                f"compared; take it away, or allow it with --allow-diff '{name}'"
            )
    return ""


def _unexpected(ran: Facts, claimed: Facts) -> Iterator[str]:
    for package in PACKAGES:
        name = f"path of {package}"
        one, other = ran.get(name), claimed.get(name)
        if one is not None and other is not None and one != other:
            yield f"{package} was imported from {one}, not from {other} as was found before"


def _facts(raw: bytes) -> dict[str, str]:
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(line, dict) or line.get("kind") != "facts":
        return {}
    device, modules = line.get("device"), line.get("modules")
    found = device_identity(device) if isinstance(device, dict) else {}
    if isinstance(modules, dict):
        found |= modules_identity(
            {
                str(name): Module(
                    path=str(one.get("path") or ""), sha256=str(one.get("sha256") or "")
                )
                for name, one in modules.items()
                if isinstance(one, dict)
            }
        )
    return found


def _claimed(identity: object, side: str) -> dict[str, str]:
    found = identity.get(side) if isinstance(identity, dict) else None
    return {str(n): str(v) for n, v in found.items()} if isinstance(found, dict) else {}


def _let_differ(side: Path) -> set[str]:
    """What was another than when the campaign was begun, and allowed when it was resumed."""
    found = _read(side / RECEIPT).get("differs")
    return permitted(map(str, found) if isinstance(found, list) else ())


def _across_builds(after: Path) -> bool:
    return _read(after / "agent.json").get("across_builds") is True


def _read(path: Path) -> dict[str, Any]:
    try:
        return read_json(path)
    except InputError:
        return {}
