"""Runs the real command in a child, in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SUITE = """
    import os
    import signal
    import time

    import pytest


    def work(n):
        return lambda: sum(range(n))


    @pytest.mark.fine
    def test_fine(flagkit_bench):
        for n in (100, 200):
            flagkit_bench(work(n), dtype="int64", size_detail=f"[{n}]")


    @pytest.mark.other
    def test_other(flagkit_bench):
        flagkit_bench(work(50), dtype="int64", size_detail="[50]")


    @pytest.mark.raising
    def test_raising(flagkit_bench):
        for n in (1, 2, 3, 4, 5):
            if n == 3:
                raise RuntimeError("out of shared memory")
            flagkit_bench(work(n), dtype="int64", size_detail=f"[{n}]")


    @pytest.mark.silent
    def test_silent():
        pass


    @pytest.mark.hanging
    def test_hanging(flagkit_bench):
        flagkit_bench(work(10), dtype="int64", size_detail="[10]")
        time.sleep(600)


    @pytest.mark.dying
    def test_dying(flagkit_bench):
        flagkit_bench(work(10), dtype="int64", size_detail="[10]")
        os.kill(os.getpid(), signal.SIGSEGV)


    @pytest.mark.onesided
    def test_onesided(flagkit_bench):
        size = os.environ["MADE"]
        flagkit_bench(work(10), dtype="int64", size_detail=f"[{size}]")


    @pytest.mark.changing
    def test_changing(flagkit_bench):
        flagkit_bench(work(10), dtype="int64", size_detail="[1]")
        os.environ["MADE"] = "7"
        flagkit_bench(work(10), dtype="int64", size_detail="[2]")
"""
MARKS = ["fine", "other", "raising", "silent", "hanging", "dying", "onesided", "changing"]


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


@pytest.fixture
def flagkit(tmp_path: Path) -> Callable[..., Done]:
    def run(*args: object, timeout: float = 120, **environ: str) -> Done:
        done = subprocess.run(
            [sys.executable, "-m", "flagkit", *map(str, args)],
            cwd=tmp_path,
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), **environ},
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert "Traceback" not in done.stderr + done.stdout, done.stderr
        return Done(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    folder = tmp_path / "suite"
    folder.mkdir()
    (folder / "test_made.py").write_text(textwrap.dedent(SUITE))
    marks = "\n".join(f"    {mark}: made" for mark in MARKS)
    (folder / "pytest.ini").write_text(f"[pytest]\nmarkers =\n{marks}\n")
    return folder


@pytest.fixture
def ab(flagkit: Callable[..., Done], suite: Path) -> Callable[..., Done]:
    def run(ops: str, *args: object, timeout: float = 120) -> Done:
        return flagkit(
            *("ab", "--switch", "env", "--env-set", "MADE=0,1", "--backend", "cpu"),
            *("--suite", suite, "--ops", ops, *args),
            timeout=timeout,
        )

    return run
