"""Keeps the arrays a call works on, so that it can run once more than is measured.

Bytes are kept and put back as they are: nothing is computed, and on a device no operator
library stands between. Only memory that the call changed is written to on the host, since
the rest may be read-only.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from typing import TYPE_CHECKING, Any, Protocol

from flagkit.agent.arrays import Layout, device_bytes, layout, plain_copy, version
from flagkit.agent.memory import free_bytes
from flagkit.agent.values import spread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

MOST_HOST, MOST_DEVICE = 1 << 30, 8 << 30
"""Bytes that are kept for one call; on a device no more than a quarter of what is free."""

MOST_LOOKED_AT, PIECE = 16 << 20, 64 << 10
"""Bytes of an array that are looked at to tell whether the call wrote it."""


class Uncopied(Exception):
    """The arrays cannot be kept; the message says why."""


class _Memory(Protocol):
    length: int

    def now(self, offset: int, length: int) -> bytes | None: ...
    def kept(self, offset: int, length: int) -> bytes: ...
    def restore(self) -> None: ...


class Copies:
    """What *arrays* held when this was made. Raises :class:`Uncopied`.

    :param interface: the device's module, asked for free memory; None: no device.
    """

    def __init__(self, arrays: Sequence[Any], interface: Any = None) -> None:
        self._arrays = arrays
        self._versions = [version(array) for array in arrays]
        self._shapes = [_shape(array) for array in arrays]
        plans = [*_planned(arrays)]
        _check_size(plans, interface)
        self._memories = {plan.key: plan.keep() for plan in plans}
        self._parts = {
            index: (plan.key, lo - plan.start, hi - lo)
            for plan in plans
            for index, (lo, hi) in plan.parts.items()
        }

    def written(self) -> list[int]:
        """Places of the arrays that were changed since, by torch's own count or by their bytes."""
        return [index for index in range(len(self._arrays)) if self._written(index)]

    def restore(self) -> None:
        """Put everything back, in place."""
        for array, shape in zip(self._arrays, self._shapes, strict=True):
            _reshape(array, shape)
        for memory in self._memories.values():
            memory.restore()

    def _written(self, index: int) -> bool:
        if version(self._arrays[index]) != self._versions[index]:
            return True
        if index not in self._parts:
            return False
        key, start, length = self._parts[index]
        memory = self._memories[key]
        return any(
            memory.now(start + at, n) != memory.kept(start + at, n)
            for at, n in spread(length, MOST_LOOKED_AT, PIECE)
        )


class _Plan:
    """One stretch of memory to keep, and the parts of it that arrays cover."""

    def __init__(self, key: tuple[Any, ...], make: Callable[[int, int], _Memory]) -> None:
        self.key = key
        self.on_device = key[0] not in ("numpy", "cpu")
        self.parts: dict[int, tuple[int, int]] = {}
        self._make = make

    @property
    def start(self) -> int:
        return min(lo for lo, _ in self.parts.values())

    @property
    def length(self) -> int:
        return max(hi for _, hi in self.parts.values()) - self.start

    def keep(self) -> _Memory:
        return self._make(self.start, self.length)


def _planned(arrays: Iterable[Any]) -> Iterable[_Plan]:
    plans: dict[tuple[Any, ...], _Plan] = {}
    for index, array in enumerate(arrays):
        described = layout(array)
        if described.read is None:
            raise Uncopied(f"its input {index} cannot be copied ({described.kind})")
        lo, hi = _extent(described)
        if hi == lo:
            continue
        if described.kind == "numpy":
            plan = _Plan(("numpy", id(array)), _numpy_maker(array))
        else:
            storage = array.untyped_storage()
            first = int(array.storage_offset()) * described.itemsize
            lo, hi = lo + first, hi + first
            key = (array.device.type, array.device.index, int(storage.data_ptr()))
            plan = plans.get(key) or _Plan(key, _torch_maker(array, storage))
        plan.parts[index] = (lo, hi)
        plans[plan.key] = plan
    return plans.values()


def _extent(described: Layout) -> tuple[int, int]:
    """The first byte and the one behind the last, from the first element on."""
    if 0 in described.shape:
        return 0, 0
    steps = [(n - 1) * s for n, s in zip(described.shape, described.strides, strict=True)]
    lo, hi = sum(s for s in steps if s < 0), sum(s for s in steps if s > 0)
    return lo, hi + described.itemsize


def _check_size(plans: Iterable[_Plan], interface: Any) -> None:
    host = sum(plan.length for plan in plans if not plan.on_device)
    device = sum(plan.length for plan in plans if plan.on_device)
    free = free_bytes(interface) if device else 0
    most = min(MOST_DEVICE, free // 4) if free else MOST_HOST
    for size, limit in ((host, MOST_HOST), (device, most)):
        if size > limit:
            gib = 1 << 30
            raise Uncopied(
                f"its inputs take {size / gib:.1f} GiB, more than the {limit / gib:.1f} GiB "
                "that may be copied"
            )


def _numpy_maker(array: Any) -> Callable[[int, int], _Memory]:
    address = int(array.__array_interface__["data"][0])
    size = array.nbytes

    def where(start: int) -> int | None:
        same = int(array.__array_interface__["data"][0]) == address and array.nbytes == size
        return address + start if same else None

    return lambda start, length: _HostMemory(lambda: where(start), length)


def _torch_maker(tensor: Any, storage: Any) -> Callable[[int, int], _Memory]:
    if tensor.device.type != "cpu":
        return lambda start, length: _DeviceMemory(tensor, storage, start, length)

    def where(start: int, length: int) -> int | None:
        # An output that is too small is resized in place: its memory is another then.
        return int(storage.data_ptr()) + start if storage.nbytes() >= start + length else None

    return lambda start, length: _HostMemory(lambda: where(start, length), length)


class _HostMemory:
    def __init__(self, where: Callable[[], int | None], length: int) -> None:
        self.length = length
        self._where = where
        address = where()
        self._kept = ctypes.string_at(address, length) if address is not None else b""

    def now(self, offset: int, length: int) -> bytes | None:
        address = self._where()
        return None if address is None else ctypes.string_at(address + offset, length)

    def kept(self, offset: int, length: int) -> bytes:
        return self._kept[offset : offset + length]

    def restore(self) -> None:
        for at, length in _pieces(self.length):
            address, kept = self._where(), self.kept(at, length)
            if address is not None and self.now(at, length) != kept:
                ctypes.memmove(address + at, kept, length)


def _pieces(length: int, piece: int = 16 << 20) -> Iterator[tuple[int, int]]:
    return ((at, min(piece, length - at)) for at in range(0, length, piece))


class _DeviceMemory:
    def __init__(self, tensor: Any, storage: Any, start: int, length: int) -> None:
        torch = sys.modules["torch"]
        self.length = length
        self._storage, self._start = storage, start
        self._tensor = tensor
        self._copy = torch.empty(length, dtype=torch.uint8, device=tensor.device)
        with torch.no_grad():
            plain_copy(self._copy, self._flat())

    def now(self, offset: int, length: int) -> bytes | None:
        if self._storage.nbytes() < self._start + self.length:
            return None
        return device_bytes(self._flat(), self._start + offset, length)

    def kept(self, offset: int, length: int) -> bytes:
        return device_bytes(self._copy, offset, length)

    def restore(self) -> None:
        if self._storage.nbytes() >= self._start + self.length:
            with sys.modules["torch"].no_grad():
                plain_copy(self._flat(), self._copy)

    def _flat(self) -> Any:
        torch = sys.modules["torch"]
        flat = torch.empty(0, dtype=torch.uint8, device=self._tensor.device)
        flat.set_(self._storage, self._start, (self.length,), (1,))
        return flat


def _shape(array: Any) -> tuple[Any, ...] | None:
    """How a torch tensor lies on its storage, which an operator may change."""
    with contextlib.suppress(Exception):
        return (
            array.untyped_storage(),
            array.storage_offset(),
            tuple(array.shape),
            tuple(array.stride()),
        )
    return None


def _reshape(tensor: Any, shape: tuple[Any, ...] | None) -> None:
    now = _shape(tensor)
    if shape is None or now is None:
        return
    same = now[0].data_ptr() == shape[0].data_ptr() and now[1:] == shape[1:]
    if not same:
        with sys.modules["torch"].no_grad():
            tensor.set_(*shape)
