"""Any folder or file of pytest benchmarks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flagkit.errors import InputError
from flagkit.suites.finding import Suite, benchmark_files

if TYPE_CHECKING:
    from pathlib import Path


def folder_suite(path: Path) -> Suite:
    """The suite in the folder or file *path*, run from that folder."""
    given = path.expanduser().absolute()
    if given.is_file():
        if given.suffix != ".py":
            raise InputError(f"suite {str(path)!r} is no Python file")
        return Suite(name=str(path), folder=given.parent, cwd=given.parent, files=(given,))
    if not given.is_dir():
        raise InputError(f"suite {str(path)!r} is neither a folder nor a file")
    return Suite(name=str(path), folder=given, cwd=given, files=benchmark_files(given, "suite"))
