"""All of an output's bytes, in the order of its elements: digest, sample, nothing computed.

Device tensors are read as :mod:`flagkit.agent.arrays` reads them: by copies that no
operator library stands between.
"""

from __future__ import annotations

import ctypes
import hashlib
import struct
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flagkit.agent.arrays import device_bytes, is_array, layout, plain_copy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MOST_DIGESTED, PIECE = 256 << 20, 4 << 20
"""Bytes. A longer output is digested by evenly spread pieces of this many bytes in all."""

MOST_BYTES = 8 << 30
"""Of one output; a larger one is not read."""

MOST_SAMPLED, RUN = 65_536, 256
"""Elements kept as raw values: all of a small output, else evenly spread runs."""


class Unreadable(Exception):
    """An output whose values cannot be read; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """One output. ``read`` gives (offset, length) of its ``count * itemsize`` bytes.

    ``dtype`` is the name without a package; a name the host does not know is compared by
    its bytes alone.
    """

    dtype: str
    shape: tuple[int, ...]
    itemsize: int
    read: Callable[[int, int], bytes]

    @property
    def count(self) -> int:
        """How many elements."""
        count = 1
        for n in self.shape:
            count *= n
        return count

    def digest(self) -> tuple[str, int]:
        """SHA-256 over its bytes, and over how many."""
        found, covered = hashlib.sha256(), 0
        for offset, length in spread(self.count * self.itemsize, MOST_DIGESTED, PIECE):
            found.update(self.read(offset, length))
            covered += length
        return found.hexdigest(), covered

    def sample(self) -> tuple[bytes, int, int]:
        """Raw values, as so many runs of so many elements.

        Run *k* of several begins at element ``k * (count - run) // (runs - 1)``.
        """
        if self.count <= MOST_SAMPLED:
            return self.read(0, self.count * self.itemsize), 1, self.count
        runs = MOST_SAMPLED // RUN
        starts = (k * (self.count - RUN) // (runs - 1) for k in range(runs))
        parts = [self.read(at * self.itemsize, RUN * self.itemsize) for at in starts]
        return b"".join(parts), runs, RUN


def spread(total: int, most: int, piece: int) -> Iterator[tuple[int, int]]:
    """(offset, length) of the pieces to read: all up to *most* bytes, else evenly spread ones."""
    if total <= most:
        for at in range(0, total, piece):
            yield at, min(piece, total - at)
        return
    count = most // piece
    for k in range(count):
        yield k * (total - piece) // (count - 1), piece


def is_value(value: Any) -> bool:
    """Whether *value* is an array or a number."""
    return is_array(value) or _is_number(value) or issubclass(type(value), _generic())


def values(value: Any) -> Values:
    """Make *value* readable. Raises :class:`Unreadable`, or what a strange one raises."""
    if _is_number(value):
        return _of_number(value)
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
        return _of_numpy(numpy, value)
    return _of_torch(value)


def _is_number(value: Any) -> bool:
    return type(value) in (bool, int, float, complex)


def _generic() -> tuple[type, ...]:
    generic = getattr(sys.modules.get("numpy"), "generic", None)
    return (generic,) if isinstance(generic, type) else ()


def _of_number(value: bool | complex) -> Values:
    if type(value) is bool:
        return _of_bytes("bool", struct.pack("<?", value))
    if type(value) is float:
        return _of_bytes("float64", struct.pack("<d", value))
    if type(value) is complex:
        return _of_bytes("complex128", struct.pack("<dd", value.real, value.imag))
    if -(1 << 63) <= int(value.real) < 1 << 63:
        return _of_bytes("int64", struct.pack("<q", int(value.real)))
    return _of_bytes("int", hex(int(value.real))[: 1 << 16].encode())


def _of_bytes(dtype: str, data: bytes) -> Values:
    return Values(
        dtype=dtype,
        shape=(),
        itemsize=len(data),
        read=lambda offset, length: data[offset : offset + length],
    )


def _of_numpy(numpy: Any, value: Any) -> Values:
    array = numpy.asarray(value)
    if array.dtype.hasobject:
        raise Unreadable("it holds Python objects")
    if array.nbytes > MOST_BYTES:
        raise Unreadable(_too_large(array.nbytes))
    array = array if array.flags.c_contiguous else numpy.array(array, order="C")
    return Values(
        dtype=str(array.dtype.name if array.dtype.isnative else array.dtype.str),
        shape=tuple(int(n) for n in array.shape),
        itemsize=int(array.dtype.itemsize),
        read=_reader(array, int(array.__array_interface__["data"][0])),
    )


def _of_torch(tensor: Any) -> Values:
    described = layout(tensor)
    if described.read is None:
        raise Unreadable(f"its values cannot be read ({described.kind})")
    if tensor.is_quantized or tensor.is_conj() or tensor.is_neg():
        raise Unreadable("it is quantized, or a lazy conjugate or negative")
    size = described.itemsize
    for n in described.shape:
        size *= n
    if size > MOST_BYTES:
        raise Unreadable(_too_large(size))
    tensor = _dense(tensor)
    if tensor.device.type == "cpu":
        read = _reader(tensor, int(tensor.data_ptr()))
    else:
        read = _device_reader(tensor, int(tensor.storage_offset()) * described.itemsize)
    return Values(
        dtype=described.dtype.removeprefix("torch."),
        shape=described.shape,
        itemsize=described.itemsize,
        read=read,
    )


def _dense(tensor: Any) -> Any:
    """*tensor*, or its elements in their order in memory of their own."""
    if tensor.is_contiguous():
        return tensor
    torch = sys.modules["torch"]
    with torch.no_grad():
        dense = torch.empty(tuple(tensor.shape), dtype=tensor.dtype, device=tensor.device)
        plain_copy(dense, tensor)
    return dense


def _reader(array: Any, address: int) -> Callable[[int, int], bytes]:
    def read(offset: int, length: int, kept: Any = array) -> bytes:
        return ctypes.string_at(address + offset, length) if length else b""

    return read


def _device_reader(tensor: Any, first: int) -> Callable[[int, int], bytes]:
    return lambda offset, length: device_bytes(tensor, first + offset, length) if length else b""


def _too_large(size: int) -> str:
    return f"it is too large to compare ({size / (1 << 30):.1f} GiB)"
