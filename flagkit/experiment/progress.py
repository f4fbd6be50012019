"""Who is told what a campaign is doing. The command shows it; a test keeps it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from flagkit.model import RangeReport


class Progress(Protocol):
    """Told as things happen; must not raise."""

    def started(self, op: str, side: str, round_: int) -> None:
        """A process starts."""
        ...

    def ticked(self, rows: int, seconds: float) -> None:
        """It is still running: rows measured so far, seconds since it started."""
        ...

    def ended(self, rows: int, seconds: float, problem: str) -> None:
        """It ended; ``problem`` is empty if well."""
        ...

    def reported(self, report: RangeReport) -> None:
        """An operator is compared."""
        ...

    def failed(self, op: str, problem: str) -> None:
        """An operator gives no report; the others go on."""
        ...

    def said(self, text: str) -> None:
        """A remark."""
        ...


class RowCounter:
    """Counts the rows in a journal that is still being written, reading each byte once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._place = 0
        self._rest = b""
        self._rows: set[object] = set()

    def count(self) -> int:
        """How many rows there are by now."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._place)
                block = file.read()
        except OSError:
            return len(self._rows)
        self._place += len(block)
        *lines, self._rest = (self._rest + block).split(b"\n")
        for line in lines:
            self._take(line)
        return len(self._rows)

    def _take(self, line: bytes) -> None:
        if b'"row"' not in line:
            return
        try:
            data = json.loads(line)
        except ValueError:
            return
        if isinstance(data, dict) and "row" in (data.get("kind"), data.get("role")):
            self._rows.add(data.get("id") or ("serial", data.get("serial")))
