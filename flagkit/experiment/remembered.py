"""What searches of large files found, kept between runs in the user's cache folder.

An answer belongs to a file's content: it is kept by SHA-256. Hashing costs more than the
search for one name (measured on a libtriton.so of 416 MB in the page cache: 0.23 s against
0.12 s, and 0.2 s for each word of a similar name), so that a hash alone would save nothing.
Hence a file's hash is kept too, by all that tells a file apart without reading it: path,
device, inode, size and the times of its last change. A file of another identity is hashed
again; one that was copied or installed anew keeps its answers.
"""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flagkit.errors import RunError
from flagkit.experiment.harness import sha256
from flagkit.experiment.rundir import write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Identity = list[int]

SCHEMA = 1
SMALLEST = 1 << 20
"""Bytes. A smaller file is searched in less time than its answers are looked up in."""

SETTLED_NS = 2_000_000_000
"""How old a file's last change has to be for its times to tell the next change apart: the
coarsest step of a file system's clock (FAT's)."""

MOST_FILES = 64
MOST_ANSWERS = 400
LONGEST_ANSWER = 200
"""Variables in the answer to one question. A longer one is not kept."""

LARGEST = 1 << 20
"""Bytes of the file with the answers. The oldest leave first; a larger one is not read."""


def users_file(environ: Mapping[str, str]) -> Path | None:
    """``$XDG_CACHE_HOME/flagkit/variables.json``, else below ``~/.cache``; None: no home."""
    root, home = Path(environ.get("XDG_CACHE_HOME", "")), Path(environ.get("HOME", ""))
    if not root.is_absolute():  # relative ones are invalid, says the XDG specification
        if not home.is_absolute() or not home.is_dir():
            return None
        root = home / ".cache"
    return root / "flagkit" / "variables.json"


class Remembered:
    """Answers to questions about files, by the files' content.

    A file that cannot be read or written does without: then every question is new. Several
    processes may share one; the last to write keeps what it read of the others' answers.

    :param path: the file with the answers; None: nothing is kept.
    :param now: the time in nanoseconds, for tests.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        smallest: int = SMALLEST,
        now: Callable[[], int] = time.time_ns,
    ) -> None:
        self._path = path
        self._smallest = smallest
        self._now = now
        self._files, self._answers = _read(path)
        self._changed = False

    def ask(self, path: Path, question: str, search: Callable[[], list[str]]) -> list[str]:
        """What *search* finds in *path*; it is called only if that is not known."""
        before = self._identity(path)
        if before is None:
            return search()
        content = self._content(path, before)
        known = self._answers.get(content, {}).get(question)
        if known is not None:
            return list(known)
        found = search()
        # A file that changed meanwhile was not what was hashed.
        if content and self._identity(path) == before and len(found) <= LONGEST_ANSWER:
            answers = self._answers.pop(content, {})
            self._answers[content] = {**answers, question: found}
            self._changed = True
        return found

    def save(self) -> None:
        """Keep what is new, whole or not at all. A place that cannot be written is passed over."""
        if self._path is None or not self._changed:
            return
        files, answers = _read(self._path)
        for content, known in self._answers.items():
            answers[content] = _newest({**answers.pop(content, {}), **known}, MOST_ANSWERS)
        files = _newest({**files, **self._files}, MOST_FILES)
        answers = _newest(answers, MOST_FILES)
        text = _text(files, answers)
        while len(text.encode()) > LARGEST and answers:
            answers = _newest(answers, len(answers) - 1)
            text = _text(files, answers)
        with contextlib.suppress(OSError, RunError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_text(self._path, text)
            self._changed = False

    def _identity(self, path: Path) -> Identity | None:
        """None for what is not worth remembering, or cannot be."""
        if self._path is None:
            return None
        try:
            found = path.stat()
        except OSError:
            return None
        if found.st_size < self._smallest:
            return None
        return [found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]

    def _content(self, path: Path, identity: Identity) -> str:
        """The file's hash, from what is kept or by reading it; empty if that failed."""
        name = str(path)
        known = self._files.get(name)
        if known is not None and known[0] == identity:
            return str(known[1])
        try:
            content = sha256(path)
        except OSError:
            return ""
        if self._identity(path) != identity:
            return ""
        if max(identity[3:]) < self._now() - SETTLED_NS:
            self._files.pop(name, None)
            self._files[name] = (identity, content)
            self._changed = True
        return content


def _newest(known: dict[str, Any], most: int) -> dict[str, Any]:
    return dict(list(known.items())[-most:] if most > 0 else ())


def _text(files: Mapping[str, Any], answers: Mapping[str, Any]) -> str:
    return json.dumps({"schema": SCHEMA, "files": files, "answers": answers}) + "\n"


def _read(
    path: Path | None,
) -> tuple[dict[str, tuple[Identity, str]], dict[str, dict[str, list[str]]]]:
    """What the file holds, but for all that has another shape."""
    if path is None:
        return {}, {}
    try:
        if path.stat().st_size > LARGEST:
            return {}, {}
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}, {}
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        return {}, {}
    files = {
        name: (entry[0], entry[1])
        for name, entry in _pairs(data.get("files"))
        if isinstance(entry, list)
        and len(entry) == 2
        and _list_of(int, entry[0])
        and isinstance(entry[1], str)
    }
    answers = {
        content: {q: found for q, found in _pairs(known) if _list_of(str, found)}
        for content, known in _pairs(data.get("answers"))
    }
    return files, answers


def _pairs(value: object) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []


def _list_of(kind: type, value: object) -> bool:
    return isinstance(value, list) and all(type(item) is kind for item in value)
