"""Names for operators in a run that tell them apart. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


def labels(benchmarks: Sequence[tuple[str, Path]]) -> list[str]:
    """A label for each operator and its file: its name, or ``OP:FILE`` where one name has several.

    ``FILE`` is as short as tells the files apart: the stem as ``--ops`` takes it, the file's
    name, or its path.
    """
    files: dict[str, list[Path]] = {}
    for op, path in benchmarks:
        files.setdefault(op, []).append(path)
    shown = {op: _shown(paths) for op, paths in files.items()}
    return [op if len(files[op]) == 1 else f"{op}:{shown[op](path)}" for op, path in benchmarks]


def _shown(paths: Sequence[Path]) -> Callable[[Path], str]:
    for short in (_stem, _name):
        if max(Counter(map(short, paths)).values()) == 1:
            return short
    return str


def _stem(path: Path) -> str:
    return path.stem.removeprefix("test_")


def _name(path: Path) -> str:
    return path.name
