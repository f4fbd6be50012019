"""Reads journals: one JSON object a line. Imports the standard library only."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects in *path*, as they come; none for a missing file.

    A line that is no object is passed over: a crash may have cut the last one.
    """
    try:
        with path.open("rb") as file:
            for raw in file:
                try:
                    line = json.loads(raw)
                except (ValueError, RecursionError):
                    continue
                if isinstance(line, dict):
                    yield line
    except OSError:
        return
