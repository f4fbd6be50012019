"""Small kernels whose TTGIR needs layout conversions, some of them tuned."""

import triton
import triton.language as tl


@triton.jit
def transpose_stats(out, x, n, TILE: tl.constexpr):
    """Per tile: x plus its mirror's transpose, less the row sums, plus the column maxima."""
    p, q = tl.program_id(0) * TILE, tl.program_id(1) * TILE
    i, j = tl.arange(0, TILE), tl.arange(0, TILE)
    here = tl.load(x + (p + i)[:, None] * n + (q + j)[None, :])
    mirror = tl.load(x + (q + j)[:, None] * n + (p + i)[None, :])
    both = here + tl.trans(mirror)
    rows, columns = tl.sum(both, axis=1), tl.max(both, axis=0)
    tl.store(out + (p + i)[:, None] * n + (q + j)[None, :], both - rows[:, None] + columns[None, :])


@triton.autotune(
    configs=[
        triton.Config({"ROWS": rows}, num_warps=warps) for rows in (1, 2, 4) for warps in (4, 8)
    ],
    key=["n"],
)
@triton.jit
def softmax_rows(out, x, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """Softmax of several rows a program."""
    i, j = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, BLOCK)
    at = i[:, None] * n + j[None, :]
    value = tl.load(x + at, mask=j[None, :] < n, other=-float("inf"))
    value = tl.exp(value - tl.max(value, axis=1)[:, None])
    tl.store(out + at, value / tl.sum(value, axis=1)[:, None], mask=j[None, :] < n)


@triton.jit
def cumsum_both(out, x, n, TILE: tl.constexpr):
    """Per tile: running sums down plus running sums across."""
    p, q = tl.program_id(0) * TILE, tl.program_id(1) * TILE
    i, j = tl.arange(0, TILE), tl.arange(0, TILE)
    at = (p + i)[:, None] * n + (q + j)[None, :]
    value = tl.load(x + at)
    tl.store(out + at, tl.cumsum(value, axis=0) + tl.cumsum(value, axis=1))


@triton.autotune(
    configs=[
        triton.Config({"M": m, "K": k}, num_warps=4, num_stages=2)
        for m in (64, 128)
        for k in (32, 64)
    ],
    key=["n", "k"],
)
@triton.jit
def dot_swish(out, a, b, bias, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """``swish(a @ b + bias)`` less its row means over a tile of N columns."""
    i = tl.program_id(0) * M + tl.arange(0, M)
    j, s = tl.program_id(1) * N + tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        left = tl.load(a + i[:, None] * k + (start + s)[None, :])
        right = tl.load(b + (start + s)[:, None] * n + j[None, :])
        total = tl.dot(left, right, total)
    total += tl.load(bias + i[:, None] * n + j[None, :])
    swish = total * tl.sigmoid(total)
    mean = tl.sum(swish, axis=1) / N
    tl.store(out + i[:, None] * n + j[None, :], swish - mean[:, None])


@triton.jit
def gather_both(out, x, index, n, TILE: tl.constexpr):
    """Rows of x and rows of its transpose, by an index."""
    p, q = tl.program_id(0) * TILE, tl.program_id(1) * TILE
    i, j = tl.arange(0, TILE), tl.arange(0, TILE)
    row = tl.load(index + p + i)
    down = tl.load(x + row[:, None] * n + (q + j)[None, :])
    across = tl.load(x + (q + j)[None, :] * n + row[:, None])
    tl.store(out + (p + i)[:, None] * n + (q + j)[None, :], down + across)


EXAMPLES = (
    (transpose_stats, {"out": "*fp32", "x": "*fp32", "n": "i32"}, {"TILE": 64}),
    (softmax_rows.fn, {"out": "*fp32", "x": "*fp32", "n": "i32"}, {"ROWS": 4, "BLOCK": 1024}),
    (cumsum_both, {"out": "*fp32", "x": "*fp32", "n": "i32"}, {"TILE": 64}),
    (
        dot_swish.fn,
        {"out": "*fp32", "a": "*fp16", "b": "*fp16", "bias": "*fp32", "n": "i32", "k": "i32"},
        {"M": 64, "N": 64, "K": 32},
    ),
    (gather_both, {"out": "*fp32", "x": "*fp32", "index": "*i32", "n": "i32"}, {"TILE": 64}),
)
"""Each kernel with the types and constants it is compiled for where there is no device."""


def compile_all():
    """Compile the examples for an H200, which needs no device."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    for kernel, types, constants in EXAMPLES:
        signature = {**types, **dict.fromkeys(constants, "constexpr")}
        source = ASTSource(kernel, signature, constants)
        yield triton.compile(source, target=GPUTarget("cuda", 90, 32))
