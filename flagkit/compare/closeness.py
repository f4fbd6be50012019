"""Whether two outputs agree: raw values decoded, and compared in double precision.

The rule is ``|after - before| <= atol + rtol * |before|``, with the before side as the
reference; equal infinities agree, and nan agrees with nan. The tolerances are the defaults
of ``torch.testing.assert_close`` (torch 2.x): by the output's type, a complex type's being
those of its parts.
"""

from __future__ import annotations

import cmath
import math
import struct
from array import array
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Number = complex
    """Integers and floats are complex numbers to a type checker."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far apart values may be, relative to the before side's and absolutely."""

    rtol: float
    atol: float

    def __str__(self) -> str:
        return f"rtol {self.rtol:g} atol {self.atol:g}"


EXACT = Tolerance(0.0, 0.0)
_HALF, _BRAIN = Tolerance(1e-3, 1e-5), Tolerance(1.6e-2, 1e-5)
_SINGLE, _DOUBLE = Tolerance(1.3e-6, 1e-5), Tolerance(1e-7, 1e-7)

TOLERANCES = {
    "float16": _HALF,
    "bfloat16": _BRAIN,
    "float32": _SINGLE,
    "float64": _DOUBLE,
    "complex32": _HALF,
    "complex64": _SINGLE,
    "complex128": _DOUBLE,
}
"""By type; any other type has to be equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Closeness:
    """What comparing *elements* values gave: how many are out of tolerance, and the worst.

    ``index``, ``before``, ``after`` and ``difference`` are of the element that exceeds its
    tolerance most, or comes nearest to it; ``different`` counts elements whose bytes differ.
    """

    elements: int
    different: int = 0
    off: int = 0
    index: int = 0
    before: Number = 0
    after: Number = 0
    difference: float = 0.0
    allowed: float = 0.0


def tolerance(dtype: str) -> Tolerance:
    """What *dtype* is compared with."""
    return TOLERANCES.get(dtype, EXACT)


def itemsize(dtype: str) -> int:
    """Bytes of one element; 0 for a type that cannot be decoded."""
    return _TYPES[dtype][0] if dtype in _TYPES else 0


def decode(dtype: str, data: bytes) -> Sequence[Number]:
    """Little-endian *data* as numbers. Raises ``KeyError`` for a type that is not known."""
    size, unpack = _TYPES[dtype]
    return unpack(data[: len(data) // size * size])


def compare(dtype: str, before: bytes, after: bytes) -> Closeness:
    """Compare equally many elements. Raises ``KeyError`` for a type that is not known."""
    size, limit = _TYPES[dtype][0], tolerance(dtype)
    count = min(len(before), len(after)) // size
    if before == after:
        return Closeness(elements=count)
    found, worst = Closeness(elements=count), (-1.0, 0.0)
    different = off = 0
    pairs = zip(decode(dtype, before), decode(dtype, after), strict=False)
    for index, (one, other) in enumerate(pairs):
        at = index * size
        if before[at : at + size] == after[at : at + size]:
            continue
        different += 1
        difference, allowed = _apart(one, other, limit)
        excess = _excess(difference, allowed)
        off += excess > 1.0
        if (excess, difference) > worst:
            worst = (excess, difference)
            found = Closeness(
                elements=count,
                index=index,
                before=one,
                after=other,
                difference=difference,
                allowed=allowed,
            )
    return replace(found, different=different, off=off)


def _apart(one: Number, other: Number, limit: Tolerance) -> tuple[float, float]:
    """The difference and what is allowed of it; nan where one of them is no finite number."""
    if isinstance(one, int) and isinstance(other, int):
        difference = abs(one - other)
        return (float(difference) if difference < 1 << 64 else math.inf), 0.0
    if cmath.isfinite(one) and cmath.isfinite(other):
        apart, reference = complex(other) - complex(one), complex(one)
        difference_ = math.hypot(apart.real, apart.imag)
        return difference_, limit.atol + limit.rtol * math.hypot(reference.real, reference.imag)
    same = one == other or (cmath.isnan(one) and cmath.isnan(other))
    return (0.0 if same else math.nan), 0.0


def _excess(difference: float, allowed: float) -> float:
    """Above 1: out of tolerance."""
    if difference <= allowed:
        return difference / allowed if allowed and math.isfinite(allowed) else 0.0
    if math.isnan(difference) or not allowed:
        return math.inf
    return max(difference / allowed, math.nextafter(1.0, 2.0))


def _packed(code: str, size: int) -> tuple[int, Callable[[bytes], Sequence[Any]]]:
    return size, lambda data: struct.unpack(f"<{len(data) // size}{code}", data)


def _brain(data: bytes) -> Sequence[float]:
    """bfloat16 is the upper half of a float32."""
    wide = bytearray(2 * len(data))
    wide[2::4], wide[3::4] = data[0::2], data[1::2]
    return struct.unpack(f"<{len(data) // 2}f", bytes(wide))


def _complex(code: str, size: int) -> tuple[int, Callable[[bytes], Sequence[complex]]]:
    def unpack(data: bytes) -> Sequence[complex]:
        parts = struct.unpack(f"<{len(data) // size}{code}", data)
        return [complex(real, imag) for real, imag in zip(parts[0::2], parts[1::2], strict=True)]

    return 2 * size, unpack


_TYPES: dict[str, tuple[int, Callable[[bytes], Sequence[Any]]]] = {
    "float16": _packed("e", 2),
    "bfloat16": (2, _brain),
    "float32": _packed("f", 4),
    "float64": _packed("d", 8),
    "complex32": _complex("e", 2),
    "complex64": _complex("f", 4),
    "complex128": _complex("d", 8),
    # Not as bool: a byte that is neither 0 nor 1 is another value than either.
    "bool": (1, lambda data: array("B", data)),
    "int8": _packed("b", 1),
    "uint8": _packed("B", 1),
    "int16": _packed("h", 2),
    "uint16": _packed("H", 2),
    "int32": _packed("i", 4),
    "uint32": _packed("I", 4),
    "int64": _packed("q", 8),
    "uint64": _packed("Q", 8),
}
