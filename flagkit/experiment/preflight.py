"""What is checked before a run: that somebody reads the switch at all."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from flagkit.errors import UsageError
from flagkit.experiment.proof import find_variable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from flagkit.experiment.campaign import Campaign

LOCATE_S = 60.0
_LOCATE = """
import importlib.util, json, sys
found = {}
for name in sys.argv[1:]:
    try:
        spec = importlib.util.find_spec(name)
    except Exception:
        spec = None
    if spec is not None:
        places = list(spec.submodule_search_locations or ())
        found[name] = places or ([spec.origin] if spec.origin else [])
print(json.dumps(found))
"""
"""Finds packages without importing them: importing torch takes seconds and needs a device."""


def verify_switch(campaign: Campaign) -> None:
    """Check that each of the switch's variables occurs in the package that reads it.

    A switch that nobody reads changes nothing, silently. Raises :class:`UsageError` that
    lists similar names found there.
    """
    wanted = [
        variable
        for variable in campaign.switch.variables(campaign.backend, campaign.request.switch_options)
        if variable.package
    ]
    if not wanted:
        return
    environ = campaign.environ("after")
    places = locate(campaign.python("after"), {v.package for v in wanted}, environ)
    for variable in wanted:
        folders = places.get(variable.package)
        if not folders:
            raise UsageError(
                f"switch {campaign.switch.name!r} sets {variable.name}, which the package "
                f"{variable.package!r} should read, but {campaign.python('after')} has no such "
                "package; go on without this check with --no-verify"
            )
        similar = find_variable(variable.name, folders)
        if similar is not None:
            names = f"; similar names there: {', '.join(similar)}" if similar else ""
            raise UsageError(
                f"nothing in the installed {variable.package!r} reads {variable.name}, so the "
                f"switch would change nothing{names}; go on without this check with --no-verify"
            )


def locate(
    python: Path, packages: Iterable[str], environ: Mapping[str, str]
) -> dict[str, list[Path]]:
    """Where *python* would import *packages* from. Empty for those it does not find."""
    command = [str(python), "-c", _LOCATE, *sorted(packages)]
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=LOCATE_S, env=dict(environ), check=True
        )
        found = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return {}
    return {name: [Path(place) for place in places] for name, places in found.items()}
