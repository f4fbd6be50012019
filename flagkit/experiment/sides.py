"""What one side's process is given: its command and its environment. Pure."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from flagkit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from flagkit.interfaces import ArmSetup
    from flagkit.model import Side
    from flagkit.suites import BenchTarget

AGENT_CONFIG = "FLAGKIT_AGENT_CONFIG"
DROPPED = (
    *("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"),
    *("FLAGGEMS_DB_URL", "TRITON_CACHE_MANAGER", "TRITON_REMOTE_CACHE_BACKEND"),
)
"""Not passed on: the user's own pytest options could spread the tests over processes that
print nothing, and a tuning database or a compiler's cache that both sides share would let one
read what the other left."""

PRIVATE = ("PYTHONPATH", AGENT_CONFIG, "TRITON_CACHE_DIR", "FLAGGEMS_CACHE_DIR")
"""Differ between the sides by path alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideSpec:
    """One side, ready to run."""

    op: str
    side: Side
    round: int
    arm: str
    directory: Path
    python: Path
    command: tuple[str, ...]
    cwd: Path
    environ: Mapping[str, str]
    watch: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A variable that is not the same on both sides. ``kind`` says whether it may differ."""

    name: str
    before: str | None
    after: str | None
    kind: Literal["switch", "private", "other"]


def command(python: Path, target: BenchTarget, harness: Path) -> tuple[str, ...]:
    """The benchmark's command line. Nothing is written beside the suite."""
    path = harness / target.path if target.in_package else target.path
    return (
        str(python),
        "-m",
        "pytest",
        str(path),
        *target.args,
        "-s",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",  # pytest-randomly seeds and orders each process by its own
        "-p",
        "flagkit.agent.plugin",
    )


def started_elsewhere(base: Mapping[str, str]) -> dict[str, str]:
    """*base* for a process that starts in another folder.

    What the caller has on ``PYTHONPATH`` is meant from where the caller is; the benchmark's
    own folder would stand for an empty entry, and is searched first in any case.
    """
    environ = dict(base)
    paths = [entry for entry in environ.pop("PYTHONPATH", "").split(os.pathsep) if entry]
    if paths:
        environ["PYTHONPATH"] = os.pathsep.join(str(Path(entry).absolute()) for entry in paths)
    return environ


def environment(
    base: Mapping[str, str],
    *,
    backend: Mapping[str, str],
    arm: ArmSetup,
    directory: Path,
    harness: Path,
    allowed: Collection[str] = (),
) -> dict[str, str]:
    """The whole environment of a side: the caller's, the device, private caches, the arm.

    The arm comes last, so that nothing can undo the switch. Raises
    :class:`flagkit.errors.UsageError` for a *harness* that no path list can hold, and for an
    arm that selects the device, unless ``device`` is *allowed*: two would be compared.
    """
    for name in sorted(backend.keys() & arm.env.keys()):
        if "device" not in allowed:
            raise UsageError(
                f"{name} selects the device, so that it is no switch: both sides run on one, "
                "chosen with --device; to compare two all the same give --allow-diff device"
            )
    if ":" in str(harness):
        raise UsageError(
            f"{harness.parent}: a path with a colon cannot be on PYTHONPATH, so that nothing "
            "could be measured from there; choose another place with --runs-dir"
        )
    environ = {name: value for name, value in base.items() if name not in DROPPED}
    environ.update(backend)
    caches = directory / "caches"
    environ["TRITON_CACHE_DIR"] = str(caches / "triton")
    environ["FLAGGEMS_CACHE_DIR"] = str(caches / "flaggems")
    environ[AGENT_CONFIG] = str(directory / "agent.json")
    environ.setdefault("PYTHONHASHSEED", "0")
    inherited = base.get("PYTHONPATH", "")
    paths = [str(harness), *(str(path) for path in arm.pythonpath)]
    environ["PYTHONPATH"] = ":".join([*paths, *([inherited] if inherited else [])])
    for name, value in arm.env.items():
        if value is None:
            environ.pop(name, None)
        else:
            environ[name] = value
    return environ


def differences(
    before: SideSpec, after: SideSpec, switch: Collection[str]
) -> tuple[Difference, ...]:
    """Every variable in which the sides differ, and whether the switch explains it."""
    found = []
    for name in sorted({*before.environ, *after.environ}):
        one, other = before.environ.get(name), after.environ.get(name)
        if one == other:
            continue
        kind: Literal["switch", "private", "other"] = "other"
        if name in switch:
            kind = "switch"
        elif name in PRIVATE and _private(one, before) == _private(other, after):
            kind = "private"
        found.append(Difference(name=name, before=one, after=other, kind=kind))
    return tuple(found)


def _private(value: str | None, spec: SideSpec) -> str:
    """*value* with the side's own directory taken out of it."""
    return (value or "").replace(str(spec.directory), "")


def unexplained(
    found: Sequence[Difference], before: SideSpec, after: SideSpec, allowed: Collection[str]
) -> list[str]:
    """Names of what differs besides the switch and the private paths, and is not allowed."""
    names = [d.name for d in found if d.kind == "other" and d.name not in allowed]
    if before.python != after.python and "python" not in allowed:
        names.append("python")
    if before.cwd != after.cwd and "cwd" not in allowed:
        names.append("cwd")
    return names
