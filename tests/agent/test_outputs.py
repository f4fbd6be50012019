"""--check in the agent: what a call gives is kept, and nothing else changes."""

from __future__ import annotations

import json
import random
import struct
import subprocess
import sys
import warnings
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from flagkit.agent import copies as copies_module
from flagkit.agent import values as values_module
from flagkit.agent.config import AgentConfig
from flagkit.agent.copies import Copies, Uncopied
from flagkit.agent.inputs import Generators, inspect_call
from flagkit.agent.outputs import OutputCheck
from flagkit.agent.plan import PlanBook
from flagkit.agent.session import Session
from flagkit.agent.timing import Measurement, TimedCall
from flagkit.agent.values import MOST_SAMPLED, Values, spread, values
from flagkit.model import Plan, Regime

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

torch = pytest.importorskip("torch")


def kept(tmp_path: Path, fn: Callable[[], Any], **given: Any) -> dict[str, Any]:
    line = OutputCheck(tmp_path).run("c1", fn, inspect_call(fn).arrays, **given)
    json.dumps(line, allow_nan=False)
    return line


def names(line: dict[str, Any]) -> list[str]:
    assert not line["reason"]
    return [output["name"] for output in line["outputs"]]


def sampled(tmp_path: Path, output: dict[str, Any]) -> bytes:
    place = output["sample"]
    data = (tmp_path / "outputs" / "c1.bin").read_bytes()
    return data[place["offset"] : place["offset"] + place["bytes"]]


@pytest.mark.parametrize("make", [np.arange, torch.arange])
def test_a_returned_array_is_kept_whole(tmp_path: Path, make: Any) -> None:
    a = make(6.0) + 0
    line = kept(tmp_path, lambda: a * 2)
    (output,) = line["outputs"]
    assert (output["name"], output["shape"], output["reason"]) == ("returned", [6], "")
    data = np.frombuffer(sampled(tmp_path, output), output["dtype"])
    assert data.tolist() == [0, 2, 4, 6, 8, 10]
    assert output["digested"] == output["bytes"] == len(data.tobytes())
    assert "again" not in output


def test_nested_results_are_named(tmp_path: Path) -> None:
    a = torch.ones(2)
    line = kept(tmp_path, lambda: {"x": [a + 1, None], "y": (np.ones(3), "text", 4)})
    assert names(line) == ["returned['x'][0]", "returned['y'][0]", "returned['y'][2]"]


@pytest.mark.parametrize(
    ("value", "dtype", "data"),
    [
        (True, "bool", b"\1"),
        (-3, "int64", struct.pack("<q", -3)),
        (0.5, "float64", struct.pack("<d", 0.5)),
        (1 - 2j, "complex128", struct.pack("<dd", 1, -2)),
        (np.float32(0.5), "float32", struct.pack("<f", 0.5)),
        (1 << 80, "int", hex(1 << 80).encode()),
    ],
)
def test_numbers_are_outputs(tmp_path: Path, value: Any, dtype: str, data: bytes) -> None:
    line = kept(tmp_path, lambda: value)
    (output,) = line["outputs"]
    assert (output["dtype"], sampled(tmp_path, output)) == (dtype, data)


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_an_in_place_call_is_kept_and_undone(tmp_path: Path, library: str) -> None:
    a: Any = np.ones(5) if library == "numpy" else torch.ones(5)

    def fn() -> None:
        nonlocal a
        a += 1

    line = kept(tmp_path, fn)
    (output,) = line["outputs"]
    assert output["name"] == "input[0]" and output["written"] and "again" not in output
    assert np.frombuffer(sampled(tmp_path, output), output["dtype"]).tolist() == [2] * 5
    assert a.tolist() == [1] * 5


def test_an_unfilled_output_is_kept_after_the_call(tmp_path: Path) -> None:
    a, out = torch.arange(4.0), torch.full((4,), torch.nan)
    line = kept(tmp_path, lambda: torch.add(a, 1, out=out))
    assert names(line) == ["returned"]
    assert torch.isnan(out).all()


def test_an_output_that_held_the_result_already_is_kept_too(tmp_path: Path) -> None:
    a, out = np.ones(4), np.full(4, 2.0)

    def fn() -> None:
        np.add(a, 1, out=out)

    line = kept(tmp_path, fn)
    assert [output["written"] for output in line["outputs"]] == [False, False]


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_a_view_is_read_in_the_order_of_its_elements(tmp_path: Path, library: str) -> None:
    base = np.arange(12, dtype="int32").reshape(3, 4)
    a: Any = base if library == "numpy" else torch.from_numpy(base)
    line = kept(tmp_path, lambda: a.T)
    (output,) = line["outputs"]
    found = np.frombuffer(sampled(tmp_path, output), "int32").reshape(output["shape"])
    assert (found == base.T).all()


def test_a_written_view_is_put_back_alone(tmp_path: Path) -> None:
    base = np.arange(12.0).reshape(3, 4)
    view = base[::-1, ::2]

    def fn() -> None:
        view[:] = -1

    expected = base.copy()
    (output,) = kept(tmp_path, fn)["outputs"]
    assert output["shape"] == [3, 2] and (base == expected).all()


def test_a_random_call_draws_the_same_and_leaves_the_state(tmp_path: Path) -> None:
    generators = Generators()
    state = generators.save()

    def fn() -> Any:
        return random.random(), np.random.rand(3), torch.rand(3)

    line = kept(tmp_path, fn, reset=lambda: generators.restore(state))
    assert all("again" not in output for output in line["outputs"])
    first = [str(each) for each in fn()]
    generators.restore(state)
    assert [str(each) for each in fn()] == first


def test_a_call_that_does_not_repeat_is_kept_twice(tmp_path: Path) -> None:
    runs = iter(range(9))
    line = kept(tmp_path, lambda: np.full(3, next(runs)))
    (output,) = line["outputs"]
    again = output["again"]
    data = (tmp_path / "outputs" / "c1.bin").read_bytes()
    at = again["sample"]["offset"]
    assert np.frombuffer(data[at : at + again["sample"]["bytes"]], "int64").tolist() == [1] * 3
    assert again["sha256"] != output["sha256"]


def test_a_backward_call_gives_its_gradients(tmp_path: Path) -> None:
    x = torch.arange(3.0, requires_grad=True)
    y = x * x
    grad = torch.ones(3)
    (output,) = kept(tmp_path, lambda: torch.autograd.grad(y, x, grad, retain_graph=True))[
        "outputs"
    ]
    assert np.frombuffer(sampled(tmp_path, output), "float32").tolist() == [0, 2, 4]
    assert output["name"] == "returned[0]"


def test_an_accumulated_gradient_is_an_output_and_is_put_back(tmp_path: Path) -> None:
    x = torch.arange(3.0, requires_grad=True)
    y = x * x
    x.grad = held = torch.full((3,), 7.0)
    line = kept(tmp_path, lambda: y.sum().backward(retain_graph=True))
    (output,) = [each for each in line["outputs"] if each["name"].startswith("grad")]
    assert np.frombuffer(sampled(tmp_path, output), "float32").tolist() == [0, 2, 4]
    assert x.grad is held and held.tolist() == [7, 7, 7]


def test_an_output_that_is_resized_gets_its_shape_back(tmp_path: Path) -> None:
    out = torch.empty(0)
    a = torch.ones(1000)
    line = kept(tmp_path, lambda: torch.add(a, a, out=out))
    assert line["outputs"][0]["shape"] == [1000]
    assert tuple(out.shape) == (0,)
    small = torch.ones(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept(tmp_path, lambda: torch.add(a, a, out=small))
    assert small.tolist() == [1, 1, 1]


def test_read_only_memory_is_never_written(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(64))
    a = np.memmap(tmp_path / "a", dtype="uint8", mode="r")
    assert names(kept(tmp_path, lambda: a + 1)) == ["returned"]


def test_what_raises_has_a_reason_and_is_undone(tmp_path: Path) -> None:
    a = np.zeros(2)

    def fn() -> None:
        a[:] = 1
        raise RuntimeError("no\nmemory")

    line = kept(tmp_path, fn)
    assert line == {"outputs": [], "reason": "RuntimeError: no memory"}
    assert a.tolist() == [0, 0]


def test_a_dead_device_is_raised(tmp_path: Path) -> None:
    def fn() -> None:
        raise RuntimeError("dead")

    with pytest.raises(RuntimeError, match="dead"):
        OutputCheck(tmp_path, is_fatal=lambda error: True).run("c1", fn, ())


def test_memory_that_the_check_takes_fails_no_row(tmp_path: Path) -> None:
    def fn() -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 60.00 GiB.")

    device = SimpleNamespace(synchronize=lambda: None)
    check = OutputCheck(tmp_path, interface=lambda: device, is_fatal=lambda error: True)
    reason = "OutOfMemoryError: CUDA out of memory. Tried to allocate 60.00 GiB."
    assert check.run("c1", fn, ()) == {"outputs": [], "reason": reason}


def test_inputs_too_large_to_copy_have_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies_module, "MOST_HOST", 8 << 10)
    a = np.zeros(2048)
    line = kept(tmp_path, lambda: a + 1)
    assert "may be copied" in line["reason"] and not line["outputs"]


def test_an_input_that_cannot_be_copied_has_a_reason(tmp_path: Path) -> None:
    a = np.array([object()])
    assert "cannot be copied" in kept(tmp_path, lambda: a)["reason"]
    with pytest.raises(Uncopied):
        Copies([torch.eye(3).to_sparse()])


@pytest.mark.parametrize(
    "value",
    [
        np.array([object()]),
        torch.eye(2).to_sparse(),
        torch.ones(2, dtype=torch.complex64).conj(),
        torch.empty(2, device="meta"),
    ],
)
def test_an_unreadable_output_has_a_reason(tmp_path: Path, value: Any) -> None:
    check = OutputCheck(tmp_path)
    (output,) = check.run("c1", lambda: value, ())["outputs"]
    assert output["reason"] and not output["bytes"]


def test_a_large_output_is_digested_and_sampled_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values_module, "MOST_DIGESTED", 1 << 16)
    monkeypatch.setattr(values_module, "PIECE", 1 << 12)
    a = np.arange(3 * MOST_SAMPLED + 7, dtype="int32")
    (output,) = kept(tmp_path, lambda: a + 0)["outputs"]
    place = output["sample"]
    assert output["digested"] == 1 << 16 < output["bytes"]
    found = np.frombuffer(sampled(tmp_path, output), "int32")
    assert len(found) == MOST_SAMPLED == place["runs"] * place["run"]
    starts = [k * (len(a) - place["run"]) // (place["runs"] - 1) for k in range(place["runs"])]
    expected = np.concatenate([a[at : at + place["run"]] for at in starts])
    assert (found == expected).all() and found[-1] == a[-1]


def test_pieces_cover_all_or_are_spread() -> None:
    assert [*spread(10, 10, 4)] == [(0, 4), (4, 4), (8, 2)]
    assert [*spread(0, 10, 4)] == []
    assert [*spread(100, 16, 4)] == [(0, 4), (32, 4), (64, 4), (96, 4)]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64", "bool"])
def test_both_libraries_name_types_alike(dtype: str) -> None:
    found: Values = values(torch.ones(2, dtype=getattr(torch, dtype)))
    assert found.dtype == dtype
    if dtype != "bfloat16":
        assert values(np.ones(2, dtype)).dtype == dtype
    assert values(np.ones(2, ">f4")).dtype == ">f4"


class Calls:
    """A timer that runs the call as often as its plan says, and keeps what it gives."""

    def __init__(self) -> None:
        self.results: list[Any] = []

    def measure(self, call: TimedCall, plan: Plan | None) -> Measurement:
        self.results += [str(call.fn()) for _ in range(3)]
        return Measurement(
            regime=Regime(requested="host", resolved="host", cache="hot"),
            samples_ms=(1.0,),
            plan=Plan(warmup=0, unroll=1, replays=1, windows=1),
        )


class Lines:
    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def write(self, line: Any) -> None:
        self.lines.append(dict(line))


def seen(check: OutputCheck | None) -> tuple[list[Any], dict[str, Any], list[str], list[str]]:
    """What the timer sees, the call's inputs, the kinds of lines and the call's name then."""
    lines, timer, ids = Lines(), Calls(), []
    session = Session(AgentConfig(), lines, PlanBook(), make_timer=lambda: timer, check=check)
    session.begin("test")
    a, b = np.zeros(3), torch.zeros(3)

    def fn() -> Any:
        nonlocal a
        ids.append(session.next_call)
        a += random.random()
        return a, b.add_(torch.rand(3))

    session.time(fn, role="row")
    timer.results += [str(a), str(b), random.random()]
    (call,) = [line for line in lines.lines if line["kind"] == "call"]
    return timer.results, call["inputs"], [line["kind"] for line in lines.lines], ids


def test_what_is_measured_is_the_same_with_and_without(tmp_path: Path) -> None:
    plain, checked = seen(None), seen(OutputCheck(tmp_path))
    assert checked[:2] == plain[:2]
    assert (plain[2], checked[2]) == (["call"], ["outputs", "call"])
    assert {*checked[3]} == {"c1"} and len(checked[3]) == len(plain[3]) + 2


def test_nothing_is_loaded_for_it() -> None:
    code = (
        "import sys, flagkit.agent.outputs\n"
        "assert not {'numpy', 'torch', 'click', 'rich'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
