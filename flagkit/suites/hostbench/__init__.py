"""The bundled suite: NumPy operators on the host, on any machine.

It prints FlagGems' table, so that the whole road from a benchmark to a report can be
walked without an accelerator. The operator ``gelu`` picks its chunk by timing, so that
record and replay are seen at work.
"""

from __future__ import annotations

from pathlib import Path

from flagkit.suites.finding import Suite


def suite() -> Suite:
    """The suite. NumPy is not imported for it."""
    folder = Path(__file__).absolute().parent
    return Suite(
        name="the bundled suite",
        folder=folder,
        cwd=folder,
        files=(folder / "test_hostbench.py",),
        package_root=folder.parents[2],
    )
