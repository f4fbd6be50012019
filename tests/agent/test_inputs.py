"""What a call works on: reached, fingerprinted, digested, without computing on it."""

from __future__ import annotations

import functools
import random
import subprocess
import sys
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagkit.agent.arrays import CHUNK, runs
from flagkit.agent.inputs import Generators, inspect_call, seed_all
from flagkit.agent.reach import MAX_DEPTH, reach
from flagkit.testing.fakes import cuda_like

torch = pytest.importorskip("torch")

MODULE_ARRAY = np.arange(4.0)
MODULE_TABLE = {"weights": [np.zeros(3)]}


def _uses_module_names() -> Any:
    return [MODULE_ARRAY + MODULE_TABLE["weights"][0].sum() for _ in range(1)]


class _Layer:
    def __init__(self, weight: Any) -> None:
        self.weight = weight

    def forward(self) -> Any:
        return self.weight


class _Slotted:
    __slots__ = ("weight",)

    def __init__(self, weight: Any) -> None:
        self.weight = weight


def _closure(value: Any) -> Any:
    return lambda: value


REACHED = {
    "closure": _closure,
    "list": lambda a: _closure([1, a]),
    "tuple in dict": lambda a: _closure({"x": (a,)}),
    "default": lambda a: lambda x=a: x,
    "keyword default": lambda a: lambda *, x=a: x,
    "partial": lambda a: functools.partial(np.add, a, 1),
    "partial keyword": lambda a: functools.partial(np.sum, a=a),
    "bound method": lambda a: _Layer(a).forward,
    "attribute": lambda a: _closure(_Layer(a)),
    "slot": lambda a: _closure(_Slotted(a)),
    "namespace": lambda a: _closure(SimpleNamespace(a=a)),
    "closure of a closure": lambda a: _closure(_closure(a)),
    "wrapped": lambda a: functools.wraps(_closure(a))(_closure(_closure(a))),
}


@pytest.mark.parametrize("way", REACHED)
@pytest.mark.parametrize("make", [lambda: np.arange(6.0), lambda: torch.arange(6.0)])
def test_an_array_is_reached(way: str, make: Any) -> None:
    array = make()
    found = reach(REACHED[way](array))
    assert [id(each) for each in found.arrays] == [id(array)]
    assert found.unseen == 0


def test_module_level_arrays_are_reached() -> None:
    assert len(inspect_call(_uses_module_names).arrays) == 2


def test_a_layers_parameters_are_reached() -> None:
    layer = torch.nn.Linear(4, 3)
    x = torch.ones(2, 4)
    assert len(inspect_call(lambda: layer(x)).arrays) == 3


def test_each_array_counts_once() -> None:
    a = np.arange(3.0)
    assert len(reach(_closure([a, (a, {"again": a})])).arrays) == 1


def test_cycles_end() -> None:
    ring: list[Any] = []
    ring.append(ring)
    assert reach(_closure(ring)).arrays == []


def test_what_cannot_be_looked_into_is_counted() -> None:
    assert inspect_call(_closure(iter([np.zeros(2)]))).unseen == 1
    assert inspect_call(_closure(np.array([object()]))).unseen == 1
    deep: Any = np.zeros(2)
    for _ in range(MAX_DEPTH + 3):
        deep = [deep]
    assert inspect_call(_closure(deep)).unseen == 1


def test_another_librarys_tensor_is_unseen() -> None:
    class Foreign:
        def __dlpack__(self) -> None: ...

    assert inspect_call(_closure(Foreign())).unseen == 1


def test_scalars_and_names_are_no_inputs() -> None:
    inspection = inspect_call(lambda dim=1, scale=0.5, name="x", dtype=torch.float16: None)
    assert (inspection.fingerprint, inspection.digest, inspection.unseen) == ("", "", 0)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (torch.zeros(4, 2), torch.zeros(2, 4)),
        (torch.zeros(4, 2), torch.zeros(4, 2, dtype=torch.float64)),
        (torch.zeros(4, 2), torch.zeros(2, 4).t()),
        (np.zeros((4, 2)), np.zeros((4, 2), order="F")),
    ],
)
def test_the_fingerprint_tells_shapes_dtypes_and_strides(one: Any, other: Any) -> None:
    assert inspect_call(_closure(one)).fingerprint != inspect_call(_closure(other)).fingerprint


def test_values_are_in_the_digest_alone() -> None:
    one, other = inspect_call(_closure(torch.zeros(9))), inspect_call(_closure(torch.ones(9)))
    assert one.fingerprint == other.fingerprint
    assert one.digest != other.digest
    assert one.digest == inspect_call(_closure(torch.zeros(9))).digest


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e4m3fn, torch.bool, torch.int8])
def test_dtypes_that_numpy_lacks_are_read(dtype: Any) -> None:
    a, b = torch.zeros(9).to(dtype), torch.ones(9).to(dtype)
    assert inspect_call(_closure(a)).digest != inspect_call(_closure(b)).digest


@pytest.mark.parametrize("at", [0, 500_000, -1])
def test_start_middle_and_end_of_a_large_array_count(at: int) -> None:
    array = torch.zeros(1_000_001)
    before = inspect_call(_closure(array)).digest
    array[at] = 1
    assert inspect_call(_closure(array)).digest != before


def test_only_the_views_own_elements_count() -> None:
    base = torch.zeros(10, 10)
    view = base[:, ::2]
    before = inspect_call(_closure(view)).digest
    base[:, 1::2] = 7
    assert inspect_call(_closure(view)).digest == before
    base[5, 4] = 7
    assert inspect_call(_closure(view)).digest != before


@pytest.mark.parametrize(
    "view",
    [
        torch.ones(1).expand(1000),
        torch.ones(3, 1).expand(3, 4),
        torch.empty(0, 3),
        torch.tensor(5.0),
        torch.ones(2, 3, 4).permute(2, 0, 1),
        np.arange(10)[::-2],
        np.arange(12).reshape(3, 4)[::-1, ::-1],
        np.broadcast_to(np.arange(3), (4, 3)),
        np.zeros((2, 0)),
        np.array(3.0),
    ],
    ids=lambda each: f"{type(each).__name__}{tuple(each.shape)}",
)
def test_odd_layouts_are_read(view: Any) -> None:
    inspection = inspect_call(_closure(view))
    assert inspection.unseen == 0
    assert not inspection.changed()


def test_tensors_without_values_are_unseen() -> None:
    assert inspect_call(_closure(torch.empty(3, device="meta"))).unseen == 1
    assert inspect_call(_closure(torch.eye(3).to_sparse())).unseen == 1


def test_mutated_inputs_are_noticed() -> None:
    x, y = torch.ones(5), np.ones(5)
    assert not inspect_call(_closure([x, y])).changed()
    inspection = inspect_call(_closure(x))
    x.add_(0)
    assert inspection.changed()
    inspection = inspect_call(_closure(y))
    y[2] = 5
    assert inspection.changed()


def test_what_torch_counts_as_changed_is_noticed_outside_the_sample() -> None:
    x = torch.zeros(1_000_000)
    inspection = inspect_call(_closure(x))
    x[10_000] = 1
    assert inspection.changed()


def test_nothing_registered_for_the_device_is_called() -> None:
    """As inside ``use_gems``, with the CPU's key in the place of the device's."""
    from flagkit.agent import arrays

    x = torch.arange(10_000, dtype=torch.float16)
    before = inspect_call(_closure(x)).digest
    plain = arrays.device_bytes(x, 20, 40)
    called: list[str] = []
    library = torch.library.Library("aten", "IMPL")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch says that kernels are overridden
            for name in ("copy_", "_to_copy", "clone", "slice.Tensor", "view", "equal"):
                library.impl(name, lambda *a, name=name, **k: called.append(name), "CPU")
        digest, changed = inspect_call(_closure(x)).digest, inspect_call(_closure(x)).changed()
        read = arrays.device_bytes(x, 20, 40)
    finally:
        library._destroy()
    assert called == []
    assert (digest, changed, read) == (before, False, plain)


def test_the_walk_never_raises() -> None:
    class Hostile:
        def __init__(self) -> None:
            vars(self)["x"] = np.zeros(3)

        def __getattribute__(self, name: str) -> Any:
            if name == "__dict__":
                return object.__getattribute__(self, name)
            raise RuntimeError(name)

    inspection = inspect_call(_closure(Hostile()))
    assert (len(inspection.arrays), inspection.unseen) == (1, 0)


def test_inspection_leaves_generators_alone() -> None:
    x = torch.rand(3)
    before = Generators().save()
    inspect_call(lambda: torch.rand_like(x))
    assert [str(s) for _, s in before.setters] == [str(s) for _, s in Generators().save().setters]


def test_generators_are_saved_and_restored() -> None:
    interface, device = cuda_like()
    generators = Generators(interface)

    def draw() -> tuple[Any, ...]:
        return random.random(), float(np.random.rand()), float(torch.rand(1)), device.random()

    saved = generators.save()
    first = draw()
    assert draw() != first
    generators.restore(saved)
    assert draw() == first


def test_one_seed_gives_the_same_numbers() -> None:
    interface, device = cuda_like()
    drawn = []
    for _ in range(2):
        seed_all(7, interface)
        numpy_number = float(np.random.rand())
        drawn.append((random.random(), numpy_number, float(torch.rand(1)), device.random()))
    assert drawn[0] == drawn[1]


def test_a_device_not_in_use_is_not_brought_up() -> None:
    interface, _ = cuda_like()
    asked: list[str] = []
    vars(interface).update(
        is_initialized=lambda: False, get_rng_state=lambda: asked.append("state")
    )
    Generators(interface).save()
    assert asked == []


def test_a_generator_that_refuses_is_left_out() -> None:
    interface, _ = cuda_like()

    def refuse() -> None:
        raise RuntimeError("capturing")

    vars(interface).update(get_rng_state=refuse)
    Generators(interface).restore(Generators(interface).save())


def test_no_heavy_module_is_imported() -> None:
    code = (
        "import sys; from flagkit.agent.inputs import *; "
        "seed_all(1); g = Generators(); g.restore(g.save()); inspect_call(lambda: [1]); "
        "assert not {'torch', 'numpy', 'triton'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@given(
    shape=st.lists(st.integers(0, 7), max_size=4),
    steps=st.lists(st.sampled_from([-2, -1, 1, 2, 3]), min_size=4, max_size=4),
    order=st.permutations(range(4)),
    dtype=st.sampled_from(["i1", "i2", "f8"]),
)
def test_only_bytes_of_elements_are_read(
    shape: list[int], steps: list[int], order: list[int], dtype: str
) -> None:
    sizes = [max(1, n) * abs(s) for n, s in zip(shape, steps, strict=False)]
    base = np.zeros(sizes, dtype)
    view = base[(*(slice(None, None, s) for s in steps[: len(shape)]), ...)]
    view = view[(*(slice(0, n) for n in shape), ...)]
    view = view.transpose([i for i in order if i < view.ndim])
    owned = np.zeros(base.nbytes + 1, bool)
    start = view.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    for index in np.ndindex(view.shape):
        at = start + sum(i * s for i, s in zip(index, view.strides, strict=True))
        owned[at : at + view.itemsize] = True
    for run in runs(view.shape, view.strides, view.itemsize):
        for at in range(0, run.length, run.step):
            place = start + run.offset + at
            assert place >= 0
            assert owned[place : place + view.itemsize].all()


@given(total=st.integers(1, 10**7), itemsize=st.sampled_from([1, 2, 4, 8, 16]))
def test_dense_arrays_are_sampled_in_bounds(total: int, itemsize: int) -> None:
    found = runs([total], [itemsize], itemsize)
    assert sum(run.length for run in found) <= 3 * CHUNK
    assert found[0].offset == 0
    assert found[-1].offset + found[-1].length == total * itemsize
    assert all(run.offset % itemsize == 0 == run.length % itemsize for run in found)
