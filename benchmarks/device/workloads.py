"""The calls that the device benchmarks time: name -> function, built on the current stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

SHAPES = ((64, 64), (1024, 1024), (4096, 4096), (1024, 65536))


def build() -> dict[str, Callable[[], Any]]:
    """Forward, backward, random, reduction and view-free calls in fp16, small to large."""
    import torch
    from torch.nn import functional

    made: dict[str, Callable[[], Any]] = {}
    for shape in SHAPES:
        x = torch.randn(shape, device="cuda", dtype=torch.float16)
        made[f"gelu{shape}"] = lambda x=x: functional.gelu(x)
        made[f"softmax{shape}"] = lambda x=x: torch.softmax(x, 1)
        made[f"cumsum{shape}"] = lambda x=x: torch.cumsum(x, 1)
        made[f"var_mean{shape}"] = lambda x=x: torch.var_mean(x, 1)
        made[f"dropout{shape}"] = lambda x=x: functional.dropout(x, 0.5)
        made[f"topk{shape}"] = lambda x=x: torch.topk(x, 5)
        made[f"layer_norm{shape}"] = lambda x=x: functional.layer_norm(x, x.shape[1:])
        made[f"gelu_backward{shape}"] = _backward(functional.gelu, shape)
        made[f"softmax_backward{shape}"] = _backward(lambda x: torch.softmax(x, 1), shape)
    return made


def _backward(op: Callable[[Any], Any], shape: tuple[int, ...]) -> Callable[[], Any]:
    import torch

    x = torch.randn(shape, device="cuda", dtype=torch.float16, requires_grad=True)
    y = op(x)
    dy = torch.randn_like(y)
    return lambda: torch.autograd.grad((y,), (x,), grad_outputs=(dy,), retain_graph=True)
