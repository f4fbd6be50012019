"""A backend's own option, from the command line into both processes."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Done

BACKEND = """
import os
from flagkit import hookimpl
from flagkit.errors import UsageError
from flagkit.interfaces import Availability

class Lab:
    name, summary, flagtree_prefix, gems_vendor = "lab", "made for a test", None, None
    queue = "none"
    def probe(self, python):
        facts = {"queue": self.queue}
        return Availability(ok=self.queue != "shut", reason="the queue is shut", facts=facts)
    def environ(self, device): return {"LAB_QUEUE": self.queue}
    def device_interface(self): return None
    def is_fatal(self, exc): return False
    def stale_guards(self): return ()
    def options(self):
        import click
        return [click.Option(["--lab-queue"], default="main"),
                click.Option(["--lab-also"], multiple=True)]
    def configured(self, options):
        if options["queue"] == "wrong":
            raise UsageError("--lab-queue wrong: there is no such queue")
        made = Lab()
        made.queue = options["queue"]
        print("configured with", sorted(options.items()), "beside", os.environ.get("LAB_QUEUE"))
        return made

@hookimpl
def flagkit_backend(): return Lab()
"""


@pytest.fixture
def lab(flagkit: Callable[..., Done], suite: Path, tmp_path: Path) -> Callable[..., Done]:
    site = tmp_path / "site"
    info = site / "flagkit_lab-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: flagkit-lab\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[flagkit.backends]\nlab = flagkit_lab\n")
    (site / "flagkit_lab.py").write_text(BACKEND)
    paths = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])

    def run(*args: object) -> Done:
        given = ("--suite", suite, "--ops", "other") if args[0] in ("ab", "run") else ()
        return flagkit(*args, "--backend", "lab", *given, PYTHONPATH=paths, LAB_QUEUE="")

    return run


def test_both_sides_get_it_on_the_host_and_in_the_benchmark(
    lab: Callable[..., Done], tmp_path: Path
) -> None:
    done = lab(
        *("ab", "--switch", "aa", "--lab-queue", "fast", "--lab-also", "x", "--lab-also", "y")
    )
    assert done.code == 0, done.err
    (run,) = (tmp_path / "runs").iterdir()
    for side in ("before", "after"):
        config = json.loads((run / "other" / side / "agent.json").read_text())
        assert config["backend"]["options"] == {"queue": "fast", "also": ["x", "y"]}
        log = (run / "other" / side / "run.log").read_text()
        assert "configured with [('also', ['x', 'y']), ('queue', 'fast')] beside fast" in log


def test_a_single_run_and_doctor_get_its_default(lab: Callable[..., Done], tmp_path: Path) -> None:
    done = lab("run", "--record", "one")
    assert done.code == 0, done.err
    assert "('queue', 'main')" in (tmp_path / "one" / "other" / "run.log").read_text()
    done = lab("doctor")
    assert done.code == 0 and "LAB_QUEUE" in done.out and "main" in done.out


@pytest.mark.parametrize("command", [("ab", "--switch", "aa"), ("doctor",)])
def test_it_is_asked_before_anything_else(
    lab: Callable[..., Done], tmp_path: Path, command: tuple[str, ...]
) -> None:
    wrong = lab(*command, "--lab-queue", "wrong")
    assert wrong.code == 2 and wrong.err == "flagkit: --lab-queue wrong: there is no such queue\n"
    shut = lab(*command, "--lab-queue", "shut")
    assert shut.code == 1 and "the queue is shut" in shut.err + shut.out
    assert not (tmp_path / "runs").exists()
