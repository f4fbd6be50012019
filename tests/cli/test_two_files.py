"""Operators of one name in several files of a suite are operators of their own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Done

MADE = """
import pytest


@pytest.mark.mul
def test_mul(flagkit_bench):
    flagkit_bench(lambda: sum(range(100)), dtype="int64", size_detail="[{size}]")


@pytest.mark.harness
def test_harness(flagkit_bench):
    flagkit_bench(lambda: sum(range(100)), dtype="int64", size_detail="[9]")
"""


@pytest.fixture
def two(tmp_path: Path) -> Path:
    folder = tmp_path / "two"
    folder.mkdir()
    for size, name in enumerate(("one", "two"), 1):
        (folder / f"test_{name}.py").write_text(MADE.replace("{size}", str(size)))
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    mul: made\n    harness: made\n")
    return folder


def test_each_file_is_run_and_reported_by_itself(
    flagkit: Callable[..., Done], two: Path, tmp_path: Path
) -> None:
    common = ("ab", "--switch", "aa", "--backend", "cpu", "--suite", two, "--ops")
    done = flagkit(*common, "mul:one mul:two mul:test_one.py")
    assert done.code == 0, done.err
    (run,) = (tmp_path / "runs").iterdir()
    reports = json.loads((run / "report.json").read_text())["reports"]
    assert [r["label"] for r in reports] == ["mul:one", "mul:two"]
    assert [[row["size_key"] for row in r["rows"]] for r in reports] == [["[1]"], ["[2]"]]
    assert {p.name for p in run.iterdir() if p.is_dir()} == {"harness", "mul@one", "mul@two"}
    again = flagkit("report", run, "--reporter", "json")
    assert [r["label"] for r in json.loads(again.out)["reports"]] == ["mul:one", "mul:two"]


def test_a_run_replays_the_same_file(
    flagkit: Callable[..., Done], two: Path, tmp_path: Path
) -> None:
    common = ("run", "--backend", "cpu", "--suite", two, "--ops")
    assert flagkit(*common, "mul:one mul:two", "--record", "both").code == 0
    for place in ("both", "both/mul@two"):
        done = flagkit(*common, "mul:two", "--replay-from", place, "--record", "x")
        assert done.code == 2  # both cannot be given
        done = flagkit(*common, "mul:two", "--replay-from", place, "--runs-dir", f"{place}.runs")
        assert done.code == 0, done.err
        (journal,) = tmp_path.glob(f"{place}.runs/*/mul/measurements.jsonl")
        calls = [json.loads(line) for line in journal.read_text().splitlines()]
        assert [c["flags"] for c in calls if c["kind"] == "call"] == [[]]
    assert flagkit(*common, "mul:one", "--record", "one").code == 0
    done = flagkit(*common, "mul:one mul:two", "--replay-from", "one")
    assert done.code == 2 and "'mul:two'" in done.err


def test_another_operators_side_is_not_replayed(
    flagkit: Callable[..., Done], suite: Path, tmp_path: Path
) -> None:
    common = ("run", "--backend", "cpu", "--suite", suite)
    assert flagkit(*common, "--ops", "other", "--record", "one").code == 0
    for place in ("one/other", "one"):
        done = flagkit(*common, "--ops", "fine", "--replay-from", place)
        assert done.code == 2 and "no run of 'fine'" in done.err, done.err
        assert not (tmp_path / "runs").exists()
