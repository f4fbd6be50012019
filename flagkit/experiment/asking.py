"""Asks a benchmark's Python something, without importing anything heavy there."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

LIMIT_S = 60.0


def ask_python(
    python: Path, code: str, arguments: Iterable[str], environ: Mapping[str, str]
) -> dict[str, Any]:
    """The JSON object that *code* prints; empty if *python* cannot be asked."""
    command = [str(python), "-c", code, *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=LIMIT_S, env=dict(environ), check=True
        )
        found = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
