"""A suite for ``--switch rlc`` on the stand-in, by flagkit's fixture::

    flagkit ab --switch rlc --backend cuda --suite tests/gpu/rlc_standin --no-verify

``--no-verify``, since the variable is read by the stand-in and not by the installed Triton.
Every result is held against torch's, on both sides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
triton: Any = pytest.importorskip("triton", reason="triton is not installed")


@pytest.fixture
def bench(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """flagkit's fixture; absent where this suite is run by pytest alone."""
    if not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device")
    if not request.config.pluginmanager.hasplugin("flagkit-agent"):
        pytest.skip("a suite for flagkit ab: run with -p flagkit.agent.plugin")
    timer: Callable[..., Any] = request.getfixturevalue("flagkit_bench")

    def timed(run: Callable[[], Any], out: Any, expected: Any) -> None:
        timer(run, dtype=str(out.dtype), size_detail=f"[{out.shape!r}]")
        torch.testing.assert_close(out, expected, rtol=2e-3, atol=2e-3)

    return timed


def square(n: int) -> tuple[Any, Any]:
    x = torch.randn(n, n, device="cuda")
    return torch.empty_like(x), x


def tiles(x: Any, tile: int = 64) -> Any:
    """A view of a square as [row tile, column tile, row, column]."""
    return x.unflatten(0, (-1, tile)).unflatten(2, (-1, tile)).transpose(1, 2)


@pytest.mark.standin_transpose
@pytest.mark.parametrize("n", [1024, 4096])
def test_transpose(bench: Callable[..., Any], n: int) -> None:
    from standin_kernels import transpose_stats

    out, x = square(n)
    both = tiles(x + x.T)
    expected = both - both.sum(-1, keepdim=True) + both.amax(-2, keepdim=True)
    grid = (n // 64, n // 64)
    bench(lambda: transpose_stats[grid](out, x, n, TILE=64), out, untiled(expected))


def untiled(x: Any) -> Any:
    return x.transpose(1, 2).flatten(2, 3).flatten(0, 1)


@pytest.mark.standin_softmax
@pytest.mark.parametrize("n", [512, 1024, 4096])
def test_softmax(bench: Callable[..., Any], n: int) -> None:
    from standin_kernels import softmax_rows

    out, x = square(n)
    run = lambda: softmax_rows[lambda meta: (n // meta["ROWS"],)](out, x, n, BLOCK=n)
    bench(run, out, x.softmax(-1))


@pytest.mark.standin_cumsum
@pytest.mark.parametrize("n", [1024, 4096])
def test_cumsum(bench: Callable[..., Any], n: int) -> None:
    from standin_kernels import cumsum_both

    out, x = square(n)
    tiled = tiles(x)
    expected = untiled(tiled.cumsum(-1) + tiled.cumsum(-2))
    bench(lambda: cumsum_both[n // 64, n // 64](out, x, n, TILE=64), out, expected)


@pytest.mark.standin_dot
@pytest.mark.parametrize("n", [512, 2048])
def test_dot(bench: Callable[..., Any], n: int) -> None:
    from standin_kernels import dot_swish

    a = torch.randn(n, n, device="cuda", dtype=torch.float16) / n**0.5
    b = torch.randn(n, n, device="cuda", dtype=torch.float16)
    out, bias = square(n)
    swish = torch.nn.functional.silu(a.float() @ b.float() + bias).unflatten(1, (-1, 64))
    expected = (swish - swish.mean(-1, keepdim=True)).flatten(1)
    grid = lambda meta: (n // meta["M"], n // 64)
    bench(lambda: dot_swish[grid](out, a, b, bias, n, n, N=64), out, expected)


@pytest.mark.standin_gather
@pytest.mark.parametrize("n", [1024, 4096])
def test_gather(bench: Callable[..., Any], n: int) -> None:
    from standin_kernels import gather_both

    out, x = square(n)
    index = torch.randperm(n, device="cuda", dtype=torch.int32)
    expected = x[index.long()] + x.T[index.long()]
    grid = (n // 64, n // 64)
    bench(lambda: gather_both[grid](out, x, index, n, TILE=64), out, expected)
