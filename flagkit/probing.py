"""What most backends do on the host: ask a Python in a child, pick a visible device.

Public, for third parties' backends too. Only the standard library is imported.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from typing import TYPE_CHECKING, Any

from flagkit.errors import UsageError
from flagkit.interfaces import Availability

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TIMEOUT_S = 120.0
"""A vendor's torch on a cold network drive was seen to need most of a minute to import."""

LONGEST = 300
"""Characters of a reason or fact that are kept: they end in one line for a person."""

_MARK = "flagkit-probe:"

# The answer is looked for by its mark, since imports print what they like. The empty
# path entry goes, so that a torch.py lying around in the host's folder is not asked.
_PRELUDE = f"""\
import importlib, importlib.metadata, importlib.util, json, os, platform, sys
sys.path[:] = [entry for entry in sys.path if entry]
facts = {{"python": platform.python_version()}}
def _answer(ok, reason):
    data = {{"ok": ok, "reason": reason, "facts": {{k: str(v) for k, v in facts.items()}}}}
    print("\\n{_MARK}" + json.dumps(data), flush=True)
def stop(reason):
    _answer(False, str(reason))
    os._exit(0)
def installed(name, message=""):
    if importlib.util.find_spec(name) is None:
        stop(message or name + " is not installed")
def need(name, message=""):
    installed(name, message)
    try:
        module = importlib.import_module(name)
    except BaseException as error:
        stop(name + " cannot be imported: " + type(error).__name__ + ": " + str(error))
    facts[name] = getattr(module, "__version__", "of unknown version")
    return module
def version(name):
    try:
        facts[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        facts[name] = "installed" if importlib.util.find_spec(name) else "not installed"
installed("pytest", "pytest is not installed in " + sys.executable)
version("pytest")
import inspect, pluggy
version("pluggy")
if "wrapper" not in inspect.signature(pluggy.HookimplMarker.__call__).parameters:
    stop("pluggy " + facts["pluggy"] + " in " + sys.executable + " is too old; 1.2 is needed")
"""

_EPILOGUE = '\n_answer(True, "")\nsys.stdout.flush()\nos._exit(0)\n'


def run_probe(
    python: Path,
    code: str,
    timeout: float = TIMEOUT_S,
    *,
    environ: Mapping[str, str] | None = None,
) -> Availability:
    """Run *code* in a child of *python* and say what came of it. Never raises.

    Whatever *code* asks of, pytest is asked for first: a benchmark needs it. *code* sees

    - ``need(module, message="")``: import it and note its version; if it is missing, stop
      with ``<module> is not installed`` or *message*;
    - ``installed(module, message="")``: the same without importing;
    - ``version(distribution)``: note a version, whether it is there or not;
    - ``facts``: a dictionary of what was learned;
    - ``stop(reason)``: the device cannot be used, and why.

    Code that runs to its end means yes; an exception, a crash or a time-out means no.

    :param timeout: seconds.
    :param environ: the child's whole environment; by default this process's.
    """
    try:
        child = subprocess.Popen(
            [os.fspath(python), "-c", _PRELUDE + code + _EPILOGUE],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=None if environ is None else dict(environ),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        what = getattr(error, "strerror", None) or error
        return _no(f"cannot start {python}: {what}")
    try:
        out, err = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        _kill(child)
        return _no(f"{python} did not answer within {timeout:g} s")
    except BaseException:
        _kill(child)
        raise
    return _read(out, err, child.returncode, str(python))


def visible_device(variable: str, device: int) -> str:
    """What to set *variable* to, so that *device* is the only visible one.

    Where the variable already restricts the devices, *device* counts among those left,
    as it would for a program that is started in that environment.
    """
    given = os.environ.get(variable)
    if device < 0:
        raise UsageError(f"there is no device {device}; devices are numbered from 0")
    if given is None:
        return str(device)
    left = [entry.strip() for entry in given.split(",") if entry.strip()]
    if device >= len(left):
        raise UsageError(
            f"there is no device {device}: {variable}={given!r} leaves {len(left)}, numbered from 0"
        )
    return left[device]


def _kill(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)
    with contextlib.suppress(OSError, ValueError, subprocess.TimeoutExpired):
        child.communicate(timeout=5)


def _read(out: bytes, err: bytes, status: int, python: str) -> Availability:
    for line in reversed(out.decode("utf-8", "replace").splitlines()):
        if line.startswith(_MARK):
            try:
                return _availability(json.loads(line[len(_MARK) :]))
            except (ValueError, RecursionError, AttributeError, KeyError, TypeError):
                break
    said = [line for line in err.decode("utf-8", "replace").splitlines() if line.strip()]
    if status < 0:
        return _no(f"the probe of {python} was ended by {_signal(-status)}")
    last = f": {said[-1]}" if said else ""
    return _no(f"the probe of {python} failed with exit status {status}{last}")


def _availability(data: Mapping[str, Any]) -> Availability:
    facts = {_line(key): _line(value) for key, value in data["facts"].items()}
    if data["ok"]:
        return Availability(ok=True, facts=facts)
    return Availability(ok=False, reason=_line(data["reason"]) or "no reason given", facts=facts)


def _no(reason: str) -> Availability:
    return Availability(ok=False, reason=_line(reason))


def _line(text: object) -> str:
    folded = "".join(c if c.isprintable() else " " for c in str(text))
    folded = " ".join(folded.split())
    return folded if len(folded) <= LONGEST else folded[: LONGEST - 3] + "..."


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
