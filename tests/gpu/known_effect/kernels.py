"""Kernels whose time is proportional to one run-time argument."""

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["trips"])
def fma(out, trips, BLOCK: tl.constexpr):
    """Dependent multiply-adds, *trips* times."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(out + at)
    for _ in range(trips):
        x = x * 0.5 + 1.0
    tl.store(out + at, x)


@triton.jit(do_not_specialize=["elements"])
def triad(out, x, elements, BLOCK: tl.constexpr):
    """Read and write *elements* floats."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < elements
    value = tl.load(x + at, mask=inside)
    tl.store(out + at, value * 2.0 + 1.0, mask=inside)
