"""A tuner that slows its process: real children, the real Triton autotuner, a scripted device."""

from __future__ import annotations

import json
import os
import textwrap
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Done

pytest.importorskip("triton", reason="needs triton, which the test extra has on Linux")
pytest.importorskip("torch", reason="needs torch, which the test extra has on Linux")

BACKEND = """
    from flagkit import hookimpl
    from flagkit.interfaces import Availability
    from flagkit.testing.fakes import cuda_like

    INTERFACE, DEVICE = cuda_like()


    class Scripted:
        name = "scripted"
        summary = "a device without hardware"
        flagtree_prefix = None
        gems_vendor = None

        def probe(self, python):
            return Availability(ok=True)

        def environ(self, device):
            return {}

        def device_interface(self):
            return INTERFACE

        def is_fatal(self, exc):
            return False

        def stale_guards(self):
            return ()

        def options(self):
            return ()


    @hookimpl
    def flagkit_backend():
        return Scripted()
"""

SUITE = """
    import os
    import pathlib

    import pytest
    import scripted
    import torch
    import triton
    import triton.language as tl

    TIMED = pathlib.Path(os.environ["TRITON_CACHE_DIR"]).parent / "timed.txt"


    def own_bench(call, quantiles):
        call()
        with TIMED.open("a") as file:
            file.write("timed\\n")
        return [1.0] * 3


    @triton.autotune(
        configs=[triton.Config({"BLOCK": b}) for b in (16, 32)], key=["n"], do_bench=own_bench
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

            def run():
                double[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
                slowed = 1.05 if TIMED.exists() else 1.0
                scripted.DEVICE.kernel(20.0 * slowed)

            flagkit_bench(run, dtype="torch.float32", size_detail=f"[torch.Size([{n}])]")
"""


@pytest.fixture
def ab(flagkit: Callable[..., Done], tmp_path: Path) -> Callable[..., Done]:
    site, suite = tmp_path / "site", tmp_path / "suite"
    about = site / "scripted-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: scripted\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[flagkit.backends]\nscripted = scripted\n")
    (site / "scripted.py").write_text(textwrap.dedent(BACKEND))
    suite.mkdir()
    (suite / "test_double.py").write_text(textwrap.dedent(SUITE))
    (suite / "pytest.ini").write_text("[pytest]\nmarkers =\n    double: made\n")
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])

    def run(*args: object) -> Done:
        return flagkit(*args, TRITON_INTERPRET="1", PYTHONPATH=path)

    return run


def lines(path: Path, kind: str) -> list[dict[str, Any]]:
    return [x for x in map(json.loads, path.read_text().splitlines()) if x["kind"] == kind]


def test_both_sides_that_are_compared_replayed(ab: Callable[..., Done], tmp_path: Path) -> None:
    switch = ("--switch", "aa", "--backend", "scripted")
    done = ab("ab", *switch, "--suite", tmp_path / "suite", "--ops", "double")
    assert done.code == 0, done.err + done.out
    assert "double before, replaying" in done.err
    (run,) = (tmp_path / "runs").iterdir()
    sides = [run / "double" / name for name in ("before", "before.replayed", "after")]
    assert [(side / "caches" / "timed.txt").exists() for side in sides] == [True, False, False]
    states = [{d["state"] for d in lines(side / "tuning.jsonl", "decision")} for side in sides]
    assert states == [{"recorded"}, {"replayed"}, {"replayed"}]
    record, before, after = (
        [c["latency_ms"] for c in lines(s / "measurements.jsonl", "call")] for s in sides
    )
    assert all(slow > 1.02 * ms for slow, ms in zip(record, before, strict=True))
    assert before == after
    report = json.loads((run / "report.json").read_text())
    assert [row["speedup_percent"] for row in report["rows"]] == [0.0, 0.0]
    assert {row["regime"] for row in report["rows"]} == {"graph/hot"}
    assert {row["certificate"] for row in report["rows"]} == {"certified"}
    assert "tuned-while-measured" not in {note["code"] for note in report["notes"]}
    assert ab("verify", run).code == 0
    (run / "double" / "before.replayed" / "run.log").write_text("other")
    assert "double/before.replayed/run.log: changed" in ab("verify", run).err


def test_an_after_side_that_missed_a_decision_is_measured_anew_too(
    ab: Callable[..., Done], tmp_path: Path
) -> None:
    switch = ("--switch", "aa", "--backend", "scripted")
    assert ab("ab", *switch, "--suite", tmp_path / "suite", "--ops", "double").code == 0
    (run,) = (tmp_path / "runs").iterdir()
    tuning = run / "double" / "before" / "tuning.jsonl"
    kept = [
        line
        for line in tuning.read_text().splitlines()
        if not ((x := json.loads(line))["kind"] == "decision" and x["call"] == "c1")
    ]
    tuning.write_text("\n".join(kept) + "\n")
    (run / "double" / "after" / "receipt.json").unlink()
    done = ab("ab", "--resume", run, "--fail-on", "incomplete")
    assert done.code == 4, done.err
    report = json.loads((run / "report.json").read_text())
    assert {u["reason"] for u in report["unpaired"]} == {"config-drift"}
    assert [row["speedup_percent"] for row in report["rows"]] == [0.0]
    assert report["certificate"]["missed"] == 1
    assert "tuned-while-measured" not in {note["code"] for note in report["notes"]}
    assert "double after, replaying" in done.err
    sides = [run / "double" / name for name in ("after", "after.replayed")]
    assert [(side / "caches" / "timed.txt").exists() for side in sides] == [True, False]
    slow, quick = (
        [c["latency_ms"] for c in lines(s / "measurements.jsonl", "call")] for s in sides
    )
    assert all(one > 1.02 * other for one, other in zip(slow, quick, strict=True))
    (record,) = [
        x for x in lines(sides[0] / "record" / "tuning.jsonl", "decision") if x.get("side")
    ]
    assert (record["side"], record["state"]) == ("after", "missed")
    again = ab("report", run, "--reporter", "json").out
    assert json.loads(again)["rows"] == report["rows"]
