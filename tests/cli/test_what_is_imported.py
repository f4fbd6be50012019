"""What a benchmark imports is what is found, searched and compared. The real command."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Done

BENCH = """
import pytest, flag_gems
@pytest.mark.made
def test_made(flagkit_bench):
    flagkit_bench(lambda: sum(range(1000)), dtype="int64", size_detail="[1000]")
"""


def made(folder: Path, text: str = "") -> Path:
    (folder / "flag_gems").mkdir(parents=True)
    (folder / "flag_gems" / "__init__.py").write_text(text)
    return folder


def made_suite(folder: Path, conftest: str = "") -> Path:
    folder.mkdir()
    (folder / "test_made.py").write_text(BENCH)
    (folder / "conftest.py").write_text(conftest)
    (folder / "pytest.ini").write_text("[pytest]\npythonpath = src\nmarkers =\n    made: made\n")
    return folder


def fold(flagkit: Callable[..., Done], suite: Path, var: str = "FLAGGEMS_FOLD", **env: str) -> Done:
    arguments = ("ab", "--switch", "fold", "--backend", "cpu", "--suite", suite)
    return flagkit(*arguments, "--fold-var", var, **env)


def test_the_checkout_is_searched_and_not_what_is_installed(
    flagkit: Callable[..., Done], tmp_path: Path
) -> None:
    suite = made_suite(tmp_path / "suite")
    made(suite / "src", 'NAME = "FLAGGEMS_FOLD"\n')
    assert fold(flagkit, suite).code == 0
    installed = made(tmp_path / "installed", 'NAME = "FLAGGEMS_NEWFOLD"\n')
    chatty = "import atexit\nprint('hello')\natexit.register(print, '{}')\n"
    (installed / "sitecustomize.py").write_text(chatty)
    done = fold(flagkit, suite, "FLAGGEMS_NEWFOLD", PYTHONPATH=with_path("installed"))
    assert done.code == 2 and "reads FLAGGEMS_NEWFOLD" in done.err
    assert fold(flagkit, suite, PYTHONPATH=with_path("installed")).code == 0
    for run in (tmp_path / "runs").iterdir():
        identity = json.loads((run / "campaign.json").read_text())["identity"]
        assert identity["before"]["path of flag_gems"].startswith(str(suite.resolve()))


def with_path(relative: str) -> str:
    """A relative entry before what the tests themselves need."""
    return os.pathsep.join([relative, *filter(None, [os.environ.get("PYTHONPATH")])])


def build(flagkit: Callable[..., Done], suite: Path, *paths: Path) -> Done:
    given = (
        f"--build-{arm}-path={path}" for arm, path in zip(("before", "after"), paths, strict=True)
    )
    return flagkit("ab", "--switch", "build", "--backend", "cpu", "--suite", suite, *given)


def test_two_builds_that_are_one_give_no_range(
    flagkit: Callable[..., Done], tmp_path: Path
) -> None:
    builds = [made(tmp_path / name) for name in ("one", "other")]
    assert build(flagkit, made_suite(tmp_path / "fine"), *builds).code == 0
    hidden = made_suite(tmp_path / "hidden")
    made(hidden / "src")
    done = build(flagkit, hidden, *builds)
    assert done.code == 2 and "the before side is to run" in done.err
    # A conftest is not loaded before the run; the benchmark's own process tells.
    own = made(tmp_path / "own")
    late = made_suite(tmp_path / "late", f"import sys\nsys.path.insert(0, {str(own)!r})\n")
    done = build(flagkit, late, *builds)
    assert done.code == 1 and "both sides imported flag_gems from" in done.err
    assert "%" not in done.out


def test_one_side_that_imports_another_file_gives_no_range(
    flagkit: Callable[..., Done], tmp_path: Path
) -> None:
    own = made(tmp_path / "own")
    text = f"import os, sys\nif os.environ['MADE'] == '1': sys.path.insert(0, {str(own)!r})\n"
    suite = made_suite(tmp_path / "suite", text)
    made(suite / "src")
    arguments = ("ab", "--switch", "env", "--env-set", "MADE=0,1", "--backend", "cpu")
    done = flagkit(*arguments, "--suite", suite)
    assert done.code == 1 and "path of flag_gems" in done.err
    allowed = ("--allow-diff", "path of flag_gems", "--allow-diff", "module flag_gems")
    done = flagkit(*arguments, "--suite", suite, *allowed)
    assert done.code == 0 and "after side: flag_gems was imported from" in done.out


def test_what_selects_the_device_is_no_switch(flagkit: Callable[..., Done], tmp_path: Path) -> None:
    arguments = ("ab", "--switch", "env", "--env-set", "CUDA_VISIBLE_DEVICES=0,1", "--dry-run")
    done = flagkit(*arguments, "--backend", "cuda", "--ops", "x")
    assert done.code == 2 and "CUDA_VISIBLE_DEVICES selects the device" in done.err
    done = flagkit(*arguments, "--backend", "cuda", "--ops", "x", "--allow-diff", "device")
    assert done.code == 0
    assert flagkit(*arguments, "--backend", "cpu", "--ops", "tanh").code == 0
