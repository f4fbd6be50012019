"""Real child processes: bytes, groups, timeouts."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from flagkit.errors import RunError
from flagkit.experiment import process
from flagkit.experiment.process import run_child

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from flagkit.experiment.process import Outcome


def child(tmp_path: Path, code: str, timeout_s: float | None = None) -> tuple[Outcome, bytes]:
    log = tmp_path / "run.log"
    outcome = run_child(
        [sys.executable, "-c", code],
        environ=dict(os.environ),
        cwd=tmp_path,
        log=log,
        timeout_s=timeout_s,
    )
    return outcome, log.read_bytes()


def test_every_byte_of_both_streams_is_kept(tmp_path: Path) -> None:
    code = (
        "import os; os.write(1, bytes(range(256)) * 400); os.write(2, b'\\xff\\r\\nend'); "
        "raise SystemExit(3)"
    )
    outcome, text = child(tmp_path, code)
    assert text == bytes(range(256)) * 400 + b"\xff\r\nend"
    assert outcome.exit == 3 and not outcome.problem


def test_a_signal_is_named(tmp_path: Path) -> None:
    outcome, _ = child(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert outcome.exit == -signal.SIGSEGV and outcome.problem == "died by SIGSEGV"


def test_a_hang_ends_with_its_whole_group(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    started = time.monotonic()
    outcome, text = child(tmp_path, code, timeout_s=1.0)
    assert outcome.timed_out and "--timeout" in outcome.problem
    assert time.monotonic() - started < 30
    grandchild = int(text.split()[0])
    assert _gone(grandchild)


def test_a_grandchild_that_outlives_the_benchmark_is_ended(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(child.pid, flush=True)\n"
    )
    outcome, text = child(tmp_path, code)
    assert outcome.exit == 0
    assert _gone(int(text.split()[0]))


def test_what_cannot_be_started_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot start"):
        run_child([str(tmp_path / "nothing")], environ={}, cwd=tmp_path, log=tmp_path / "run.log")


def test_an_existing_log_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "run.log").write_bytes(b"kept")
    with pytest.raises(RunError, match=r"run\.log"):
        child(tmp_path, "print(1)")
    assert (tmp_path / "run.log").read_bytes() == b"kept"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_is_one_line_and_ends_the_child(tmp_path: Path) -> None:
    class Full:
        def open(self, mode: str) -> object:
            return open("/dev/full", "wb", buffering=0)

        def __str__(self) -> str:
            return "run.log"

    with pytest.raises(RunError, match="No space left"):
        run_child(
            [sys.executable, "-c", "import time; print(1, flush=True); time.sleep(60)"],
            environ=dict(os.environ),
            cwd=tmp_path,
            log=Full(),  # type: ignore[arg-type]
        )


def test_what_left_the_group_and_still_writes_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "GRACE_S", 0.2)
    code = (
        "import os, time\n"
        "print('early', flush=True)\n"
        "if os.fork() == 0:\n"
        "    os.setsid(); time.sleep(1); os.write(1, b'late')\n"
    )
    threads = threading.active_count()
    outcome, text = child(tmp_path, code)
    assert outcome.exit == 0 and text == b"early\n"
    for _ in range(100):
        if threading.active_count() <= threads:
            break
        time.sleep(0.05)  # a thread that raised would be a warning, which fails the test


@pytest.fixture
def interruptible() -> Iterator[None]:
    """As on a terminal, also where a shell started the tests with interrupts ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_a_second_interrupt_kills_at_once(tmp_path: Path) -> None:
    code = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "print(os.getpid(), flush=True)\n"
        "time.sleep(60)\n"
    )
    log = tmp_path / "run.log"
    pressed: list[float] = []

    def press() -> None:
        if not pressed and log.read_bytes().endswith(b"\n"):
            pressed.append(time.monotonic())
            threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_child(
            [sys.executable, "-c", code],
            environ=dict(os.environ),
            cwd=tmp_path,
            log=log,
            tick=press,
        )
    assert time.monotonic() - pressed[0] < process.GRACE_S
    assert _gone(int(log.read_bytes()))


def _gone(pid: int) -> bool:
    for _ in range(100):
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.05)
    return False
