"""One build against another: two interpreters, two paths or two FlagGems checkouts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from flagkit import hookimpl
from flagkit.errors import InputError, UsageError
from flagkit.interfaces import ArmSetup

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import click

    from flagkit.interfaces import Backend, Switch, SwitchVariable, Target
    from flagkit.model import Note


class BuildSwitch:
    """What is not given for an arm is the target's own."""

    name = "build"
    summary = "one build against another (interpreter, PYTHONPATH or FlagGems checkout)"
    arms = ("before", "after")
    control = False

    def setup(
        self, arm: str, backend: Backend, options: Mapping[str, Any], target: Target
    ) -> ArmSetup:
        """The build of *arm*, after a look at both."""
        if arm not in self.arms:
            raise UsageError(f"switch 'build' has the arms before and after, not {arm!r}")
        builds = {side: _build(side, options) for side in self.arms}
        one, other = (_effective(build, target) for build in builds.values())
        if one == other:
            raise UsageError(
                "switch 'build' has nothing to compare: both builds are equal; give "
                "--build-before-... or --build-after-... python, path or gems"
            )
        return builds[arm]

    def variables(self, backend: Backend, options: Mapping[str, Any]) -> Sequence[SwitchVariable]:
        """None: whole builds differ."""
        return ()

    def observe(self) -> Mapping[str, str]:
        """Nothing: the files imported are compared elsewhere."""
        return {}

    def prove(self, before: Mapping[str, str], after: Mapping[str, str]) -> Sequence[Note]:
        """Nothing."""
        return ()

    def options(self) -> Sequence[click.Option]:
        """``--build-before-python`` and so on, for either arm."""
        import click

        found = []
        for arm in self.arms:
            found += [
                click.Option(
                    [f"--build-{arm}-python"],
                    metavar="PYTHON",
                    help=f"The interpreter of the {arm} side.",
                ),
                click.Option(
                    [f"--build-{arm}-path"],
                    metavar="DIR",
                    multiple=True,
                    help=f"Put first on the {arm} side's PYTHONPATH; repeatable, in order.",
                ),
                click.Option(
                    [f"--build-{arm}-gems"],
                    metavar="DIR",
                    help=f"The FlagGems checkout of the {arm} side: its benchmark, and its src.",
                ),
            ]
        return tuple(found)


def _build(arm: str, options: Mapping[str, Any]) -> ArmSetup:
    python, gems = options.get(f"{arm}_python"), options.get(f"{arm}_gems")
    paths = [_folder(f"--build-{arm}-path", str(p)) for p in options.get(f"{arm}_path") or ()]
    root = None if not gems else _folder(f"--build-{arm}-gems", str(gems))
    if root is not None and (root / "src" / "flag_gems").is_dir():
        # The benchmark alone would be the checkout's; what it imports is what is compared.
        paths.append(root / "src")
    return ArmSetup(
        python=None if not python else _interpreter(f"--build-{arm}-python", str(python)),
        pythonpath=tuple(paths),
        gems_root=root,
    )


def _effective(build: ArmSetup, target: Target) -> tuple[object, ...]:
    # Not resolved: two virtual environments are two builds, though their interpreters
    # are links to one file.
    return (build.python or target.python.absolute(), build.pythonpath, build.gems_root)


def _interpreter(option: str, given: str) -> Path:
    import shutil

    found = shutil.which(Path(given).expanduser())
    if found is None:
        raise InputError(f"{option} {given}: there is no such program")
    return Path(found).absolute()


def _folder(option: str, given: str) -> Path:
    path = Path(given).expanduser().absolute()
    if not path.is_dir():
        raise InputError(f"{option} {given}: there is no such folder")
    return path


@hookimpl
def flagkit_switch() -> Switch:
    """The switch ``build``."""
    return BuildSwitch()
