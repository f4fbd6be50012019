"""One test an operator, each over two dtypes and three shapes.

Shapes are chosen so that a call takes from a few microseconds to a few milliseconds, with
NumPy's SIMD dispatch or without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from flagkit.suites.hostbench.rows import bench
from flagkit.suites.hostbench.tuner import ChunkTuner

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

SMALL = ((16384,), (65536,), (262144,))
LARGE = ((65536,), (262144,), (1048576,))
ROWS = ((64, 1024), (256, 1024), (1024, 1024))
SQUARE = ((128, 128), (256, 256), (384, 384))

GELU_CHUNKS = ChunkTuner("gelu", (1024, 4096, 16384, 65536))


def normal(shape: tuple[int, ...], dtype: str) -> Array:
    """From NumPy's global generator, which whoever runs the suite may seed."""
    drawn: Array = np.random.standard_normal(shape).astype(dtype)
    return drawn


def positive(shape: tuple[int, ...], dtype: str) -> Array:
    """Between 0.5 and 1.5."""
    drawn: Array = (np.random.random(shape) + 0.5).astype(dtype)
    return drawn


def gelu(x: Array) -> Array:
    """Gelu by its tanh formula, in chunks whose temporaries stay in the cache."""
    out = np.empty_like(x)

    def run(chunk: int) -> Array:
        for start in range(0, x.size, chunk):
            part = x[start : start + chunk]
            inner = part * (0.7978845608 + 0.0356774081 * part * part)
            np.multiply(0.5 * part, 1.0 + np.tanh(inner), out=out[start : start + chunk])
        return out

    return run(GELU_CHUNKS.best((str(x.dtype), x.shape), run))


@pytest.mark.add
def test_add(flagkit_bench: Any) -> None:
    """Elementwise, two inputs."""
    bench(flagkit_bench, "add", np.add, LARGE, make=normal, inputs=2)


@pytest.mark.cumsum
def test_cumsum(flagkit_bench: Any) -> None:
    """Along the last axis."""
    bench(flagkit_bench, "cumsum", lambda x: np.cumsum(x, axis=-1), ROWS, make=normal)


@pytest.mark.exp
def test_exp(flagkit_bench: Any) -> None:
    """Elementwise."""
    bench(flagkit_bench, "exp", np.exp, SMALL, make=normal)


@pytest.mark.gelu
def test_gelu(flagkit_bench: Any) -> None:
    """Elementwise, in chunks of a tuned size."""
    bench(flagkit_bench, "gelu", gelu, SMALL, make=normal)


@pytest.mark.log
def test_log(flagkit_bench: Any) -> None:
    """Elementwise."""
    bench(flagkit_bench, "log", np.log, SMALL, make=positive)


@pytest.mark.matmul
def test_matmul(flagkit_bench: Any) -> None:
    """Square matrices."""
    bench(flagkit_bench, "matmul", np.matmul, SQUARE, make=normal, inputs=2)


@pytest.mark.max
def test_max(flagkit_bench: Any) -> None:
    """Over all elements."""
    bench(flagkit_bench, "max", np.max, LARGE, make=normal)


@pytest.mark.sort
def test_sort(flagkit_bench: Any) -> None:
    """A copy, ascending."""
    bench(flagkit_bench, "sort", np.sort, SMALL, make=normal)


@pytest.mark.sqrt
def test_sqrt(flagkit_bench: Any) -> None:
    """Elementwise."""
    bench(flagkit_bench, "sqrt", np.sqrt, LARGE, make=positive)


@pytest.mark.sum
def test_sum(flagkit_bench: Any) -> None:
    """Over all elements."""
    bench(flagkit_bench, "sum", np.sum, LARGE, make=normal)


@pytest.mark.tanh
def test_tanh(flagkit_bench: Any) -> None:
    """Elementwise."""
    bench(flagkit_bench, "tanh", np.tanh, SMALL, make=normal)
