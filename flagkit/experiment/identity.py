"""What each side is before it runs: interpreter, entry files of its stack, FlagGems' revision.

Two sides that import another triton differ by more than the switch, though no variable
shows it.
"""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Any

from flagkit.errors import UsageError
from flagkit.experiment.asking import LIMIT_S, PACKAGES, Asked
from flagkit.model import SIDES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from flagkit.experiment.asking import Found, Module
    from flagkit.experiment.campaign import Campaign
    from flagkit.model import Side

CHECKOUT, IMPORTED = "FlagGems checkout", "path of flag_gems"
DEVICE = ("device uuid", "device name")
_DEVICE = re.compile(r"(?P<name>.*?)(?: \(uuid (?P<uuid>.*)\))?")


def identities(campaign: Campaign, asked: Asked | None = None) -> dict[str, dict[str, str]]:
    """Both sides' facts, as ``campaign.json`` keeps them.

    :param asked: what was asked already.
    """
    asked = asked or Asked()
    return {side: identity(campaign, side, asked) for side in SIDES}


def identity(campaign: Campaign, side: Side, asked: Asked | None = None) -> dict[str, str]:
    """One side's facts. Raises :class:`flagkit.errors.RunError` where they cannot be had."""
    found = facts((asked or Asked()).find(campaign.standpoint(side)))
    answer = campaign.answers.get(campaign.python(side))
    if answer is not None:
        told = _DEVICE.fullmatch(answer.facts.get(f"device {campaign.request.device}", ""))
        found |= device_identity(told.groupdict() if told else {})
    root = campaign.arms[side].gems_root or campaign.request.gems_root
    if root is None:
        return found
    return found | {CHECKOUT: str(root), "FlagGems revision": revision(root)}


def facts(found: Found) -> dict[str, str]:
    """The interpreter, and the entry file of each package by digest and path."""
    return {"python": found.python, "python version": found.version} | modules_identity(
        {name: found.modules[name] for name in PACKAGES if name in found.modules}
    )


def modules_identity(modules: Mapping[str, Module]) -> dict[str, str]:
    """The names that a module's file goes by."""
    told = {}
    for name, module in modules.items():
        if module.path and module.sha256:
            told[f"module {name}"] = module.sha256
            told[f"path of {name}"] = module.path
    return told


def device_identity(told: Mapping[str, Any]) -> dict[str, str]:
    """The names that a device goes by. A UUID is spelt with and without its kind before it."""
    uuid = str(told.get("uuid") or "").lower().removeprefix("gpu-")
    values = zip(DEVICE, (uuid, str(told.get("name") or "")), strict=True)
    return {name: value for name, value in values if value}


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


def refuse_differences(campaign: Campaign, found: Mapping[str, Mapping[str, str]]) -> None:
    """Raise :class:`UsageError` where the sides differ by more than the switch, or by less."""
    allowed = permitted(campaign.request.allow_diff)
    for side in SIDES:
        refuse_overlooked(side, campaign.arms[side].pythonpath, found[side], allowed)
    refuse_other_identity(
        found["before"], found["after"], build=campaign.across_builds, allowed=allowed
    )


def permitted(names: Iterable[str]) -> set[str]:
    """What ``--allow-diff`` lets differ: ``device`` stands for all that tells devices apart."""
    found = set(names)
    return found | ({*DEVICE} if "device" in found else set())


def refuse_overlooked(
    side: Side,
    paths: Sequence[Path],
    found: Mapping[str, str],
    allowed: Collection[str] = (),
) -> None:
    """Raise :class:`UsageError` where a build's path holds a package that another hides.

    pytest's own ``pythonpath``, or a package that is installed for editing, may come first.
    """
    for name in PACKAGES:
        path = f"path of {name}"
        entry = next((e for p in paths for e in _entries(p, name) if e.is_file()), None)
        if entry is None or path not in found or path in allowed:
            continue
        if found[path] != str(entry.resolve()):
            raise UsageError(
                f"the {side} side is to run {entry}, but its benchmark would import "
                f"{found[path]}: take what hides it away (pytest's pythonpath, an installed "
                f"one), or allow it with --allow-diff '{path}'"
            )


def _entries(folder: Path, name: str) -> tuple[Path, Path]:
    return folder / name / "__init__.py", folder / f"{name}.py"


def refuse_other_identity(
    before: Mapping[str, str],
    after: Mapping[str, str],
    *,
    build: bool,
    allowed: Collection[str] = (),
) -> None:
    """Raise :class:`UsageError` naming what differs. ``build``: another build is the switch.

    Builds run on one device too, as far as both can tell which.
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
    compared = {*DEVICE} & before.keys() & after.keys() if build else {*before, *after}
    names = [
        name
        for name in sorted(compared)
        if before.get(name) != after.get(name) and name not in allowed
    ]
    if names and build:
        raise UsageError(
            f"the builds would run on two devices: {', '.join(names)}; make them equal, or "
            "allow it with --allow-diff device"
        )
    if names:
        raise UsageError(
            f"the sides would differ by more than the switch: {', '.join(names)}; make them "
            "equal, compare builds with --switch build, or allow each with --allow-diff NAME"
        )
