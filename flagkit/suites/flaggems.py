"""FlagGems' own benchmark, in a checkout: its wheel does not hold it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flagkit.errors import InputError, UsageError
from flagkit.suites.finding import Suite, benchmark_files

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LEVELS = ("core", "comprehensive")
CONTROLS = ("none", "torch")

_DTYPE = re.compile(r"[a-z][a-z0-9_]*")


def flaggems_suite(gems_root: Path) -> Suite:
    """The suite ``<gems_root>/benchmark``, run from *gems_root* as its pytest.ini wants."""
    root = gems_root.expanduser().absolute()
    if not root.is_dir():
        raise InputError(
            f"FlagGems root {str(gems_root)!r} is no folder; "
            "give a FlagGems checkout with --gems-root"
        )
    folder = root / "benchmark"
    if not folder.is_dir():
        raise InputError(
            f"FlagGems root {str(gems_root)!r} has no folder benchmark; "
            "give a FlagGems checkout (its wheel does not hold the benchmark)"
        )
    files = benchmark_files(folder, "FlagGems benchmark")
    return Suite(name=f"FlagGems in {root}", folder=folder, cwd=root, files=files)


def flaggems_args(
    level: str, dtypes: Sequence[str], control: str, vendor: str | None
) -> tuple[str, ...]:
    """The options FlagGems' benchmark adds to pytest's.

    Without a *control* the torch column is left out, which halves the time, but at level
    core alone: at comprehensive many operators compute the bandwidth from it and fail.
    kunlunxin spells ``--mode`` as ``--fg_mode``.
    """
    if level not in LEVELS:
        raise UsageError(f"there is no level {level!r}; FlagGems has {' and '.join(LEVELS)}")
    if control not in CONTROLS:
        raise UsageError(f"there is no control {control!r}, only {' and '.join(CONTROLS)}")
    args = ["--level", level]
    for dtype in dtypes:
        short = dtype.removeprefix("torch.")
        if not _DTYPE.fullmatch(short):
            raise UsageError(f"{dtype!r} is no dtype; write float16 or torch.float16")
        args += ["--dtypes", short]
    if level == "core" and control == "none":
        args += ["--metrics", "latency"]
    return (*args, "--fg_mode" if vendor == "kunlunxin" else "--mode", "kernel")
