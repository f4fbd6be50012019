"""``flagkit ab --backend musa`` from the probe to the report, on stand-ins of what it runs on.

Torch, torch_musa, Triton and FlagGems are small made packages here. torch_musa's device is
the scripted one of ``flagkit.testing.fakes``; no hardware and no real Torch is needed.
"""

from __future__ import annotations

import json
import os
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Done

STACK = {
    "torch.py": '__version__ = "2.9.0"\n',
    "torch_musa.py": '''
        """Properties as torch_musa's: without a UUID."""
        import sys
        from types import SimpleNamespace

        import torch
        from flagkit.testing.fakes import musa_like

        interface, device = musa_like()
        globals().update({k: v for k, v in vars(interface).items() if k[:2] != "__"})
        __version__ = "2.9.1"
        torch.musa = sys.modules[__name__]


        def is_available():
            return True


        def device_count():
            return 1


        def get_device_properties(number=0):
            return SimpleNamespace(name="MTT S5000", total_memory=80 << 30)


        def get_device_name(number=0):
            return "MTT S5000"
    ''',
    "triton/__init__.py": '__version__ = "3.6.0"\n',
    "triton/runtime.py": """
        import torch_musa
        from types import SimpleNamespace

        active = SimpleNamespace(get_device_interface=lambda: torch_musa)
        driver = SimpleNamespace(active=active)
    """,
    "triton/testing.py": """
        def do_bench(fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode="mean"):
            fn()
            return [0.5, 0.5] if return_mode == "all" else 0.5
    """,
    "flag_gems/__init__.py": """
        import os
        import torch

        __version__ = "5.0.0"
        vendor_name = os.environ["MADE_VENDOR"]
    """,
}

BASE = '''
    """In the shape of FlagGems' benchmark."""
    import dataclasses

    import flag_gems
    import triton.testing


    @dataclasses.dataclass
    class BenchmarkMetrics:
        shape_detail: object = None
        latency_base: object = None
        latency: object = None
        error_msg: object = None


    @dataclasses.dataclass
    class BenchmarkResult:
        op_name: str
        dtype: str
        mode: str
        level: str
        result: list


    class Benchmark:
        def __init__(self, op_name, op):
            self.op_name, self.op = op_name, op

        def record_shapes(self, *args):
            return list(args)

        def get_input_iter(self, dtype):
            yield from (64, 128)

        def run(self):
            metrics = []
            for size in self.get_input_iter("torch.float16"):
                metric = BenchmarkMetrics()
                metric.shape_detail = self.record_shapes(size)
                metric.latency = triton.testing.do_bench(
                    lambda: self.op(size), return_mode="median"
                )
                metrics.append(metric)
            BenchmarkResult(self.op_name, "torch.float16", "kernel", "core", metrics)
'''

TESTS = {
    "test_made.py": """
        import pytest
        import torch_musa
        from base import Benchmark


        @pytest.mark.softmax
        def test_softmax():
            Benchmark("softmax", lambda size: torch_musa.device.kernel(float(size))).run()


        @pytest.mark.alias
        def test_alias():
            Benchmark("alias", lambda size: None).run()


        @pytest.mark.waiting
        def test_waiting():
            def op(size):
                torch_musa.device.kernel(9.0)
                torch_musa.synchronize()

            Benchmark("waiting", op).run()


        @pytest.mark.dying
        def test_dying():
            def op(size):
                if size == 128:
                    torch_musa.device.kill("MUSA error: unspecified launch failure")
                torch_musa.device.kernel(9.0)

            Benchmark("dying", op).run()
    """,
    "test_fft.py": """
        import pytest
        import torch_musa
        from base import Benchmark


        @pytest.mark.skipif(True, reason="CUDA is not available")
        @pytest.mark.fft
        def test_perf_fft():
            Benchmark("fft", lambda size: torch_musa.device.kernel(9.0)).run()


        @pytest.mark.ifft
        def test_perf_ifft():
            Benchmark("ifft", lambda size: torch_musa.device.kernel(9.0)).run()
    """,
}

GMI = """\
#!{python}
import json, sys
if "-j" in sys.argv:
    sys.exit(1)
print("Driver Version : 3.3.5-server")
for number, heat in enumerate((27, 61)):
    print(f"GPU{{number}} 00000000:{{number}}a:00.0")
    print("    Product Name : MTT S5000")
    print("    Temperature")
    print(f"        GPU Current Temp : {{heat}}C")
"""


def write(folder: Path, files: dict[str, str]) -> None:
    for name, source in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source), encoding="utf-8")


@pytest.fixture
def ab(flagkit: Callable[..., Done], tmp_path: Path) -> Callable[..., Done]:
    """``flagkit ab --backend musa`` with the second of two devices."""
    stack, gems, tools = tmp_path / "stack", tmp_path / "gems", tmp_path / "tools"
    write(stack, STACK)
    marks = ["softmax", "alias", "waiting", "dying", "fft", "ifft"]
    ini = "[pytest]\nmarkers =\n" + "".join(f"    {mark}: made\n" for mark in marks)
    options = """
        def pytest_addoption(parser):
            for name in ("--level", "--mode"):
                parser.addoption(name)
            parser.addoption("--metrics", action="append")
            parser.addoption("--dtypes", action="append", choices=["float16"])
    """
    write(gems, {"pytest.ini": ini, "benchmark/base.py": BASE, "benchmark/conftest.py": options})
    write(gems / "benchmark", TESTS)
    tools.mkdir()
    tool = tools / "mthreads-gmi"
    tool.write_text(GMI.format(python=sys.executable), encoding="utf-8")
    tool.chmod(0o755)
    path = os.pathsep.join([str(stack), *filter(None, [os.environ.get("PYTHONPATH")])])

    def run(ops: str, *args: str, vendor: str = "mthreads") -> Done:
        return flagkit(
            *("ab", "--backend", "musa", "--switch", "aa", "--device", "1"),
            *("--gems-root", gems, "--ops", ops, *args),
            PYTHONPATH=path,
            PATH=os.pathsep.join([str(tools), os.environ.get("PATH", "")]),
            MADE_VENDOR=vendor,
        )

    return run


def loaded(tmp_path: Path, name: str) -> Any:
    (path,) = tmp_path.glob(f"runs/*/{name}")
    return json.loads(path.read_text(encoding="utf-8"))


def test_each_kind_of_row_ends_as_it_has_to(ab: Callable[..., Done], tmp_path: Path) -> None:
    done = ab("dying:made softmax:made alias:made waiting:made fft ifft:fft")
    reports = {each["label"]: each for each in loaded(tmp_path, "report.json")["reports"]}
    assert {label: [r["regime"] for r in each["rows"]] for label, each in reports.items()} == {
        "dying": ["graph/hot"],
        "softmax": ["graph/hot", "graph/hot"],
        "alias": [],
        "waiting": ["event/cold", "event/cold"],
        "fft": ["graph/hot", "graph/hot"],
        "ifft": ["graph/hot", "graph/hot"],
    }, done.err
    assert {each["reason"] for each in reports["alias"]["unpaired"]} == {"no-device-work"}
    (before, after) = reports["dying"]["unpaired"]
    assert before["reason"] == after["reason"] == "failed"
    assert "unspecified launch failure" in before["detail"]
    notes = {note["code"]: note["text"] for note in reports["fft"]["notes"]}
    assert notes["guard-lifted"].startswith("test_fft.py::test_perf_fft: skip mark")
    assert not any(note["code"].startswith("guard-") for note in reports["ifft"]["notes"])
    (log,) = tmp_path.glob("runs/*/waiting/before/run.log")
    assert "BENCHMARK_DIRECT_NO_CUDAGRAPH op=waiting phase=" in log.read_text(encoding="utf-8")


def test_the_receipt_tells_of_the_device_that_was_measured(
    ab: Callable[..., Done], tmp_path: Path
) -> None:
    done = ab("softmax:made")
    assert done.code == 0, done.err
    receipt = loaded(tmp_path, "softmax/after/receipt.json")
    assert receipt["environment"]["MUSA_VISIBLE_DEVICES"] == "1"
    assert {name: receipt["versions"][name] for name in ("torch_musa", "flag_gems")} == {
        "torch_musa": "2.9.1",
        "flag_gems": "5.0.0",
    }
    for when in ("start", "end"):
        facts = receipt["device"][when]
        assert (facts["name"], facts["tool"]) == ("MTT S5000", "mthreads-gmi")
        assert facts["state"]["temperature.gpu current temp"] == "61C"
        assert facts["state"]["driver version"] == "3.3.5-server"


def test_a_guard_stays_where_flaggems_runs_for_another_vendor(
    ab: Callable[..., Done], tmp_path: Path
) -> None:
    done = ab("fft", vendor="nvidia")
    assert done.code != 0
    assert "CUDA is not available" in done.err + done.out


def test_what_the_benchmark_does_not_take_is_said(ab: Callable[..., Done]) -> None:
    done = ab("fft", "--dtype", "float99")
    assert done.code == 1
    assert "argument --dtypes: invalid choice: 'float99'" in done.err
