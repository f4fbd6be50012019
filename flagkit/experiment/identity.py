"""What each side is before it runs: interpreter, entry files of its stack, FlagGems' revision.

Two sides that import another triton differ by more than the switch, though no variable
shows it.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from flagkit.errors import UsageError
from flagkit.experiment.asking import LIMIT_S, ask_python
from flagkit.model import SIDES

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from flagkit.experiment.campaign import Campaign
    from flagkit.model import Side

CHECKOUT, IMPORTED = "FlagGems checkout", "path of flag_gems"
PACKAGES = ("triton", "torch", "torch_musa", "flag_gems", "numpy", "pytest")
_ASK = """
import hashlib, importlib.util, json, os, sys
found = {"python": os.path.realpath(sys.executable), "python version": sys.version.split()[0]}
for name in sys.argv[1:]:
    try:
        spec = importlib.util.find_spec(name)
        with open(spec.origin, "rb") as file:
            found["module " + name] = hashlib.sha256(file.read()).hexdigest()
        found["path of " + name] = os.path.realpath(spec.origin)
    except Exception:
        pass
print(json.dumps(found))
"""
"""Hashes the entry file of each package without importing any."""


def identities(campaign: Campaign) -> dict[str, dict[str, str]]:
    """Both sides' facts, as ``campaign.json`` keeps them."""
    return {side: identity(campaign, side) for side in SIDES}


def identity(campaign: Campaign, side: Side) -> dict[str, str]:
    """One side's facts."""
    found = ask(campaign.python(side), campaign.environ(side))
    root = campaign.arms[side].gems_root or campaign.request.gems_root
    if root is None:
        return found
    return found | {CHECKOUT: str(root), "FlagGems revision": revision(root)}


def ask(python: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """What *python* would import; empty if it cannot be asked."""
    found = ask_python(python, _ASK, PACKAGES, environ)
    return {str(name): str(value) for name, value in found.items()}


def revision(root: Path) -> str:
    """The checkout's commit, with ``+changes`` where files differ from it; empty without git."""
    command = ["git", "-C", str(root), "describe", "--always", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(
            [*command, "--dirty=+changes"], capture_output=True, timeout=LIMIT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace").strip()


def refuse_other_identity(
    before: Mapping[str, str],
    after: Mapping[str, str],
    *,
    build: bool,
    allowed: Collection[str] = (),
) -> None:
    """Raise :class:`UsageError` naming what differs. ``build``: another build is the switch.

    Then two FlagGems checkouts must also be two FlagGems that are imported: an installed one
    may come before both, and would be compared with itself.
    """
    if build:
        imported = before.get(IMPORTED)
        alike = imported is not None and imported == after.get(IMPORTED)
        if alike and before.get(CHECKOUT) != after.get(CHECKOUT) and IMPORTED not in allowed:
            raise UsageError(
                f"the sides have two FlagGems checkouts, and both would import {imported}: take "
                f"the installed one away, or allow it with --allow-diff '{IMPORTED}'"
            )
        return
    names = [
        name
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name) and name not in allowed
    ]
    if names:
        raise UsageError(
            f"the sides would differ by more than the switch: {', '.join(names)}; make them "
            "equal, compare builds with --switch build, or allow each with --allow-diff NAME"
        )
