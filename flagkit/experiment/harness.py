"""Copies the code that will measure into the run directory, with its digests.

The benchmark's Python is the vendor's: nothing is installed there. The copy is what it
runs, so that a run keeps the very code that measured it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from flagkit.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

SUMS = "SHA256SUMS"
_REASON = re.compile(r"^\[Errno -?\d+\] ")


def copy_harness(destination: Path, modules: Iterable[str]) -> None:
    """Copy flagkit and the top-level packages of *modules*; write :data:`SUMS`.

    Raises :class:`RunError` for a module that has no files to copy or a full disk.
    """
    try:
        destination.mkdir(parents=True, exist_ok=True)
        for top in dict.fromkeys(name.partition(".")[0] for name in ("flagkit", *modules)):
            _copy(top, destination)
        lines = [f"{sha256(path)}  {name}\n" for name, path in files(destination)]
        (destination / SUMS).write_bytes("".join(lines).encode("utf-8", "surrogateescape"))
    except shutil.Error as error:
        raise RunError(f"cannot copy the harness to {destination}: {_first(error)}") from error
    except OSError as error:
        reason = error.strerror or error
        raise RunError(f"cannot copy the harness to {destination}: {reason}") from error


def _first(error: shutil.Error) -> str:
    """One of the files that could not be copied: a full disk fails for every one."""
    files = error.args[0] if error.args else ()
    if not isinstance(files, list) or not files:
        return str(error)
    _, path, reason = files[0]
    more = f" (and {len(files) - 1} more)" if len(files) > 1 else ""
    return f"{path}: {_REASON.sub('', str(reason)).partition(': ')[0]}{more}"


def _copy(top: str, destination: Path) -> None:
    spec = importlib.util.find_spec(top)
    if spec is None:
        raise RunError(f"cannot copy the plug-in package {top!r}: it is not importable")
    if spec.submodule_search_locations:
        for folder in spec.submodule_search_locations:
            shutil.copytree(
                folder,
                destination / top,
                ignore=shutil.ignore_patterns("__pycache__", "*.pyc", ".*"),
                dirs_exist_ok=True,
            )
    elif spec.origin and Path(spec.origin).is_file():
        shutil.copy2(spec.origin, destination / Path(spec.origin).name)
    else:
        raise RunError(f"cannot copy the plug-in package {top!r}: it has no files")


def files(root: Path) -> Iterator[tuple[str, Path]]:
    """Every source file under *root* by its relative name, sorted; no byte code."""
    for path in sorted(root.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and path.name != SUMS:
            yield path.relative_to(root).as_posix(), path


def sha256(path: Path) -> str:
    """The file's digest in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def check_sums(root: Path) -> list[str]:
    """What changed under *root* since :func:`copy_harness`: one line a file, empty if nothing."""
    try:
        recorded = parse_sums((root / SUMS).read_bytes())
    except OSError as error:
        return [f"{SUMS}: {error.strerror or error}"]
    found = {name: sha256(path) for name, path in files(root)}
    return differing(recorded, found)


def parse_sums(data: bytes) -> dict[str, str]:
    """Digests by name, of lines such as ``sha256sum`` writes and checks."""
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    return {name: digest for digest, _, name in (ln.partition("  ") for ln in lines if ln)}


def differing(recorded: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """What is not as *recorded*, by name and digest: one line a file, empty if nothing."""
    changed = []
    for name in sorted({*recorded, *found}):
        if name not in found:
            changed.append(f"{name}: missing")
        elif name not in recorded:
            changed.append(f"{name}: added")
        elif recorded[name] != found[name]:
            changed.append(f"{name}: changed")
    return changed
