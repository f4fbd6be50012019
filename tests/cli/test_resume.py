"""A campaign goes on only where it is as it was left, on what it was begun on."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from flagkit.experiment.lock import held

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from .conftest import Done


@pytest.fixture
def half(
    flagkit: Callable[..., Done], suite: Path, tmp_path: Path
) -> Iterator[Callable[..., tuple[Path, Done]]]:
    """A campaign without its after side; the function goes on with it."""
    (suite / "helper.py").write_text("N = 1\n")
    for name in ("one", "two"):
        (tmp_path / name / "flag_gems").mkdir(parents=True)
        (tmp_path / name / "flag_gems" / "__init__.py").write_text(f"{name!r}\n")
    common = {"MYSCALE": "1", "PYTHONPATH": with_(tmp_path / "one")}
    args = ("ab", "--switch", "aa", "--backend", "cpu", "--suite", suite, "--ops", "other")
    done = flagkit(*args, **common)
    assert done.code == 0, done.err
    (run,) = (tmp_path / "runs").iterdir()
    shutil.rmtree(run / "other" / "after")
    yield lambda *args, **more: (run, flagkit("ab", "--resume", run, *args, **common | more))


def with_(path: Path) -> str:
    import os

    return os.pathsep.join([str(path), *filter(None, [os.environ.get("PYTHONPATH")])])


def test_what_it_ran_on_must_be_the_same(
    half: Callable[..., tuple[Path, Done]], suite: Path, tmp_path: Path
) -> None:
    run, done = half(MYSCALE="3")
    assert done.code == 2 and "MYSCALE" in done.err and "--allow-diff" in done.err
    assert done.err.count("\n") == 1
    _, done = half(PYTHONPATH=with_(tmp_path / "two"))
    assert done.code == 2 and "PYTHONPATH" in done.err and "module flag_gems" in done.err
    (suite / "helper.py").write_text("N = 2\n")
    _, done = half()
    assert done.code == 2 and "helper.py: changed" in done.err
    assert not (run / "other" / "after").exists()
    _, done = half("--allow-diff", "suite", SSH_TTY="/dev/pts/9", FLAGKIT_GEMS_ROOT="x")
    assert done.code == 0, done.err
    assert "suite had changed since the campaign began" in done.out
    assert json.loads((run / "other" / "after" / "receipt.json").read_text())["differs"]


def test_it_goes_on_and_is_sealed_anew(
    half: Callable[..., tuple[Path, Done]], flagkit: Callable[..., Done]
) -> None:
    run, done = half()
    assert done.code == 0 and "had changed" not in done.out, done.err
    assert flagkit("verify", run).code == 0


def test_without_the_recording_side_all_is_run_again(
    half: Callable[..., tuple[Path, Done]],
) -> None:
    run, done = half()
    assert done.code == 0
    (run / "other" / "before" / "receipt.json").unlink()
    _, done = half()
    assert done.code == 0, done.err
    assert (run / "other" / "after.unfinished-1" / "receipt.json").is_file()


@pytest.mark.parametrize(
    "name",
    [
        "harness",
        "harness/flagkit/agent/timing.py",
        "other/before/measurements.jsonl",
        "campaign.json",
        "suite.sha256",
    ],
)
def test_what_is_finished_must_be_as_it_was_left(
    half: Callable[..., tuple[Path, Done]], tmp_path: Path, name: str
) -> None:
    (run,) = (tmp_path / "runs").iterdir()
    if (run / name).is_dir():
        shutil.rmtree(run / name)
    else:
        with (run / name).open("a") as file:
            file.write("\n")
    _, done = half()
    assert done.code == 1 and name in done.err and done.err.count("\n") == 1
    assert not (run / "other" / "after").exists()


def test_one_at_a_time(half: Callable[..., tuple[Path, Done]], tmp_path: Path) -> None:
    (run,) = (tmp_path / "runs").iterdir()
    with held(run):
        _, done = half()
    assert done.code == 1 and ".lock" in done.err and "process" in done.err
    assert not (run / "other" / "after").exists()


def test_a_single_run_has_nothing_to_go_on_with(
    flagkit: Callable[..., Done], suite: Path, tmp_path: Path
) -> None:
    done = flagkit(
        *("run", "--backend", "cpu", "--suite", suite, "--ops", "other", "--record", "one")
    )
    assert done.code == 0, done.err
    done = flagkit("ab", "--resume", "one")
    assert done.code == 2 and "flagkit run" in done.err
    assert not (tmp_path / "one" / "other" / "before").exists()
