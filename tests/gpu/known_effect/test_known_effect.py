"""A suite whose true effect is known: a variable scales the work of every row.

``KNOWN_EFFECT_SCALE`` (default 1) multiplies the loop trips or the elements that each
kernel works on; shapes, dtypes and code stay the same. With the values 1.05 and 1 the
right answer is a speedup of 5 per cent on every row, less the share of a launch::

    flagkit ab --backend cuda --switch env --env-set KNOWN_EFFECT_SCALE=1.05,1 \
        --suite tests/gpu/known_effect
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

SCALE = float(os.environ.get("KNOWN_EFFECT_SCALE", "1"))
LARGEST = 1.1


@pytest.fixture
def bench(request: pytest.FixtureRequest) -> Callable[..., float]:
    """flagkit's fixture; absent where this suite is run by pytest alone."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device")
    if not request.config.pluginmanager.hasplugin("flagkit-agent"):
        pytest.skip("a suite for flagkit ab: run with -p flagkit.agent.plugin")
    if not 0 < SCALE <= LARGEST:
        pytest.fail(f"KNOWN_EFFECT_SCALE must be above 0 and at most {LARGEST}")
    timer: Callable[..., float] = request.getfixturevalue("flagkit_bench")
    return timer


def report(op: str, detail: str, latency: float) -> None:
    print(f"\n{op} {detail}: {latency:.5f} ms at scale {SCALE}")


@pytest.mark.known_fma
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("trips", [20_000, 60_000, 200_000, 600_000])
def test_fma(bench: Callable[..., float], trips: int, dtype: str) -> None:
    import torch
    from kernels import fma

    out = torch.zeros(132 * 128, device="cuda", dtype=getattr(torch, dtype))
    scaled = round(trips * SCALE)
    detail = f"[{trips}]"
    latency = bench(
        lambda: fma[(132,)](out, scaled, BLOCK=128, num_warps=4),
        op="known_fma",
        dtype=f"torch.{dtype}",
        size_detail=detail,
    )
    report("known_fma", f"{dtype} {detail}", latency)


@pytest.mark.known_copy
@pytest.mark.parametrize("mebi", [32, 64, 128, 256])
def test_copy(bench: Callable[..., float], mebi: int) -> None:
    import torch
    from kernels import triad

    elements = mebi << 20
    x = torch.arange(int(elements * LARGEST), device="cuda", dtype=torch.float32)
    out = torch.zeros_like(x)
    scaled = round(elements * SCALE / 4096) * 4096
    detail = f"[{elements}]"
    latency = bench(
        lambda: triad[(scaled // 4096,)](out, x, scaled, BLOCK=4096, num_warps=8),
        op="known_copy",
        dtype="torch.float32",
        size_detail=detail,
    )
    report("known_copy", detail, latency)


@pytest.mark.known_chain
@pytest.mark.parametrize("steps", [2, 8, 16])
def test_chain(bench: Callable[..., float], steps: int) -> None:
    """Several launches in one call, each scaled."""
    import torch
    from kernels import fma

    out = torch.zeros(132 * 128, device="cuda")
    scaled = round(20_000 * SCALE)

    def call() -> Any:
        for _ in range(steps):
            fma[(132,)](out, scaled, BLOCK=128, num_warps=4)

    detail = f"[{steps}]"
    latency = bench(call, op="known_chain", dtype="torch.float32", size_detail=detail)
    report("known_chain", detail, latency)
