from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

EXPECTED = Path(__file__).parent / "expected"


@pytest.fixture(scope="session")
def golden() -> Callable[[str, str], None]:
    """Compare a text with its golden file; FLAGKIT_GOLDEN=write writes the file instead."""

    def check(name: str, text: str) -> None:
        path = EXPECTED / name
        if os.environ.get("FLAGKIT_GOLDEN") == "write":
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(text.encode())
        assert path.is_file(), f"no golden file {name}; FLAGKIT_GOLDEN=write makes it"
        assert text == path.read_bytes().decode(), f"{name} differs; see tests/golden/README.md"

    return check
