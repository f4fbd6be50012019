"""What the device and its software say of themselves, for a side's receipt.

Nothing here is needed to measure: whatever is absent, slow or odd becomes a note.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flagkit.agent.gmi import read_gmi, short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

TIME_LIMIT = 10.0
"""Seconds a vendor's tool gets; a driver that hangs must not hold up a run."""

DISTRIBUTIONS = ("torch", "triton", "flagtree", "flag_gems", "numpy")
MODULES = ("triton", "torch", "torch_musa", "flag_gems", "numpy", "pytest")
"""What is measured, or measures: which file of each was imported is journalled."""

_FIELDS = (
    "name",
    "uuid",
    "driver_version",
    "pstate",
    "clocks.sm",
    "clocks.mem",
    "clocks.max.sm",
    "temperature.gpu",
    "power.draw",
)
_REASONS = ("clocks_event_reasons.active", "clocks_throttle_reasons.active", "")
"""The same mask by its newer and its older name, and without for drivers that know neither."""

THROTTLING = {
    0x01: "idle",
    0x02: "application clocks",
    0x04: "power cap",
    0x08: "hardware slowdown",
    0x10: "sync boost",
    0x20: "thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
    0x100: "display clocks",
}
"""Bits of the mask, as NVML's header names them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A vendor's command that describes every device: what to call, how to read it.

    ``commands`` are tried in order until one succeeds; ``read`` gives one mapping a device.
    ``visible`` is the variable that says which of them a process sees, by their numbers here.
    """

    program: str
    visible: str
    commands: tuple[tuple[str, ...], ...]
    read: Callable[[str, tuple[str, ...]], list[dict[str, str]]]


def device_facts(
    backend_name: str,
    interface: Any,
    device_index: int = 0,
    *,
    which: Callable[[str], str | None] = shutil.which,
    run: Callable[[Sequence[str]], str] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> dict[str, Any]:
    """Facts of device *device_index* of *interface*, as JSON. Never raises.

    ``name``, ``uuid``, ``memory_bytes`` come from the interface, ``versions`` from what is
    installed, ``tool`` and ``state`` (clocks in MHz, temperature in degrees C, power in W,
    each as the tool prints it) from the vendor's command whose device bears the
    interface's name, ``throttling`` from its mask, ``notes`` say what is missing.
    """
    notes: list[str] = []
    facts: dict[str, Any] = {"backend": backend_name, "index": device_index}
    facts.update(_own_words(interface, device_index))
    facts["versions"] = versions(interface)
    found = _state(facts, which, run or _run, environ, notes)
    if found is not None:
        tool, state = found
        facts["tool"], facts["state"] = tool, state
        facts["throttling"] = throttling(state)
    facts["notes"] = notes
    return facts


def versions(interface: Any = None) -> dict[str, str]:
    """Versions of the stack: of loaded modules, else of installed distributions."""
    top = str(getattr(interface, "__name__", "")).partition(".")[0]
    names = dict.fromkeys((*DISTRIBUTIONS, top) if top else DISTRIBUTIONS)
    found = {name: version for name in names if (version := _version(name))}
    runtime = getattr(sys.modules.get("torch"), "version", None)
    for name in ("cuda", "musa", "hip"):
        told = getattr(runtime, name, None)
        if isinstance(told, str):
            found[f"torch.version.{name}"] = told
    return found


def imported_modules() -> dict[str, dict[str, str]]:
    """The entry file of each of :data:`MODULES` that is loaded: ``path`` and ``sha256``.

    The host asks before a run what would be imported; this is what was.
    """
    found: dict[str, dict[str, str]] = {}
    for name in MODULES:
        file = getattr(sys.modules.get(name), "__file__", None)
        if not isinstance(file, str):
            continue
        with contextlib.suppress(OSError, ValueError):
            path = Path(os.path.realpath(file))
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            found[name] = {"path": str(path), "sha256": digest}
    return found


def throttling(state: Mapping[str, str]) -> list[str]:
    """Why the clocks are held down, in words; empty where nothing holds them or it is not told."""
    mask = next((state[name] for name in _REASONS if name in state), "")
    try:
        bits = int(mask, 16)
    except ValueError:
        return []
    return [word for bit, word in THROTTLING.items() if bits & bit]


def read_csv(text: str, command: tuple[str, ...]) -> list[dict[str, str]]:
    """``nvidia-smi --query-gpu=a,b --format=csv,noheader``: one line a device."""
    asked = next(each for each in command if each.startswith("--query-gpu="))
    fields = asked.partition("=")[2].split(",")
    rows = (line.split(", ") for line in text.splitlines() if line.strip())
    return [dict(zip(fields, map(short, row), strict=False)) for row in rows]


TOOLS = (
    Tool(
        program="nvidia-smi",
        visible="CUDA_VISIBLE_DEVICES",
        commands=tuple(
            (
                f"--query-gpu={','.join((*_FIELDS, reasons) if reasons else _FIELDS)}",
                "--format=csv,noheader",
            )
            for reasons in _REASONS
        ),
        read=read_csv,
    ),
    Tool(
        program="mthreads-gmi",
        visible="MUSA_VISIBLE_DEVICES",
        commands=(("-q", "-j"), ("-q",)),
        read=read_gmi,
    ),
)
"""Asked in order, as far as installed; the device's name decides whose answer counts."""


def _own_words(interface: Any, index: int) -> dict[str, Any]:
    """What torch's own device properties say."""
    facts: dict[str, Any] = {}
    with contextlib.suppress(Exception):
        facts["name"] = short(str(interface.get_device_name(index)))
    with contextlib.suppress(Exception):
        properties = interface.get_device_properties(index)
        for ours, theirs in (("uuid", "uuid"), ("memory_bytes", "total_memory")):
            value = getattr(properties, theirs, None)
            if value is not None:
                facts[ours] = value if isinstance(value, int) else short(str(value))
    with contextlib.suppress(Exception):
        facts["capability"] = ".".join(map(str, interface.get_device_capability(index)))
    return facts


def _state(
    facts: Mapping[str, Any],
    which: Callable[[str], str | None],
    run: Callable[[Sequence[str]], str],
    environ: Mapping[str, str],
    notes: list[str],
) -> tuple[str, dict[str, str]] | None:
    installed = [(tool, path) for tool in TOOLS if (path := which(tool.program))]
    for tool, path in installed:
        seen = visible_as(environ.get(tool.visible), int(facts.get("index", 0)))
        for command in tool.commands:
            try:
                devices = tool.read(run([path, *command]), command)
            except Exception as exc:
                problem = short(f"{tool.program}: {type(exc).__name__}: {exc}")
                continue
            device, problem = pick(devices, facts, seen)
            if problem:
                problem = f"{tool.program} {problem}"
            if device is not None:
                notes.extend([problem] if problem else [])
                return tool.program, device
            if any(_names(each) for each in devices):
                break
        notes.append(problem)
    if not installed:
        names = " or ".join(tool.program for tool in TOOLS)
        notes.append(f"no {names} here: clocks and temperature are not known")
    return None


def visible_as(variable: str | None, index: int) -> str:
    """What the vendor's tool calls device *index* of this process: a number or a UUID.

    *variable* lists the devices that the process sees; None: all of them. Empty where it
    lists no such device.
    """
    if variable is None:
        return str(index)
    entries = [entry.strip() for entry in variable.split(",") if entry.strip()]
    return entries[index] if 0 <= index < len(entries) else ""


def pick(
    devices: Sequence[dict[str, str]], facts: Mapping[str, Any], seen: str
) -> tuple[dict[str, str] | None, str]:
    """The tool's device that is the interface's: by UUID, by its name, else by its number.

    *seen* is what :func:`visible_as` gives: torch_musa tells no UUID, and a process that
    was given one of eight equal devices sees it as number 0. With what is to be said of
    the choice, empty where it is certain.
    """
    uuid, name = str(facts.get("uuid", "")).lower(), str(facts.get("name", "")).lower()
    for told in (uuid, "" if seen.isdecimal() else seen.lower()):
        for each in devices if told else ():
            if any(told in value.lower() for key, value in each.items() if "uuid" in key):
                return each, ""
    alike = [each for each in devices if name and _bears(each, name)]
    if len(alike) < 2:
        missing = f"knows no device like {facts.get('name', 'this one')!r}"
        return (alike[0], "") if alike else (None, missing)
    number = int(seen) if seen.isdecimal() else len(devices)
    if number < len(devices) and _bears(devices[number], name):
        many = f"knows {len(alike)} devices like {facts['name']!r}, and no UUID is told"
        return devices[number], f"{many}: number {number} was taken"
    return None, f"knows {len(alike)} devices like {facts['name']!r}: which it is, is not told"


def _bears(device: Mapping[str, str], name: str) -> bool:
    return any(each in name or name in each for each in _names(device))


def _names(device: Mapping[str, str]) -> list[str]:
    """A device's own names, in small letters."""
    return [value.lower() for key, value in device.items() if key.endswith("name") and value]


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(
        list(command),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIME_LIMIT,
        check=True,
    )
    return done.stdout.decode("utf-8", "replace")


def _version(name: str) -> str:
    told = getattr(sys.modules.get(name), "__version__", None)
    if isinstance(told, str):
        return short(told)
    for spelling in _spellings(name):
        with contextlib.suppress(Exception):
            return short(importlib.metadata.version(spelling))
    return ""


def _spellings(name: str) -> Iterator[str]:
    yield name
    yield name.replace("_", "-")
