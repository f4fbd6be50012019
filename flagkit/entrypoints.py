"""Entry points of what is installed, as :mod:`importlib.metadata` tells them, but sooner.

Importing that module brings e-mail, sockets and archives with it and takes as long as
reading a log of thousands of rows, for every command. Distributions in plain folders need
none of it. Whatever else can hold some (an archive, an egg, a finder of somebody's own) is
left to that module, and both give the same, which is tested.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class EntryPoint(NamedTuple):
    """An entry point, and the name and version of the distribution that has it."""

    group: str
    name: str
    value: str
    distribution: str
    version: str

    @property
    def module(self) -> str:
        """The module it names."""
        return self._parts()[0]

    def load(self) -> object:
        """Import what it names; raises whatever that raises."""
        module, attributes = self._parts()
        found: object = importlib.import_module(module)
        for attribute in filter(None, attributes.split(".")):
            found = getattr(found, attribute)
        return found

    def _parts(self) -> tuple[str, str]:
        # "module:attribute [extra]", of which all but the module may be left out.
        module, _, attributes = self.value.partition("[")[0].partition(":")
        return module.strip(), attributes.strip()


def normalised(name: str) -> str:
    """A distribution's name as all its spellings have it."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def installed(start: str) -> list[EntryPoint]:
    """Every entry point whose group starts with *start*.

    Of a distribution that is on the path several times only the first counts.
    """
    try:
        _refuse_other_finders()
        return list(on_path(sys.path, start))
    except NotPlainError:
        return list(_told_by_metadata(start))


class NotPlainError(Exception):
    """Something that may hold distributions is no plain folder of them."""


def on_path(path: Iterable[str], start: str) -> Iterator[EntryPoint]:
    """Those of the distributions in the folders of *path*; raises :class:`NotPlainError`."""
    seen = set()
    for folder in path:
        for name, info in _infos(folder):
            if name not in seen:
                seen.add(name)
                yield from _offered(Path(info), start)


def _refuse_other_finders() -> None:
    for finder in sys.meta_path:
        if finder is not PathFinder and hasattr(finder, "find_distributions"):
            raise NotPlainError


def _infos(folder: str) -> Iterator[tuple[str, str]]:
    """The name, as it stands there, and the metadata of each distribution in *folder*."""
    if folder.rstrip("/\\").lower().endswith(".egg"):
        raise NotPlainError
    try:
        children = os.scandir(folder or ".")
    except NotADirectoryError:
        raise NotPlainError from None
    except OSError:
        return
    with children:
        for child in children:
            stem, _, kind = child.name.lower().rpartition(".")
            if kind in ("dist-info", "egg-info"):
                yield normalised(stem.partition("-")[0]), child.path


def _offered(info: Path, start: str) -> Iterator[EntryPoint]:
    text = _text(info / "entry_points.txt")
    if start not in text:
        return
    name, version = _name_and_version(info)
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line.strip("[]")
        elif group.startswith(start) and "=" in line and not line.startswith("#"):
            called, _, value = line.partition("=")
            yield EntryPoint(group, called.strip(), value.strip(), name, version)


def _name_and_version(info: Path) -> tuple[str, str]:
    name, _, version = info.stem.partition("-")
    headers: dict[str, str] = {}
    for line in (_text(info / "METADATA") or _text(info / "PKG-INFO")).splitlines():
        if not line:
            break
        header, _, value = line.partition(":")
        headers.setdefault(header.lower(), value.strip())
    return headers.get("name", name), headers.get("version", version)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _told_by_metadata(start: str) -> Iterator[EntryPoint]:
    from importlib import metadata

    points = metadata.entry_points()
    for group in points.groups:
        for point in points.select(group=group) if group.startswith(start) else ():
            name, version = (point.dist.name, point.dist.version) if point.dist else ("", "")
            yield EntryPoint(group, point.name, point.value, name or "(no distribution)", version)
