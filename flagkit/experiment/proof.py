"""Whether an installed package reads a variable at all: a search of its files.

A switch that nobody reads changes nothing, silently. So its name must occur, as a whole
word, in the Python sources or shared objects of the package that should read it.
"""

from __future__ import annotations

import contextlib
import difflib
import mmap
import os
import re
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from flagkit.experiment.remembered import Remembered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

SOURCES = (".py", ".pyi")
BINARY = re.compile(r"\.(so(\.\d+)*|pyd|dylib|dll)$")
MOST_FILES = 100_000
MOST_HITS = 20_000
"""Places looked at for one word in one file, when similar names are gathered."""
SIMILAR = 8
CLOSE = 0.6
"""How alike two names have to be (difflib's ratio) to be called similar."""

_WORD = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
_VARIABLE = re.compile(rb"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")
_COMMON = frozenset({"ENABLE", "DISABLE", "USE", "TRITON", "FLAGTREE", "FLAGGEMS", "FLAG"})


def find_variable(
    name: str, folders: Sequence[Path], *, remembered: Remembered | None = None
) -> tuple[str, ...] | None:
    """None where *name* occurs under *folders*; else similar variables that do, best first.

    A folder may be a single file. Files that cannot be read are passed over.

    :param remembered: what earlier searches of large files found.
    """
    memory = remembered or Remembered()
    files = list(_files(folders))
    if any(_holds(path, name, memory) for path in files):
        return None
    return _similar(name, files, memory)


def _files(folders: Iterable[Path]) -> Iterator[Path]:
    """Sources first, then binaries from small to large: most variables are found early."""
    sources: list[Path] = []
    binaries: list[tuple[int, Path]] = []
    seen: set[str] = set()
    for folder in folders:
        if folder.is_file():
            sources.append(folder)
            continue
        for root, files in _walk(folder, seen):
            for file in files:
                path = Path(root, file)
                if path.suffix in SOURCES:
                    sources.append(path)
                elif BINARY.search(file):
                    with contextlib.suppress(OSError):
                        binaries.append((path.stat().st_size, path))
            if len(sources) + len(binaries) > MOST_FILES:
                break
    yield from sorted(sources)
    yield from (path for _, path in sorted(binaries))


def _walk(folder: Path, seen: set[str]) -> Iterator[tuple[str, list[str]]]:
    """``os.walk`` through linked folders too, each real folder once.

    A Triton installed from its source links its vendors' folders into the package.
    """
    for root, names, files in os.walk(folder, followlinks=True):
        real = os.path.realpath(root)
        if real in seen:
            names[:] = []
            continue
        seen.add(real)
        names[:] = [name for name in names if name != "__pycache__"]
        yield root, files


def _holds(path: Path, name: str, memory: Remembered) -> bool:
    wanted = name.encode("utf-8", "replace")

    def search() -> list[str]:
        return [name for _ in islice(_occurrences(path, wanted, whole=True), 1)]

    return bool(memory.ask(path, f"name {name}", search))


def _occurrences(path: Path, word: bytes, *, whole: bool) -> Iterator[bytes]:
    """The identifiers in *path* that hold *word*; with *whole*, that are it."""
    try:
        with (
            path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            yield from _in_content(content, word, whole=whole)
    except (OSError, ValueError):
        return  # gone, no permission, empty: nothing is read from it


def _in_content(content: mmap.mmap, word: bytes, *, whole: bool) -> Iterator[bytes]:
    at, hits = content.find(word), 0
    while at >= 0 and (whole or hits < MOST_HITS):
        hits += 1
        start, end = at, at + len(word)
        while start > 0 and content[start - 1] in _WORD and end - start < 200:
            start -= 1
        while end < len(content) and content[end] in _WORD and end - start < 200:
            end += 1
        if not whole or end - start == len(word):
            yield content[start:end]
        at = content.find(word, end)


def _similar(name: str, files: Iterable[Path], memory: Remembered) -> tuple[str, ...]:
    parts = [part for part in name.upper().split("_") if len(part) > 2]
    rare = [part for part in parts if part not in _COMMON]
    words = [text for part in rare or parts for text in (f"_{part}", f"{part}_")]
    found: set[str] = set()
    for path in files:
        for word in words:
            found.update(memory.ask(path, f"word {word}", partial(_variables, path, word)))
    scores = {}
    for text in found:
        alike = difflib.SequenceMatcher(None, name, text, autojunk=False).ratio()
        shared = len({*rare} & {*text.split("_")})
        if alike >= CLOSE or shared:
            scores[text] = (shared, alike)
    return tuple(sorted(scores, key=lambda text: (scores[text], text), reverse=True)[:SIMILAR])


def _variables(path: Path, word: str) -> list[str]:
    """What looks like a variable in *path* and holds *word*."""
    found = _occurrences(path, word.encode("utf-8", "replace"), whole=False)
    return sorted({text.decode() for text in found if _VARIABLE.fullmatch(text)})
