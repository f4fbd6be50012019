"""Rows of a FlagGems-shaped benchmark, joined by the number's id and by nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import pytest

from flagkit.parsers.flagkit_journal import flagkit_parser
from flagkit.parsers.reading import read_log

if TYPE_CHECKING:
    from pathlib import Path

BASE = '''
"""A made benchmark in FlagGems' shape: metrics, result, benchmark; no torch."""
import dataclasses, time


@dataclasses.dataclass
class BenchmarkMetrics:
    legacy_shape: object = None
    shape_detail: object = None
    latency_base: object = None
    latency: object = None
    gbps_base: object = None
    gbps: object = None
    speedup: object = None
    tflops: object = None
    error_msg: object = None


@dataclasses.dataclass
class BenchmarkResult:
    op_name: str
    dtype: str
    mode: str
    level: str
    result: list

    def __str__(self):
        rows = "".join(
            f"{'SUCCESS':<10}{'N/A':>20}{m.latency:>20.6f}{'N/A':>20}{' ' * 10}{m.shape_detail}\\n"
            for m in self.result
        )
        return (
            f"\\nOperator: {self.op_name}  Performance Test (dtype={self.dtype}, "
            f"mode={self.mode},level={self.level})\\n"
            "Status       Torch Latency (ms)    Gems Latency (ms)         Gems Speedup"
            "          Size Detail\\n" + "-" * 95 + "\\n" + rows
        )


class Benchmark:
    def __init__(self, op_name, shapes):
        self.op_name, self.shapes = op_name, shapes

    def record_shapes(self, *args):
        return list(args)

    def get_input_iter(self, dtype):
        yield from self.shapes

    def get_latency(self, shape):
        raise NotImplementedError

    def run(self):
        for dtype in ("made.float16", "made.float32"):
            metrics = []
            for shape in self.get_input_iter(dtype):
                metric = BenchmarkMetrics()
                metric.shape_detail = self.record_shapes([shape], {"dim": 1})
                metric.latency = self.get_latency(shape)
                metrics.append(metric)
            print(BenchmarkResult(self.op_name, dtype, "kernel", "core", metrics))
'''

OTHER = '''
"""Another program's class, of a name that FlagGems uses too."""
import dataclasses


@dataclasses.dataclass
class BenchmarkResult:
    total: int
'''

TESTS = '''
import dataclasses
import gc
import sys
import weakref
import pytest
import other
from base import Benchmark, BenchmarkMetrics, BenchmarkResult

made = []


class Counted(Benchmark):
    """Rows that call the timer once, never, and three times."""

    def __init__(self, timer):
        super().__init__("counted", [1, 2, 3])
        self.timer = timer

    def get_latency(self, shape):
        fn = lambda: sum(range(200))
        if shape == 1:
            return self.timer(fn)
        if shape == 2:
            return 7.0
        return sum(self.timer(fn) for _ in range(3)) / 3


class Raising(Benchmark):
    def __init__(self, timer):
        super().__init__("raising", [1, 2, 3, 4, 5])
        self.timer = timer

    def get_latency(self, shape):
        if shape == 3:
            raise RuntimeError("out of shared memory")
        return self.timer(lambda: sum(range(200)))


@pytest.fixture
def timer(flagkit_bench):
    # What a patched do_bench does: no label, the adapter knows the row.
    session = flagkit_bench._session
    return lambda fn: session.time(fn).latency


@pytest.mark.counted
def test_counted(timer):
    Counted(timer).run()


@pytest.mark.raising
def test_raising(timer):
    Raising(timer).run()


@pytest.mark.inner
def test_inner(timer):
    class Half:
        def get_input_iter(self, dtype):
            yield from self.shapes[:2]

    class Inner(Half, Benchmark):
        """Made when the test runs, as several of FlagGems' are."""

        def record_shapes(self, *args):
            return ["inner", args[0]]

        def get_latency(self, shape):
            return timer((lambda: 1 / 0) if shape == 2 else (lambda: sum(range(200))))

    made.append(weakref.ref(Inner))
    Inner("inner", [1, 2, 3]).run()


@pytest.mark.inner
def test_inner_is_gone():
    sys.last_value = sys.last_exc = sys.last_traceback = None
    gc.collect()
    assert made[0]() is None


@pytest.mark.scaled
def test_scaled(timer):
    metric = BenchmarkMetrics(shape_detail=[1])
    metric.latency = timer(lambda: sum(range(200)))
    metric.latency *= 2
    print(BenchmarkResult("scaled", "made.float16", "kernel", "core", [metric]))


@pytest.mark.scaled
def test_a_class_of_somebody_else(timer):
    assert other.BenchmarkResult(3).total == 3
    strange = BenchmarkResult("scaled", "made.float16", "kernel", "core", [object()])
    assert strange.mode == "kernel"
'''


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    folder = tmp_path / "suite"
    folder.mkdir()
    (folder / "base.py").write_text(textwrap.dedent(BASE))
    (folder / "other.py").write_text(textwrap.dedent(OTHER))
    (folder / "test_made.py").write_text(textwrap.dedent(TESTS))
    (folder / "pytest.ini").write_text(
        "[pytest]\nmarkers =\n    counted: made\n    inner: made\n    raising: made\n    scaled: made\n"
    )
    return folder


def run_side(suite: Path, side: Path, mark: str, replay: Path | None = None) -> str:
    side.mkdir()
    config = {
        "schema": 1,
        "side": "after" if replay else "before",
        "op": mark,
        "backend": {"name": "cpu", "module": "flagkit_cpu"},
        "directory": str(side),
        "replay": str(replay) if replay else None,
    }
    (side / "agent.json").write_text(json.dumps(config))
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "test_made.py",
            "-m",
            mark,
            "-s",
            "-q",
            "-p",
            "flagkit.agent.plugin",
            "-p",
            "no:cacheprovider",
        ],
        cwd=suite,
        env={**os.environ, "FLAGKIT_AGENT_CONFIG": str(side / "agent.json")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    (side / "run.log").write_text(done.stdout + done.stderr)
    return done.stdout


def lines(side: Path, kind: str) -> list[dict[str, Any]]:
    text = (side / "measurements.jsonl").read_text()
    return [line for line in map(json.loads, text.splitlines()) if line["kind"] == kind]


def final_rows(side: Path) -> list[dict[str, Any]]:
    kept: dict[object, dict[str, Any]] = {}
    for line in lines(side, "row"):
        kept[line["id"] or line["serial"]] = line
    return list(kept.values())


def test_no_sample_lands_on_a_wrong_row(suite: Path, tmp_path: Path) -> None:
    out = run_side(suite, tmp_path / "before", "counted")
    rows = final_rows(tmp_path / "before")
    calls = {line["id"]: line for line in lines(tmp_path / "before", "call")}
    assert [(r["dtype"], r["size_detail"]) for r in rows] == [
        (dtype, f"[[{n}], {{'dim': 1}}]")
        for dtype in ("made.float16", "made.float32")
        for n in (1, 2, 3)
    ]
    assert [bool(r["id"]) for r in rows] == [True, False, False] * 2
    for row in rows:
        if row["id"]:
            assert calls[row["id"]]["size_detail"] == row["size_detail"]
            assert calls[row["id"]]["latency_ms"] == row["latency_ms"]
    assert len(calls) == 8
    assert {r["op"] for r in rows} == {"counted"} and rows[0]["level"] == "core"
    assert "resolved=host" in out and "resolved=foreign" in out


def test_rows_before_a_failure_survive_without_a_table(suite: Path, tmp_path: Path) -> None:
    out = run_side(suite, tmp_path / "before", "raising")
    assert "Performance Test" not in out
    assert [r["size_detail"] for r in final_rows(tmp_path / "before")] == [
        "[[1], {'dim': 1}]",
        "[[2], {'dim': 1}]",
    ]
    (test,) = lines(tmp_path / "before", "test")
    assert test["outcome"] == "failed" and "out of shared memory" in test["reason"]
    assert lines(tmp_path / "before", "end")[0]["exit"] == 1


def test_a_class_made_in_a_test_is_known_before_its_table(suite: Path, tmp_path: Path) -> None:
    run_side(suite, tmp_path / "before", "inner")
    calls = lines(tmp_path / "before", "call")
    label = {"op": "inner", "dtype": "made.float16"}
    assert [{name: c[name] for name in label} for c in calls] == [label, label]
    assert [c["size_detail"] for c in calls] == ["['inner', [1]]", "['inner', [2]]"]
    rows = read_log(tmp_path / "before" / "measurements.jsonl", [flagkit_parser()]).rows
    assert [(r.key.dtype, r.key.size_key, r.status) for r in rows] == [
        ("made.float16", '["inner",[1]]', "ok"),
        ("made.float16", '["inner",[2]]', "failed"),
    ]
    tests = {t["node"].partition("::")[2]: t["outcome"] for t in lines(tmp_path / "before", "test")}
    assert tests == {"test_inner": "failed", "test_inner_is_gone": "passed"}


def test_the_after_side_replays_every_plan(suite: Path, tmp_path: Path) -> None:
    run_side(suite, tmp_path / "before", "counted")
    run_side(suite, tmp_path / "after", "counted", replay=tmp_path / "before")
    before, after = lines(tmp_path / "before", "call"), lines(tmp_path / "after", "call")
    assert [c["plan"] for c in before] == [c["plan"] for c in after]
    assert all(c["flags"] == [] for c in after)


def test_the_report_keeps_apart_what_was_timed_otherwise(suite: Path, tmp_path: Path) -> None:
    switch = ("--switch", "env", "--env-set", "MADE=0,1", "--backend", "cpu")
    which = ("--suite", str(suite), "--ops", "counted raising")
    done = subprocess.run(
        [sys.executable, "-m", "flagkit", "ab", *switch, *which],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1, done.stderr
    (run,) = (tmp_path / "runs").iterdir()
    counted, raising = json.loads((run / "report.json").read_text())["reports"]
    rows = [(r["regime"], r["dtype"], r["size_key"]) for r in counted["rows"]]
    assert sorted(rows) == sorted(
        ("host/hot" if n == 1 else "foreign", f"made.float{bits}", f'[[{n}],{{"dim":1}}]')
        for bits in (16, 32)
        for n in (1, 2, 3)
    )
    assert {r["regime"]: r["rows"] for r in counted["ranges"]} == {"foreign": 4, "host/hot": 2}
    assert [r["size_key"] for r in raising["rows"]] == ['[[1],{"dim":1}]', '[[2],{"dim":1}]']
    assert all("out of shared memory" in reason for reason in raising["incomplete"])
    assert {reason.partition(":")[0] for reason in raising["incomplete"]} == {"before", "after"}


def test_a_number_that_was_changed_afterwards_is_one_foreign_row(
    suite: Path, tmp_path: Path
) -> None:
    side = tmp_path / "before"
    run_side(suite, side, "scaled")
    first, *_, last = lines(side, "row")
    assert (first["id"], last["id"]) == ("c1", None) and last["latency_ms"] > first["latency_ms"]
    (row,) = read_log(side / "measurements.jsonl", [flagkit_parser()]).rows
    assert row.regime.label == "foreign" and row.latency_ms == last["latency_ms"]


def test_classes_and_objects_of_others_end_no_test(suite: Path, tmp_path: Path) -> None:
    side = tmp_path / "before"
    out = run_side(suite, side, "scaled")
    assert {line["outcome"] for line in lines(side, "test")} == {"passed"}, out
    (note,) = lines(side, "note")
    assert note["code"] == "flaggems" and "was not read" in note["text"]
