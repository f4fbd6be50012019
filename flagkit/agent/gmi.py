"""Reads what ``mthreads-gmi -q`` prints: as JSON where it can, else as indented text."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from flagkit.agent.outcomes import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_ENTRIES, MAX_TEXT, MAX_DEPTH = 200, 200, 8
"""Of an answer, a device each; what is beyond is dropped."""

_DEVICE = re.compile(
    r"GPU ?\d*[ :]+[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]|GPU ?\d+:?", re.IGNORECASE
)
"""A line of its own before a device's: its number, its place on the bus, or both."""

_BEGINS = ("index", "product name")
"""Keys that each device has once: met again, they are the next device's."""


def read_gmi(text: str, command: tuple[str, ...]) -> list[dict[str, str]]:
    """One mapping a device. Keys are joined with their sections by dots, in small letters.

    What is told once for all devices (the driver's version) is in each.
    """
    if text.lstrip().startswith("{"):
        return _from_json(json.loads(text))
    return read_sections(text)


def read_sections(text: str) -> list[dict[str, str]]:
    """Indented ``key : value`` lines; a line without a value opens a section."""
    shared: dict[str, str] = {}
    devices: list[dict[str, str]] = []
    path: list[tuple[int, str]] = []
    current = shared
    for line in text.splitlines():
        if _DEVICE.fullmatch(line.strip()):
            path, current = [], {}
            devices.append(current)
            continue
        key, colon, value = (part.strip() for part in line.partition(":"))
        depth = len(line) - len(line.lstrip())
        if not key or set(key) <= {"-", "=", "+"}:
            continue
        while path and path[-1][0] >= depth:
            path.pop()
        if not colon or not value:
            path.append((depth, key))
            continue
        name = ".".join(short(each).lower() for each in (*(p for _, p in path), key))
        if name in current and key.lower() in _BEGINS:
            if current is shared:
                devices, shared = [shared], {}
            current = {}
            devices.append(current)
        if len(current) < MAX_ENTRIES:
            current.setdefault(name, short(value))
    if not devices:
        return [shared] if shared else []
    return [{**shared, **device} for device in devices]


def _from_json(told: Any) -> list[dict[str, str]]:
    top = told if isinstance(told, dict) else {}
    shared = _flat({key: value for key, value in top.items() if not isinstance(value, list)})
    lists = (value for value in top.values() if isinstance(value, list))
    devices = [each for value in lists for each in value if isinstance(each, dict)]
    if not devices:
        return [shared] if shared else []
    return [{**shared, **_flat(each)} for each in devices]


def _flat(told: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in _leaves(told, (), MAX_DEPTH):
        if len(found) >= MAX_ENTRIES:
            break
        found.setdefault(".".join(name), value)
    return found


def _leaves(told: Any, path: tuple[str, ...], depth: int) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(told, dict):
        for key, value in told.items() if depth else ():
            yield from _leaves(value, (*path, short(str(key)).lower()), depth - 1)
    elif isinstance(told, (str, int, float)):
        yield path, short(str(told))


def short(text: str) -> str:
    """*text* on one line of bounded length, without what cannot be printed."""
    return one_line(text, MAX_TEXT)
