"""What is kept of an environment, of a suite and of a request, to compare later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flagkit.errors import RunError
from flagkit.experiment.campaign import Operator
from flagkit.experiment.lock import LOCK, held
from flagkit.experiment.request import Request
from flagkit.experiment.resuming import kept_environment
from flagkit.experiment.suitesums import suite_sums, told
from flagkit.suites import BenchTarget


def test_an_environment_is_kept_without_what_nobody_may_see() -> None:
    environ = {
        "CUDA_VISIBLE_DEVICES": "0",
        "MYSCALE": "1",
        "DATABASE_PASSWORD": "x",
        "SSH_TTY": "y",
        "FLAGKIT_GEMS_ROOT": "z",
        "TERM_MADE": "1",
    }
    kept = kept_environment(environ, {"TERM_MADE": "1"})
    assert kept["shown"] == {"CUDA_VISIBLE_DEVICES": "0", "TERM_MADE": "1"}
    assert list(kept["others"]) == ["MYSCALE"]
    assert len(kept["others"]["MYSCALE"]) == 4
    assert kept_environment({"MYSCALE": "3"}, {})["others"] != kept["others"]


def operator(path: Path, *, in_package: bool = False) -> Operator:
    target = BenchTarget(op="gelu", path=path, args=(), cwd=path.parent, in_package=in_package)
    return Operator(op="gelu", label="gelu", targets={"before": target, "after": target})


def test_a_suite_is_its_sources_and_settings(tmp_path: Path) -> None:
    names = ["test_gelu.py", "lib/helper.py", "pytest.ini", "shapes.yaml"]
    others = [
        *("data.bin", ".git/x.py", "__pycache__/x.py"),
        *("venv/pyvenv.cfg", "venv/x.py", "runs/one/campaign.json", "runs/one/x.py"),
    ]
    for name in (*names, *others):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    found = suite_sums([operator(tmp_path / "test_gelu.py")])
    assert {Path(path).relative_to(tmp_path).as_posix() for path in found} == set(names)
    assert suite_sums([operator(tmp_path / "test_gelu.py", in_package=True)]) == {}
    assert told(["a: changed"]) == "a: changed"
    assert told(["a: changed", "b: added", "c: added"]) == "a: changed, and 2 more"


def test_a_directory_is_held_by_one(tmp_path: Path) -> None:
    with held(tmp_path), pytest.raises(RunError, match=r"process \d+.*\.lock"), held(tmp_path):
        pass
    with held(tmp_path):
        assert (tmp_path / LOCK).read_text().strip().isdigit()
    with pytest.raises(RunError, match="cannot write"), held(tmp_path / "none"):
        pass


GOOD = Request(switch="aa", backend="cpu", python=Path("python")).to_json()


def test_a_request_survives() -> None:
    assert Request.from_json(GOOD).to_json() == GOOD


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("ops", value) for value in (3, "gelu", [3], None, ["a\0b"])),
        *(("switch", value) for value in (3, None, ["aa"])),
        *(("rounds", value) for value in (0, 100, "1", True, None, 1.5)),
        *(("device", value) for value in (-1, "0")),
        *(("suite", value) for value in (3, [], "a\0b")),
        *(("python", value) for value in (None, {})),
        *(("switch_options", value) for value in (None, [], "x")),
        ("timeout_s", "1"),
        ("unheard_of", 1),
    ],
)
def test_a_request_somebody_wrote_is_looked_at(name: str, value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        Request.from_json({**GOOD, name: value})
