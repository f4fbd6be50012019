"""Writes facts as they happen: one JSON object a line, flushed, so that a crash loses nothing."""

from __future__ import annotations

import json
import math
import os
from typing import TYPE_CHECKING, Any, Protocol, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


class Journal(Protocol):
    """Takes lines."""

    def write(self, line: Mapping[str, Any]) -> None:
        """Keep *line*. Never raises."""
        ...


class NullJournal:
    """For a session that flagkit did not start: keeps nothing."""

    def start(self) -> None:
        """Nothing to make."""

    def write(self, line: Mapping[str, Any]) -> None:
        """Drop *line*."""

    def close(self) -> None:
        """Nothing to close."""


class FileJournal:
    """Appends to a file.

    A disk that is full or read-only must not cost the benchmark its own table, so a
    failed write is told once through *complain* and the benchmark goes on; the host sees
    that the journal has no end and calls the side incomplete. A process that the benchmark
    forks writes nothing: its calls would carry the numbers of its parent's.
    """

    def __init__(self, path: Path, complain: Callable[[str], None]) -> None:
        self._path = path
        self._complain = complain
        self._file: TextIO | None = None
        self._broken = False
        self._pid = os.getpid()

    def start(self) -> None:
        """Make the file, so that an empty journal is told from a missing one."""
        try:
            self._path.touch()
        except OSError as error:
            self._broken = True
            self._complain(f"journal {self._path.name}: not written: {error}")

    def write(self, line: Mapping[str, Any]) -> None:
        """Append *line* and flush it."""
        if self._broken:
            return
        if os.getpid() != self._pid:
            self._broken = True
            self._complain(f"journal {self._path.name}: a forked process is not journalled")
            return
        try:
            if self._file is None:
                self._file = self._path.open("a", encoding="utf-8", newline="\n")
            self._file.write(dump(line) + "\n")
            self._file.flush()
        except (OSError, ValueError, TypeError) as error:
            self._broken = isinstance(error, OSError)
            self._complain(f"journal {self._path.name}: not written: {error}")

    def close(self) -> None:
        """Close the file. A failed close is a failed write."""
        if self._file is not None:
            try:
                self._file.close()
            except OSError as error:
                self._complain(f"journal {self._path.name}: not closed: {error}")
            self._file = None


def dump(line: Mapping[str, Any]) -> str:
    """Strict JSON: a number that is none (nan, inf) becomes null, an unknown type its text."""
    try:
        return json.dumps(line, allow_nan=False, default=str, separators=(",", ":"))
    except ValueError:
        return json.dumps(_finite(line), allow_nan=False, default=str, separators=(",", ":"))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
