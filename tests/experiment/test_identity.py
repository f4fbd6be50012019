"""Sides that import other code are refused by name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flagkit.errors import UsageError
from flagkit.experiment.identity import ask, refuse_other_identity, revision


def made_triton(folder: Path, text: str) -> dict[str, str]:
    (folder / "triton").mkdir(parents=True)
    (folder / "triton" / "__init__.py").write_text(text)
    return {**os.environ, "PYTHONPATH": str(folder)}


def test_another_triton_is_named(tmp_path: Path) -> None:
    python = Path(sys.executable)
    one = ask(python, made_triton(tmp_path / "one", "a = 1\n"))
    other = ask(python, made_triton(tmp_path / "other", "raise SystemExit\n"))
    assert one["python"] == other["python"]
    with pytest.raises(UsageError, match=r"module triton, path of triton; .*--allow-diff"):
        refuse_other_identity(one, other, build=False)
    refuse_other_identity(one, other, build=True)
    refuse_other_identity(one, other, build=False, allowed=("module triton", "path of triton"))
    refuse_other_identity(one, one, build=False)


def test_a_python_that_cannot_be_asked_says_nothing(tmp_path: Path) -> None:
    assert ask(tmp_path / "no", {}) == {}


def test_a_checkout_tells_its_commit_and_its_changes(tmp_path: Path) -> None:
    assert revision(tmp_path / "none") == ""
    git = ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x@example.invalid"]
    subprocess.run([*git, "init", "-q"], check=True)
    (tmp_path / "a").write_text("1")
    subprocess.run([*git, "add", "a"], check=True)
    subprocess.run([*git, "commit", "-qm", "x"], check=True)
    clean = revision(tmp_path)
    assert len(clean) == 40
    (tmp_path / "a").write_text("2")
    assert revision(tmp_path) == f"{clean}+changes"
