"""Asks a benchmark's Python what it would import, without importing any of it."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flagkit.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

LIMIT_S = 120.0
"""As for a probe: interpreters on cold network drives were seen to need most of a minute."""

PACKAGES = ("triton", "torch", "torch_musa", "flag_gems", "numpy", "pytest")
"""What is measured, or measures. The agent journals which file of each was imported."""

_MARK = b"flagkit-answer:"

# pytest itself puts the paths of its ini file first, and only it knows which file that is.
# It is left before any conftest is loaded. Imports print what they like, so that the
# answer has a mark, and capturing has begun by then, so that it has a descriptor of its own.
_LOOK = """\
import hashlib, importlib.util, json, os, sys
out = os.dup(1)
packages, arguments = map(json.loads, sys.argv[1:])
def look(name):
    spec = importlib.util.find_spec(name)
    if spec is None:
        return None
    origin = spec.origin if spec.has_location else None
    found = {"places": list(spec.submodule_search_locations or ()) or ([origin] if origin else [])}
    if origin:
        found["path"] = os.path.realpath(origin)
        with open(origin, "rb") as file:
            found["sha256"] = hashlib.sha256(file.read()).hexdigest()
    return found
def answer():
    modules = {}
    for name in packages:
        try:
            modules[name] = look(name)
        except Exception:
            pass
    python, version = os.path.realpath(sys.executable), sys.version.split()[0]
    data = {"python": python, "version": version, "modules": modules}
    left = b"\\nMARK" + json.dumps(data).encode() + b"\\n"
    while left:
        left = left[os.write(out, left):]
    os._exit(0)
class Look:
    def pytest_load_initial_conftests(self):
        answer()
import pytest
sys.exit(pytest.main(arguments, plugins=[Look()]) or 1)
""".replace("MARK", _MARK.decode())


@dataclass(frozen=True, slots=True, kw_only=True)
class Standpoint:
    """From where a benchmark is started: all that decides what it imports.

    ``suite`` is the folder pytest is started on, whose ini file may name paths; None where
    there is none yet. ``args`` are the user's own for pytest.
    """

    python: Path
    environ: Mapping[str, str]
    cwd: Path | None = None
    suite: Path | None = None
    args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A package as it would be imported.

    ``places`` are its folders, or its one file; ``path`` its entry file with links followed
    and ``sha256`` that file's digest, both empty where it has none.
    """

    places: tuple[str, ...] = ()
    path: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a Python answered: itself, and the packages it would find."""

    python: str
    version: str
    modules: Mapping[str, Module] = field(default_factory=dict)


class Asked:
    """Asks, and keeps the answers: the sides often stand on the same spot."""

    def __init__(self) -> None:
        self._answers: list[tuple[Standpoint, frozenset[str], Found]] = []

    def find(self, standpoint: Standpoint, packages: Iterable[str] = PACKAGES) -> Found:
        """Where *packages* would come from. Raises :class:`flagkit.errors.RunError`."""
        wanted = frozenset(packages)
        for known, names, answer in self._answers:
            if known == standpoint and wanted <= names:
                return answer
        wanted |= {*PACKAGES}
        found = _ask(standpoint, sorted(wanted))
        self._answers.append((standpoint, wanted, found))
        return found


def _ask(standpoint: Standpoint, packages: list[str]) -> Found:
    suite = [] if standpoint.suite is None else [str(standpoint.suite)]
    arguments = [*suite, *standpoint.args, "-s", "-p", "no:cacheprovider"]
    command = [str(standpoint.python), "-c", _LOOK, json.dumps(packages), json.dumps(arguments)]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            check=False,
            capture_output=True,
            timeout=LIMIT_S,
            env=dict(standpoint.environ),
            cwd=standpoint.cwd,
        )
    except subprocess.TimeoutExpired:
        raise _silent(standpoint, f"no answer within {LIMIT_S:g} s") from None
    except (OSError, ValueError) as error:
        raise _silent(standpoint, str(getattr(error, "strerror", None) or error)) from None
    _, mark, last = done.stdout.rpartition(_MARK)
    if mark:
        try:
            return _read(json.loads(last.partition(b"\n")[0]))
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
            pass
    said = (done.stderr or done.stdout).decode("utf-8", "replace").split("\n")
    last_said = next((line.strip() for line in reversed(said) if line.strip()), "")
    raise _silent(standpoint, last_said or f"exit status {done.returncode}")


def _read(data: dict[str, Any]) -> Found:
    modules = {
        str(name): Module(
            places=tuple(map(str, one["places"])),
            path=str(one.get("path", "")),
            sha256=str(one.get("sha256", "")),
        )
        for name, one in data["modules"].items()
        if one is not None
    }
    return Found(python=str(data["python"]), version=str(data["version"]), modules=modules)


def _silent(standpoint: Standpoint, why: str) -> RunError:
    return RunError(
        f"{standpoint.python} does not tell what the benchmark would import: {why[:300]}"
    )
