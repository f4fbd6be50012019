"""Reading a bounded sample of an array's bytes without computing on it.

Inside ``flag_gems.use_gems()`` any torch call on a device tensor may run a FlagGems
kernel, since it registers its own ``copy_``, ``_to_copy`` and hundreds more for the
device's dispatch key. So host arrays are read through their address, and device tensors
by the one thing that stays a plain copy: contiguous bytes of the storage, sent to the
host by torch's own ``copy_``, which FlagGems itself falls back to that way.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

CHUNK = 4096
"""Bytes read from each of the start, the middle and the end of an array."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Bytes to read from an array's first element on: every *step*-th item of *length* bytes."""

    offset: int
    length: int
    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """An array's shape and where its bytes are. ``strides`` are bytes.

    ``read`` gives (offset from the first element, length) as bytes; None: its values
    cannot be read.
    """

    kind: str
    dtype: str
    itemsize: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    read: Callable[[int, int], bytes] | None

    def text(self) -> str:
        """What makes two arrays alike, values aside."""
        return f"{self.kind} {self.dtype} {self.shape} {self.strides}"

    def sample(self) -> Iterator[bytes]:
        """The bytes of some elements, always the same ones for one layout."""
        if self.read is None:
            return
        for run in runs(self.shape, self.strides, self.itemsize):
            data = self.read(run.offset, run.length)
            if run.step == self.itemsize:
                yield data
            else:
                starts = range(0, run.length, run.step)
                yield b"".join(data[at : at + self.itemsize] for at in starts)


def runs(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> list[Run]:
    """Which bytes to read: the start, middle and end of dense memory, else of three rows.

    Only bytes of elements count, since what lies between the rows of a view may be
    memory that nobody ever wrote. *strides* are bytes and may be 0 or negative.
    """
    if 0 in shape or itemsize < 1:
        return []
    dims = [(n, stride) for n, stride in zip(shape, strides, strict=True) if n > 1]
    total = itemsize
    for n, stride in sorted(dims, key=lambda each: each[1]):
        if stride != total:
            return _rows(dims, itemsize)
        total *= n
    return _chunks(total, itemsize)


def _chunks(total: int, itemsize: int) -> list[Run]:
    if total <= 3 * CHUNK:
        return [Run(offset=0, length=total, step=itemsize)]
    length = max(itemsize, CHUNK // itemsize * itemsize)
    middle = (total - length) // 2 // itemsize * itemsize
    return [Run(offset=at, length=length, step=itemsize) for at in (0, middle, total - length)]


def _rows(dims: list[tuple[int, int]], itemsize: int) -> list[Run]:
    moving = [dim for dim in dims if dim[1]]
    if not moving:
        return [Run(offset=0, length=itemsize, step=itemsize)]
    inner = min(moving, key=lambda dim: abs(dim[1]))
    outer = list(moving)
    outer.remove(inner)
    step = abs(inner[1])
    count = max(1, min(inner[0], (CHUNK - itemsize) // step + 1))
    back = (count - 1) * inner[1] if inner[1] < 0 else 0
    length = (count - 1) * step + itemsize
    places = dict.fromkeys(
        sum(stride * place(n) for n, stride in outer)
        for place in (lambda n: 0, lambda n: n // 2, lambda n: n - 1)
    )
    return [Run(offset=at + back, length=length, step=step) for at in places]


def is_array(value: Any) -> bool:
    """Whether *value* is a tensor or array of a library that the benchmark has loaded."""
    return any(kind is not None and issubclass(type(value), kind) for kind in _kinds())


def layout(array: Any) -> Layout:
    """Describe *array*. Raises whatever a strange one raises."""
    tensor, ndarray = _kinds()
    if ndarray is not None and isinstance(array, ndarray):
        return _of_numpy(array)
    if tensor is None or not isinstance(array, tensor):
        raise TypeError(f"not an array: {type(array).__name__}")
    return _of_torch(array)


def version(array: Any) -> int | None:
    """torch's count of in-place changes, where the array has one."""
    with contextlib.suppress(Exception):
        return int(array._version)
    return None


def _kinds() -> tuple[Any, Any]:
    return (
        getattr(sys.modules.get("torch"), "Tensor", None),
        getattr(sys.modules.get("numpy"), "ndarray", None),
    )


def _of_numpy(array: Any) -> Layout:
    address = int(array.__array_interface__["data"][0])
    return Layout(
        kind="numpy",
        dtype=str(array.dtype),
        itemsize=int(array.dtype.itemsize),
        shape=tuple(array.shape),
        strides=tuple(array.strides),
        read=None if array.dtype.hasobject else _from_address(address),
    )


def _of_torch(tensor: Any) -> Layout:
    dtype, shape = str(tensor.dtype), tuple(int(n) for n in tensor.shape)
    kind = f"torch.{tensor.device.type}"
    if str(tensor.layout) != "torch.strided":
        kind = f"{kind}.{tensor.layout}"
        return Layout(kind=kind, dtype=dtype, itemsize=0, shape=shape, strides=(), read=None)
    itemsize = int(tensor.element_size())
    return Layout(
        kind=kind,
        dtype=dtype,
        itemsize=itemsize,
        shape=shape,
        strides=tuple(int(n) * itemsize for n in tensor.stride()),
        read=_torch_reader(tensor, itemsize),
    )


def _torch_reader(tensor: Any, itemsize: int) -> Callable[[int, int], bytes] | None:
    where = tensor.device.type
    if where == "meta" or "FakeTensor" in type(tensor).__name__:
        return None
    if where == "cpu":
        return _from_address(int(tensor.data_ptr()))
    first = int(tensor.storage_offset()) * itemsize
    return lambda offset, length: device_bytes(tensor, first + offset, length)


def _from_address(address: int) -> Callable[[int, int], bytes]:
    return lambda offset, length: ctypes.string_at(address + offset, length)


def device_bytes(tensor: Any, start: int, length: int) -> bytes:
    """*length* bytes of *tensor*'s storage from byte *start* on, by one copy to the host.

    Same type, contiguous, other device: nothing but a copy engine is needed. The
    destination is made on the CPU by name, since a default device may be set.
    """
    torch = sys.modules["torch"]
    with torch.no_grad():
        flat = torch.empty(0, dtype=torch.uint8, device=tensor.device)
        flat.set_(tensor.untyped_storage(), start, (length,), (1,))
        host = torch.empty(length, dtype=torch.uint8, device="cpu")
        plain_copy(host, flat)
    return ctypes.string_at(host.data_ptr(), length)


def plain_copy(host: Any, flat: Any) -> None:
    """torch's own ``copy_``, past whatever is registered for the device."""
    torch = sys.modules["torch"]
    try:
        key = torch._C.DispatchKey.CompositeExplicitAutograd
        copy = torch.ops.aten.copy_.default.redispatch
        keys = torch._C.DispatchKeySet(key)
    except AttributeError:  # private names: absent in some version
        host.copy_(flat)
        return
    copy(keys, host, flat, False)
