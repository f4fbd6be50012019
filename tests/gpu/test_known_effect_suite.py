"""The known-effect suite collects anywhere and skips, with the reason, where it cannot run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SUITE = Path(__file__).parent / "known_effect"


@pytest.mark.parametrize("agent", [[], ["-p", "flagkit.agent.plugin"]])
def test_it_skips_without_a_device(agent: list[str]) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a device: run it by flagkit ab")
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *agent, "."]
    done = subprocess.run(command, cwd=SUITE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "torch sees no CUDA device" in done.stdout
    assert "15 skipped" in done.stdout


def test_its_operators_are_found_by_mark() -> None:
    from flagkit.suites.marks import marks_in

    source = (SUITE / "test_known_effect.py").read_bytes()
    assert marks_in(source) == {"known_fma", "known_copy", "known_chain"}
