"""Digests of the benchmarks' own sources, which no copy in the run directory keeps."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import TYPE_CHECKING

from flagkit.experiment.harness import sha256
from flagkit.experiment.rundir import CAMPAIGN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from flagkit.experiment.campaign import Operator

SUITE = "suite.sha256"
MOST = 5000
"""Files of one folder that are looked at: a suite may lie in a folder of anything."""
_ENDINGS = (".py", ".yaml", ".yml", ".ini", ".cfg", ".toml")


def suite_sums(operators: Sequence[Operator]) -> dict[str, str]:
    """SHA-256 of every source and setting in the folders the benchmarks run in, by its path.

    The bundled suite is none of them: the harness has it.
    """
    targets = [t for operator in operators for t in operator.targets.values() if not t.in_package]
    found: dict[str, str] = {}
    for folder in dict.fromkeys(f for t in targets for f in (t.cwd, t.path.parent)):
        for path in itertools.islice(_sources(folder), MOST):
            if str(path) not in found and (digest := _digest(path)):
                found[str(path)] = digest
    return found


def _digest(path: Path) -> str:
    try:
        return sha256(path)
    except OSError:
        return ""


def _sources(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if _looked_into(parent, name))
        for name in sorted(names):
            path = Path(parent, name)
            if name.endswith(_ENDINGS) and str(path).isprintable() and path.is_file():
                yield path


def _looked_into(parent: str, name: str) -> bool:
    """Not byte code, hidden folders, virtual environments or runs of flagkit's."""
    if name.startswith(".") or name == "__pycache__":
        return False
    return not any(Path(parent, name, file).exists() for file in ("pyvenv.cfg", CAMPAIGN))


def told(changed: Iterable[str]) -> str:
    """What to say of changed files: the first, and how many more there are."""
    first, *more = changed
    return f"{first}, and {len(more)} more" if more else first
