"""--check on real hardware: device tensors are read and put back by plain copies alone."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import pytest

from flagkit.agent import values as values_module
from flagkit.agent.copies import Copies, Uncopied
from flagkit.agent.inputs import Generators, inspect_call
from flagkit.agent.outputs import OutputCheck
from flagkit.agent.streams import test_stream as under_stream
from flagkit.compare.closeness import decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.gpu


@pytest.fixture
def torch() -> Iterator[Any]:
    module = pytest.importorskip("torch", reason="torch is not installed")
    if not module.cuda.is_available():
        pytest.skip("torch sees no CUDA device")
    module.manual_seed(0)
    with under_stream(module.cuda):
        yield module


@pytest.fixture
def kept(tmp_path: Path, torch: Any) -> Callable[..., dict[str, list[Any]]]:
    def run(fn: Callable[[], Any], **given: Any) -> dict[str, list[Any]]:
        check = OutputCheck(tmp_path, interface=lambda: torch.cuda)
        line = check.run("c1", fn, inspect_call(fn).arrays, **given)
        assert not line["reason"]
        data = (tmp_path / "outputs" / "c1.bin").read_bytes()
        found = {}
        for output in line["outputs"]:
            assert "again" not in output and not output["reason"]
            place = output["sample"]
            part = data[place["offset"] : place["offset"] + place["bytes"]]
            found[output["name"]] = list(decode(output["dtype"], part))
        return found

    return run


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int64", "bool"])
def test_a_returned_tensor(torch: Any, kept: Any, dtype: str) -> None:
    x = torch.arange(6, device="cuda").to(getattr(torch, dtype))
    assert kept(lambda: x.clone()) == {"returned": x.tolist()}


def test_views_are_read_in_the_order_of_their_elements(torch: Any, kept: Any) -> None:
    x = torch.arange(12.0, device="cuda").reshape(3, 4)
    found = kept(lambda: (x.t(), x[1:, ::2], x[:1].expand(2, 4)))
    expected = (x.t(), x[1:, ::2], x[:1].expand(2, 4))
    assert [*found.values()] == [each.flatten().tolist() for each in expected]


def test_what_is_written_is_kept_and_put_back(torch: Any, kept: Any) -> None:
    base = torch.arange(12.0, device="cuda").reshape(3, 4)
    expected = base.clone()
    view, out = base[1:, ::2], torch.full((4,), torch.nan, device="cuda")
    x = torch.ones(4, device="cuda")

    def fn() -> None:
        view.mul_(-1)
        torch.add(x, 1, out=out)

    found = kept(fn)
    written = [found[name] for name in sorted(found)]
    assert [-4.0, -6.0, -8.0, -10.0] in written and [2.0] * 4 in written
    assert torch.equal(base, expected) and torch.isnan(out).all()


def test_random_tensors_repeat_and_leave_the_state(torch: Any, kept: Any) -> None:
    x = torch.empty(64, device="cuda")
    torch.rand(1, device="cuda")
    generators = Generators(torch.cuda)
    state = generators.save()

    def fn() -> Any:
        return torch.rand(64, device="cuda"), x.normal_()

    found = kept(fn, reset=lambda: generators.restore(state))
    assert found["returned[0]"] == torch.rand(64, device="cuda").tolist()


def test_gradients(torch: Any, kept: Any) -> None:
    x = torch.arange(3.0, device="cuda", requires_grad=True)
    y, g = x * x, torch.ones(3, device="cuda")
    assert kept(lambda: torch.autograd.grad(y, x, g, retain_graph=True)) == {
        "returned[0]": [0, 2, 4]
    }
    assert kept(lambda: y.backward(g, retain_graph=True), grads=[x])["grad[0]"] == [0, 2, 4]
    assert x.grad is None


def test_a_large_tensor_is_read_in_parts(
    torch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values_module, "MOST_DIGESTED", 8 << 20)
    x = torch.zeros(64 << 20, device="cuda")
    check = OutputCheck(tmp_path, interface=lambda: torch.cuda)
    lines = [check.run("c1", lambda end=end: x + end, [x])["outputs"][0] for end in (0, 0, 1)]
    assert lines[0]["digested"] == 8 << 20 < lines[0]["bytes"]
    assert lines[0]["sha256"] == lines[1]["sha256"] != lines[2]["sha256"]


def test_more_than_the_device_can_spare_is_not_copied(
    torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = torch.zeros(1 << 20, device="cuda")
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (0, 0))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda: 8 << 20)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: 0)
    with pytest.raises(Uncopied, match="may be copied"):
        Copies([x], torch.cuda)


def test_no_operator_of_a_library_that_replaces_torchs_is_used(tmp_path: Path) -> None:
    """FlagGems registers its own ``copy_`` for the device; an agent's copy must not run it."""
    pytest.importorskip("torch", reason="torch is not installed")
    code = """
        import sys, torch
        from pathlib import Path
        if not torch.cuda.is_available():
            print("no device"); sys.exit()
        from flagkit.agent.outputs import OutputCheck
        x = torch.arange(12.0, device="cuda").reshape(3, 4)
        y = x.t()
        torch.cuda.synchronize()
        used = []
        library = torch.library.Library("aten", "IMPL")
        for name in ("copy_", "_to_copy", "clone", "fill_", "equal", "eq.Tensor", "zero_"):
            def stub(*args, name=name, **kwargs):
                used.append(name)
                raise AssertionError(name)
            library.impl(name, stub, "CUDA")
        check = OutputCheck(Path(sys.argv[1]), interface=lambda: torch.cuda)
        line = check.run("c1", lambda: (x.add_(1), y), [x, y])
        assert not line["reason"], line
        assert not used, used
        print("fine", len(line["outputs"]))
    """
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "no device" in done.stdout:
        pytest.skip("torch sees no CUDA device")
    assert done.stdout == "fine 2\n", done.stdout + done.stderr
