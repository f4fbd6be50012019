"""What each side is given, and that only the switch differs."""

from __future__ import annotations

from pathlib import Path

import pytest

from flagkit.errors import UsageError
from flagkit.experiment import sides
from flagkit.experiment.request import Request, steps
from flagkit.experiment.sides import SideSpec
from flagkit.interfaces import ArmSetup
from flagkit.suites import BenchTarget

HARNESS = Path("/runs/r/harness")


def spec(
    side: str, base: dict[str, str], env: dict[str, str | None], python: str = "py"
) -> SideSpec:
    directory = Path(f"/runs/r/gelu/{side}")
    arm = ArmSetup(env=env)
    return SideSpec(
        op="gelu",
        side=side,  # type: ignore[arg-type]
        round=1,
        arm="off",
        directory=directory,
        python=Path(python),
        command=("py",),
        cwd=Path("/gems"),
        environ=sides.environment(
            base, backend={"DEV": "0"}, arm=arm, directory=directory, harness=HARNESS
        ),
    )


def test_the_switch_and_the_private_paths_are_all_that_differs() -> None:
    base = {"HOME": "/h", "PYTHONPATH": "/mine"}
    before, after = spec("before", base, {"SW": "0"}), spec("after", base, {"SW": "1"})
    found = sides.differences(before, after, {"SW"})
    assert {(d.name, d.kind) for d in found} == {
        ("SW", "switch"),
        ("FLAGKIT_AGENT_CONFIG", "private"),
        ("TRITON_CACHE_DIR", "private"),
        ("FLAGGEMS_CACHE_DIR", "private"),
    }
    assert sides.unexplained(found, before, after, ()) == []
    assert before.environ["PYTHONPATH"] == "/runs/r/harness:/mine"
    assert before.environ["DEV"] == "0" and before.environ["HOME"] == "/h"


def test_what_would_share_tests_or_caches_is_dropped() -> None:
    dropped = ("PYTEST_ADDOPTS", "FLAGGEMS_DB_URL", "TRITON_CACHE_MANAGER")
    base = dict.fromkeys((*dropped, "TRITON_REMOTE_CACHE_BACKEND", "TRITON_KEPT"), "x")
    found = spec("before", base, {}).environ
    assert base.keys() & found.keys() == {"TRITON_KEPT"}


def test_anything_else_is_named() -> None:
    before = spec("before", {"OMP_NUM_THREADS": "1"}, {"SW": "0"})
    after = spec("after", {"OMP_NUM_THREADS": "2"}, {"SW": "1"}, python="other")
    found = sides.differences(before, after, {"SW"})
    assert sides.unexplained(found, before, after, ()) == ["OMP_NUM_THREADS", "python"]
    assert sides.unexplained(found, before, after, ("OMP_NUM_THREADS", "python")) == []


def test_an_arm_can_unset_and_outranks_everything() -> None:
    side = spec("before", {"SW": "x", "OTHER": "9"}, {"SW": None, "OTHER": "7"})
    assert "SW" not in side.environ and side.environ["OTHER"] == "7"


def test_what_selects_the_device_is_no_switch() -> None:
    with pytest.raises(UsageError, match=r"DEV selects the device.*--allow-diff device"):
        spec("before", {}, {"DEV": "7"})
    arm = ArmSetup(env={"DEV": "7"})
    environ = sides.environment(
        {}, backend={"DEV": "0"}, arm=arm, directory=HARNESS, harness=HARNESS, allowed=["device"]
    )
    assert environ["DEV"] == "7"


def test_a_bundled_suite_runs_from_the_harness() -> None:
    target = BenchTarget(
        op="tanh", path=Path("flagkit/x.py"), args=("-m", "tanh"), cwd=Path(), in_package=True
    )
    command = sides.command(Path("py"), target, HARNESS)
    assert command[:5] == ("py", "-m", "pytest", "/runs/r/harness/flagkit/x.py", "-m")
    assert command[-2:] == ("-p", "flagkit.agent.plugin") and "-s" in command


def test_rounds_take_turns_and_the_first_records() -> None:
    order = [(s.side, s.round) for s in steps("gelu", 3)]
    assert order == [
        ("before", 1),
        ("after", 1),
        ("after", 2),
        ("before", 2),
        ("before", 3),
        ("after", 3),
    ]


def test_a_request_survives_on_disk() -> None:
    request = Request(
        switch="env",
        backend="cpu",
        python=Path("/p"),
        ops=("a", "b:c"),
        suite=Path("/s"),
        switch_options={"set": ("A=0,1",)},
    )
    import json

    again = Request.from_json(json.loads(json.dumps(request.to_json())))
    assert again.ops == request.ops and again.suite == request.suite
    assert again.python == request.python and again.gems_root is None
