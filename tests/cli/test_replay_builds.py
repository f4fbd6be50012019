"""``flagkit run --replay-from`` of another build's run, with the real Triton autotuner."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Done

pytest.importorskip("triton", reason="needs triton, which the test extra has on Linux")
pytest.importorskip("torch", reason="needs torch, which the test extra has on Linux")

SUITE = """
    import itertools

    import pytest
    import torch
    import triton
    import triton.language as tl

    ORDER = itertools.count()


    @triton.autotune(
        configs=[triton.Config({"BLOCK": b}) for b in (16, 32)],
        key=["n"],
        do_bench=lambda call, quantiles: [float(next(ORDER))] * 3,
    )
    @triton.jit
    def double(x, y, n, BLOCK: tl.constexpr):
        offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offset < n
        tl.store(y + offset, 2 * tl.load(x + offset, mask=mask), mask=mask)


    @pytest.mark.double
    def test_double(flagkit_bench):
        for n in (64, 96):
            x = torch.arange(n, dtype=torch.float32)
            y = torch.empty_like(x)
            run = lambda: double[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
            flagkit_bench(run, dtype="torch.float32", size_detail=f"[{n}]")
"""


class Bench:
    """A suite whose kernel can be edited, and two builds of a library beside it."""

    def __init__(self, flagkit: Callable[..., Done], folder: Path) -> None:
        self._flagkit = flagkit
        self.folder = folder
        self.suite = folder / "test_double.py"
        self.suite.write_text(textwrap.dedent(SUITE))
        (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    double: made\n")
        for build in ("one", "other"):
            package = folder / build / "flag_gems"
            package.mkdir(parents=True)
            (package / "__init__.py").write_text(f"build = {build!r}\n")

    def edit(self) -> None:
        """The same work in other words: another source of the same kernel."""
        text = self.suite.read_text()
        assert "2 * tl.load(x + offset, mask=mask)" in text
        self.suite.write_text(text.replace("2 * tl.load(", "2.0 * tl.load("))

    def run(self, build: str, *args: object) -> Done:
        done = self._flagkit(
            *("run", "--backend", "cpu", "--suite", self.suite, "--ops", "double", *args),
            TRITON_INTERPRET="1",
            PYTHONPATH=str(self.folder / build),
        )
        assert done.code == 0, done.err
        return done

    def states(self) -> list[str]:
        (run,) = (self.folder / "runs").iterdir()
        text = (run / "double" / "tuning.jsonl").read_text()
        lines = [json.loads(line) for line in text.splitlines()]
        return [line["state"] for line in lines if line["kind"] == "decision"]


@pytest.fixture
def bench(flagkit: Callable[..., Done], tmp_path: Path) -> Bench:
    made = Bench(flagkit, tmp_path)
    made.run("one", "--record", "recorded")
    return made


def test_another_build_s_decisions_are_carried_over_and_it_is_said(bench: Bench) -> None:
    bench.edit()
    done = bench.run("other", "--replay-from", "recorded")
    assert bench.states() == ["replayed", "replayed"]
    assert "replaying another build's run (module flag_gems, path of flag_gems differ)" in done.err
    assert "double: of 2 tuner decisions 2 carried over" in done.err


def test_within_a_build_another_source_is_tuned_anew_and_it_is_said(bench: Bench) -> None:
    bench.edit()
    done = bench.run("one", "--replay-from", "recorded")
    assert bench.states() == ["missed", "missed"]
    assert "another build" not in done.err
    assert "double: of 2 tuner decisions 2 tuned anew: " in done.err
    assert "another version of the kernel's source (2)" in done.err


def test_an_equal_replay_says_nothing_of_it(bench: Bench) -> None:
    done = bench.run("one", "--replay-from", "recorded")
    assert bench.states() == ["replayed", "replayed"]
    assert "build" not in done.err and "decisions" not in done.err


def test_a_run_that_does_not_tell_its_build_is_not_carried_over(bench: Bench) -> None:
    path = bench.folder / "recorded" / "campaign.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "identity": {}}))
    bench.edit()
    done = bench.run("other", "--replay-from", "recorded")
    assert bench.states() == ["missed", "missed"]
    assert "does not say what it was run on" in done.err
