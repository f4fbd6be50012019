"""What is checked before a run: that somebody reads the switch at all."""

from __future__ import annotations

from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING

from flagkit.errors import UsageError, calling
from flagkit.experiment.asking import Asked
from flagkit.experiment.proof import find_variable
from flagkit.experiment.remembered import Remembered

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from flagkit.experiment.campaign import Campaign

STACK = ("triton", "flag_gems")
"""Where a variable of no named package is looked for: torch alone has gigabytes."""

MISSPELT = 0.85
"""How alike a name is to one that is read (1: equal) for it to be taken as that one misspelt."""


def verify_switch(
    campaign: Campaign, remembered: Remembered | None = None, asked: Asked | None = None
) -> None:
    """Check that each of the switch's variables occurs in the package that reads it.

    A switch that nobody reads changes nothing, silently. Raises :class:`UsageError` that
    lists similar names found there.

    :param remembered: what earlier searches found; what this one finds is kept in it.
    :param asked: what was asked already.
    """
    memory = remembered or Remembered()
    try:
        _verify(campaign, memory, asked or Asked())
    finally:
        memory.save()


def _verify(campaign: Campaign, memory: Remembered, asked: Asked) -> None:
    with calling("switch", campaign.switch.name, "variables"):
        variables = campaign.switch.variables(campaign.backend, campaign.request.switch_options)
    wanted = [variable for variable in variables if variable.package]
    free = [variable.name for variable in variables if not variable.package]
    if campaign.backend.gems_vendor is None:
        free = []  # the host's libraries read variables that no search would find
    if not wanted and not free:
        return
    packages = {variable.package for variable in wanted} | {*(STACK if free else ())}
    modules = asked.find(campaign.standpoint("after"), packages).modules
    places = {name: [Path(place) for place in one.places] for name, one in modules.items()}
    _refuse_misspelt(free, [place for name in STACK for place in places.get(name, ())], memory)
    for variable in wanted:
        folders = places.get(variable.package)
        if not folders:
            raise UsageError(
                f"switch {campaign.switch.name!r} sets {variable.name}, which the package "
                f"{variable.package!r} should read, but {campaign.python('after')} has no such "
                "package; go on without this check with --no-verify"
            )
        similar = find_variable(variable.name, folders, remembered=memory)
        if similar is not None:
            names = f"; similar names there: {', '.join(similar)}" if similar else ""
            raise UsageError(
                f"nothing in the installed {variable.package!r} reads {variable.name}, so the "
                f"switch would change nothing{names}; go on without this check with --no-verify"
            )


def _refuse_misspelt(names: Iterable[str], folders: Sequence[Path], memory: Remembered) -> None:
    """A name of no known package that nothing reads, where something reads one much alike."""
    for name in names:
        similar = find_variable(name, folders, remembered=memory) or ()
        close = [one for one in similar if SequenceMatcher(None, name, one).ratio() >= MISSPELT]
        if close:
            raise UsageError(
                f"nothing in the installed {' or '.join(STACK)} reads {name}; similar names "
                f"there: {', '.join(close)}; go on without this check with --no-verify"
            )
