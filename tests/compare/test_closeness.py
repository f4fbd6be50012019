"""Decoding raw values and comparing them, against numpy and torch."""

from __future__ import annotations

import cmath
import math
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagkit.compare.closeness import TOLERANCES, compare, decode, itemsize, tolerance

torch = pytest.importorskip("torch")

REAL = ["float16", "float32", "float64"]
WHOLE = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
COMPLEX = ["complex64", "complex128"]


def same(found: Any, expected: Any) -> bool:
    return len(found) == len(expected) and all(
        a == b or (cmath.isnan(a) and cmath.isnan(b)) for a, b in zip(found, expected, strict=True)
    )


@pytest.mark.parametrize("dtype", [*REAL, *WHOLE])
@given(data=st.binary(max_size=64))
def test_values_are_numpys(dtype: str, data: bytes) -> None:
    data = data[: len(data) // itemsize(dtype) * itemsize(dtype)]
    assert same(decode(dtype, data), np.frombuffer(data, dtype).tolist())


@pytest.mark.parametrize("dtype", [*COMPLEX, "bool"])
@given(seed=st.integers(0, 99))
def test_other_values_are_numpys(dtype: str, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=5).astype(dtype)
    assert [*decode(dtype, values.tobytes())] == values.tolist()


@given(data=st.binary(max_size=64))
def test_bfloat16_is_torchs(data: bytes) -> None:
    data = data[: len(data) // 2 * 2]
    if not data:
        return
    expected = torch.frombuffer(bytearray(data), dtype=torch.bfloat16).tolist()
    assert same(decode("bfloat16", data), expected)


def test_complex32_is_two_halves() -> None:
    assert [*decode("complex32", struct.pack("<4e", 1, 2, 3, -4))] == [1 + 2j, 3 - 4j]


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_tolerances_are_torchs(dtype: str) -> None:
    found = torch.testing._comparison.default_tolerances(getattr(torch, dtype))
    limit = tolerance(dtype)
    assert (limit.rtol, limit.atol) == found
    assert (tolerance("int32").rtol, tolerance("int32").atol) == (0, 0)


SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e-5, 1.0, 1.001, 65504.0, -1.0]


@pytest.mark.parametrize("dtype", [*REAL, *COMPLEX])
@given(
    values=st.lists(
        st.tuples(
            st.sampled_from(SPECIAL) | st.floats(width=16),
            st.sampled_from(SPECIAL) | st.floats(-1, 1, width=32),
            st.booleans(),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_closeness_is_numpys(dtype: str, values: list[tuple[float, float, bool]]) -> None:
    limit = tolerance(dtype)
    with np.errstate(all="ignore"):
        before = np.array([a for a, _, _ in values]).astype(dtype)
        after = np.array(
            [a * (1 + b * limit.rtol * 2) if near else b for a, b, near in values]
        ).astype(dtype)
        wide = "complex128" if dtype in COMPLEX else "float64"
        close = np.isclose(
            after.astype(wide),
            before.astype(wide),
            rtol=limit.rtol,
            atol=limit.atol,
            equal_nan=True,
        )
    found = compare(dtype, before.tobytes(), after.tobytes())
    assert found.elements == len(values)
    assert found.off == int((~close).sum())
    if found.off:
        assert not close[found.index]


@pytest.mark.parametrize("dtype", WHOLE)
@given(data=st.data())
def test_whole_numbers_are_exact(dtype: str, data: Any) -> None:
    info = np.iinfo(dtype)
    lists = st.lists(st.integers(int(info.min), int(info.max)), min_size=3, max_size=3)
    before, after = data.draw(lists), data.draw(lists)
    found = compare(dtype, np.array(before, dtype).tobytes(), np.array(after, dtype).tobytes())
    apart = [abs(a - b) for a, b in zip(before, after, strict=True)]
    assert found.off == sum(map(bool, apart))
    # The worst is told in double precision.
    assert not found.off or float(apart[found.index]) == float(max(apart))


def test_the_worst_is_the_one_that_exceeds_its_tolerance_most() -> None:
    before = np.array([100.0, 1.0, 5.0], "float32")
    after = np.array([100.1, 1.5, math.nan], "float32")
    found = compare("float32", before[:2].tobytes(), after[:2].tobytes())
    assert (found.index, found.off, found.different, found.difference) == (1, 2, 2, 0.5)
    found = compare("float32", before.tobytes(), after.tobytes())
    assert found.index == 2 and math.isnan(found.difference)


def test_huge_differences_do_not_overflow() -> None:
    big = np.array([1.7e308 + 1e300j])
    assert compare("complex128", big.tobytes(), (-big).tobytes()).off == 1


def test_an_unknown_type_cannot_be_decoded() -> None:
    assert itemsize("float8_e4m3fn") == 0
    with pytest.raises(KeyError):
        compare("float8_e4m3fn", b"\1", b"\2")
