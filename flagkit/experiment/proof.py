"""Whether an installed package reads a variable at all: a search of its files.

A switch that nobody reads changes nothing, silently. So its name must occur, as a whole
word, in the Python sources or shared objects of the package that should read it.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import mmap
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

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
    name: str, folders: Sequence[Path], *, cache: Path | None = None
) -> tuple[str, ...] | None:
    """None where *name* occurs under *folders*; else similar variables that do, best first.

    A folder may be a single file. Files that cannot be read are passed over.

    :param cache: a file that remembers where a name was found, so that the next search
        looks there first. One that cannot be read or written does without.
    """
    wanted = name.encode("utf-8", "replace")
    hints = _read_hints(cache)
    hint = hints.get(name, "")
    if hint and _inside(hint, folders) and _holds(Path(hint), wanted):
        return None
    files = list(_files(folders))
    for path in files:
        if _holds(path, wanted):
            _write_hints(cache, {**hints, name: str(path)})
            return None
    return _similar(name, files)


def _files(folders: Iterable[Path]) -> Iterator[Path]:
    """Sources first, then binaries from small to large: most variables are found early."""
    sources: list[Path] = []
    binaries: list[tuple[int, Path]] = []
    for folder in folders:
        if folder.is_file():
            sources.append(folder)
            continue
        for root, names, files in os.walk(folder):
            names[:] = [n for n in names if n != "__pycache__"]
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


def _holds(path: Path, wanted: bytes) -> bool:
    return any(True for _ in _occurrences(path, [wanted], whole=True))


def _occurrences(
    path: Path, words: Iterable[bytes], *, whole: bool, most: int = MOST_HITS
) -> Iterator[bytes]:
    """The identifiers in *path* that hold one of *words*; with *whole*, that are it."""
    try:
        with (
            path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            for word in words:
                yield from _in_content(content, word, whole=whole, most=most)
    except (OSError, ValueError):
        return  # gone, no permission, empty: nothing is read from it


def _in_content(content: mmap.mmap, word: bytes, *, whole: bool, most: int) -> Iterator[bytes]:
    at, hits = content.find(word), 0
    while at >= 0 and (whole or hits < most):
        hits += 1
        start, end = at, at + len(word)
        while start > 0 and content[start - 1] in _WORD and end - start < 200:
            start -= 1
        while end < len(content) and content[end] in _WORD and end - start < 200:
            end += 1
        if not whole or end - start == len(word):
            yield content[start:end]
        at = content.find(word, end)


def _similar(name: str, files: Iterable[Path]) -> tuple[str, ...]:
    parts = [part for part in name.upper().split("_") if len(part) > 2]
    rare = [part for part in parts if part not in _COMMON]
    words = [text.encode() for part in rare or parts for text in (f"_{part}", f"{part}_")]
    found: set[bytes] = set()
    for path in files:
        found.update(w for w in _occurrences(path, words, whole=False) if _VARIABLE.fullmatch(w))
    scores = {}
    for text in (word.decode() for word in found):
        alike = difflib.SequenceMatcher(None, name, text, autojunk=False).ratio()
        shared = len({*rare} & {*text.split("_")})
        if alike >= CLOSE or shared:
            scores[text] = (shared, alike)
    return tuple(sorted(scores, key=lambda text: (scores[text], text), reverse=True)[:SIMILAR])


def _inside(hint: str, folders: Iterable[Path]) -> bool:
    return any(folder == Path(hint) or folder in Path(hint).parents for folder in folders)


def _read_hints(cache: Path | None) -> dict[str, str]:
    if cache is None:
        return {}
    try:
        known = json.loads(cache.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    pairs = known.items() if isinstance(known, dict) else ()
    return {name: path for name, path in pairs if isinstance(path, str)}


def _write_hints(cache: Path | None, hints: dict[str, str]) -> None:
    if cache is None:
        return
    with contextlib.suppress(OSError):
        cache.parent.mkdir(parents=True, exist_ok=True)
        cache.write_text(json.dumps(hints, indent=1, sort_keys=True), encoding="utf-8")
