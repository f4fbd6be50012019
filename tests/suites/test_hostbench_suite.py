"""The bundled suite: its tables, its tuner, its way without flagkit's plug-in."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from flagkit.errors import UsageError
from flagkit.suites import parse_op, resolve
from flagkit.suites.hostbench import suite
from flagkit.suites.hostbench.rows import bench
from flagkit.suites.hostbench.table import Table
from flagkit.suites.hostbench.tuner import ChunkTuner, best_time

ROOT = Path(importlib.util.find_spec("flagkit").origin).parents[1]
OPS = ["add", "cumsum", "exp", "gelu", "log", "matmul", "max", "sort", "sqrt", "sum", "tanh"]


def test_operators():
    assert suite().operators() == OPS


def test_it_is_run_from_the_copied_harness():
    target = resolve(parse_op("tanh"), suite=suite())
    assert target.in_package
    assert not target.path.is_absolute()
    assert not target.cwd.is_absolute()
    assert (ROOT / target.path).is_file()
    assert target.path.parts[0] == "flagkit"
    assert target.args == ("-m", "tanh")


@pytest.mark.parametrize("text", ["tanh:hostbench", "tanh:test_hostbench.py"])
def test_its_file_may_be_named(text):
    assert resolve(parse_op(text), suite=suite()).path.name == "test_hostbench.py"


@pytest.mark.parametrize("text", ["sinh", "tanh:/etc/test_x.py", "sinh:hostbench"])
def test_what_it_has_not(text):
    with pytest.raises(UsageError):
        resolve(parse_op(text), suite=suite())


def test_the_suite_is_found_without_numpy():
    code = (
        "import sys\nfrom flagkit.suites.hostbench import suite\nsuite().operators()\n"
        "print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_table_is_flaggems():
    table = Table(op="tanh", dtype="float32")
    table.add(0.0123456789, "[[16384]]")
    table.fail("[[65536]]")
    columns = (
        "Status       Torch Latency (ms)    Gems Latency (ms)         Gems Speedup"
        "          Size Detail"
    )
    assert table.text().split("\n") == [
        "",
        "Operator: tanh  Performance Test (dtype=float32, mode=host,level=core)",
        columns,
        "-" * (len(columns) + 1),
        "SUCCESS                    N/A            0.012346                 N/A          [[16384]]",
        "FAILED                     N/A                 N/A                 N/A          [[65536]]",
        "",
    ]


class TestChunkTuner:
    def test_the_fastest_once_a_key(self):
        costs, timed = {1: 3.0, 2: 1.0, 4: 2.0}, []
        tuner = ChunkTuner("op", (1, 2, 4), bench=lambda fn: costs[fn()])

        def run(chunk):
            timed.append(chunk)
            return chunk

        assert [tuner.best("a", run), tuner.best("a", run)] == [2, 2]
        assert timed == [1, 2, 4]
        tuner.best("b", run)
        assert timed == [1, 2, 4, 1, 2, 4]
        assert tuner.cache == {"a": 2, "b": 2}

    def test_best_time(self):
        calls = []
        assert best_time(lambda: calls.append(1), repeats=3) >= 0
        assert len(calls) == 4


class TestInAProcess:
    """In a real pytest, with only the harness on the path."""

    @pytest.fixture(autouse=True)
    def _needs_numpy(self):
        pytest.importorskip("numpy")

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        environ = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "FLAGKIT"))}
        environ["PYTHONPATH"] = str(ROOT)
        path = ROOT / resolve(None, suite=suite()).path
        return subprocess.run(
            [sys.executable, "-m", "pytest", str(path), "-s", "-p", "no:cacheprovider", *args],
            capture_output=True,
            text=True,
            env=environ,
            timeout=120,
            check=False,
        )

    def test_without_the_plug_in(self):
        done = self.run("-m", "gelu or sum")
        assert done.returncode == 0, done.stdout + done.stderr
        titles = re.findall(
            r"^Operator: (\w+)  Performance Test \(dtype=(\w+)", done.stdout, re.MULTILINE
        )
        assert titles == [(op, dtype) for op in ("gelu", "sum") for dtype in ("float32", "float64")]
        rows = re.findall(
            r"^SUCCESS {20}N/A +(\d+\.\d{6}) +N/A {10}(\[\[.*\]\])$", done.stdout, re.MULTILINE
        )
        assert len(rows) == 12
        assert all(float(latency) > 0 for latency, _ in rows)


class TestTables:
    def test_rows_before_a_failure_are_printed(self, capsys):
        seen = []

        def timer(fn, **named):
            seen.append(named)
            if len(seen) == 3:
                raise RuntimeError("third")
            return 0.5

        with pytest.raises(RuntimeError, match="third"):
            bench(timer, "exp", lambda x: x, ((1,), (2,), (3,)), make=lambda *_: 0)
        assert seen[0] == {"op": "exp", "dtype": "float32", "size_detail": "[[1]]"}
        rows = [line.split() for line in capsys.readouterr().out.splitlines()[4:7]]
        assert [row[0] for row in rows] == ["SUCCESS", "SUCCESS", "FAILED"]
        assert rows[2][-1] == "[[3]]"

    def test_the_regime_is_told_before_the_table(self, capsys):
        class Timer:
            def __call__(self, fn, **named):
                return 0.5

            def regime_line(self, latency, op):
                return f"how {op} was timed"

        bench(Timer(), "add", lambda x, y: x, ((2,),), make=lambda *_: 0, inputs=2)
        lines = capsys.readouterr().out.splitlines()
        assert lines[:3] == [
            "how add was timed",
            "",
            "Operator: add  Performance Test (dtype=float32, mode=host,level=core)",
        ]
        assert lines[5].endswith("[[2], [2]]")
