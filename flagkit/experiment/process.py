"""Runs one benchmark process in a group of its own, and keeps every byte it prints."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flagkit.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

TICK_S = 0.1
GRACE_S = 5.0
"""How long an interrupted group may take to write its last lines before it is killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a process ended. ``exit`` is negative for a signal, as in :mod:`subprocess`."""

    exit: int
    seconds: float
    timed_out: bool = False
    timeout_s: float | None = None

    @property
    def problem(self) -> str:
        """What went wrong with the process itself, for people; empty if nothing."""
        if self.timed_out:
            return f"timed out after {self.timeout_s:g} s (--timeout)"
        if self.exit < 0:
            try:
                name = signal.Signals(-self.exit).name
            except ValueError:
                name = f"signal {-self.exit}"
            return f"died by {name}"
        return ""


def run_child(
    command: Sequence[str],
    *,
    environ: Mapping[str, str],
    cwd: Path,
    log: Path,
    timeout_s: float | None = None,
    tick: Callable[[], None] = lambda: None,
) -> Outcome:
    """Run *command*, stdout and stderr to *log* byte for byte; call *tick* as it runs.

    On a timeout or Ctrl-C the whole process group is ended, politely first. Ctrl-C is
    raised on. Raises :class:`RunError` if the command cannot be started or *log* written.
    """
    started = time.monotonic()
    try:
        file = log.open("xb")
    except OSError as error:
        raise RunError(f"cannot write {log}: {error.strerror or error}") from error
    with file:
        try:
            child = subprocess.Popen(
                command,
                cwd=cwd,
                env=dict(environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise RunError(f"cannot start {command[0]}: {error.strerror or error}") from error
        pump = _Pump(child, file)
        timed_out = False
        try:
            while child.poll() is None:
                if pump.error is not None:
                    break
                if timeout_s is not None and time.monotonic() - started > timeout_s:
                    timed_out = True
                    break
                tick()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(TICK_S)
        finally:
            try:
                end_group(child)
            finally:
                pump.finish()
    tick()
    if pump.error is not None:
        raise RunError(f"cannot write {log}: {pump.error.strerror or pump.error}")
    return Outcome(
        exit=child.returncode,
        seconds=time.monotonic() - started,
        timed_out=timed_out,
        timeout_s=timeout_s,
    )


class _Pump:
    """Moves the child's output into the log as it comes."""

    def __init__(self, child: subprocess.Popen[bytes], file: object) -> None:
        assert child.stdout is not None
        self.error: OSError | None = None
        self._pipe = child.stdout
        self._file = file
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while block := self._read():
            try:
                self._file.write(block)  # type: ignore[attr-defined]
                self._file.flush()  # type: ignore[attr-defined]
            except OSError as error:
                self.error = error
                return
            except ValueError:
                return  # closed: a process that left the group still writes

    def _read(self) -> bytes:
        try:
            return os.read(self._pipe.fileno(), 1 << 16)
        except (OSError, ValueError):
            return b""

    def finish(self) -> None:
        """Wait for the last bytes. The group is dead, so the pipe ends."""
        self._thread.join(GRACE_S)
        self._pipe.close()


def end_group(child: subprocess.Popen[bytes]) -> None:
    """End what is left of the child's group: interrupt, wait, kill. Idempotent.

    A second Ctrl-C ends the waiting and kills at once.
    """
    try:
        if child.poll() is None:
            _signal(child.pid, signal.SIGINT)
            try:
                child.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                _signal(child.pid, signal.SIGTERM)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(1.0)
    finally:
        _signal(child.pid, signal.SIGKILL)  # grandchildren that outlive it
        child.wait()


def _signal(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
