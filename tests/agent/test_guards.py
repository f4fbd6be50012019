"""Stale skip marks: only the exact ones go, at every level, in a real pytest session."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from flagkit.agent.guards import lift
from flagkit.interfaces import StaleGuard

if TYPE_CHECKING:
    from pathlib import Path

SUITE = """
import pytest

stale = pytest.mark.skipif(True, reason="CUDA is not available")

@stale
def test_item(): pass

@stale
@pytest.mark.parametrize("n", [1, 2])
def test_param(n): pass

@pytest.mark.skipif(True, reason="CUDA is not available, really")
def test_other_reason(): pass

@pytest.mark.skip(reason="CUDA is not available")
def test_plain_skip(): pass

@stale
@pytest.mark.skipif(True, reason="needs vLLM")
def test_two_reasons(): pass

@stale
class TestIn:
    def test_one(self): pass
    def test_two(self): pass
"""

PLUGIN = """
from flagkit.agent.guards import lift
from flagkit.interfaces import StaleGuard

def pytest_collection_modifyitems(items):
    guards = [StaleGuard(file=f, reason=r, test=t) for f, r, t in {guards!r}]
    lifted, absent = lift(items, guards)
    for kind, lines in (("lifted", lifted), ("absent", absent)):
        for line in lines:
            print(kind, line)
"""


def _run(folder: Path, suite: str, guards: list[tuple[str, str, str]]) -> str:
    (folder / "test_suite.py").write_text(suite)
    (folder / "conftest.py").write_text(PLUGIN.replace("{guards!r}", repr(guards)))
    command = [sys.executable, "-m", "pytest", "-s", "-rA", "-p", "no:cacheprovider", "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout


def _passed(output: str) -> set[str]:
    passed = (line for line in output.splitlines() if line.startswith("PASSED "))
    return {line.split("::", 1)[1] for line in passed}


def test_every_level_is_lifted_and_nothing_else(tmp_path: Path) -> None:
    output = _run(tmp_path, SUITE, [("test_suite.py", "CUDA is not available", "")])
    assert _passed(output) == {
        "test_item",
        "test_param[1]",
        "test_param[2]",
        "test_plain_skip",
        "TestIn::test_one",
        "TestIn::test_two",
    }
    assert "lifted test_suite.py: skip mark 'CUDA is not available' lifted from 7 tests" in output


def test_a_guard_for_one_test_leaves_the_others(tmp_path: Path) -> None:
    output = _run(tmp_path, SUITE, [("test_suite.py", "CUDA is not available", "test_param")])
    assert _passed(output) == {"test_param[1]", "test_param[2]"}


def test_a_guard_for_one_method_leaves_its_class(tmp_path: Path) -> None:
    output = _run(tmp_path, SUITE, [("test_suite.py", "CUDA is not available", "test_one")])
    assert _passed(output) == {"TestIn::test_one"}


@pytest.mark.parametrize("test", ["", "test_a"])
def test_a_modules_mark_is_lifted(tmp_path: Path, test: str) -> None:
    suite = (
        "import pytest\n"
        "pytestmark = [pytest.mark.skipif(True, reason='CUDA device required')]\n"
        "def test_a(): pass\n"
        "def test_b(): pass\n"
    )
    output = _run(tmp_path, suite, [("test_suite.py", "CUDA device required", test)])
    assert _passed(output) == ({test} if test else {"test_a", "test_b"})


def test_a_missing_guard_is_told_only_where_its_file_was_collected(tmp_path: Path) -> None:
    guards = [("test_suite.py", "no such reason", "test_item"), ("test_fft.py", "x", "")]
    output = _run(tmp_path, SUITE, guards)
    assert "absent test_suite.py::test_item: no skip mark 'no such reason'" in output
    assert "test_fft" not in output


def test_nothing_to_do() -> None:
    assert lift([], [StaleGuard(file="test_x.py", reason="r")]) == ([], [])
