"""Times an operator over its rows and prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flagkit.suites.hostbench.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DTYPES = ("float32", "float64")


def bench(
    timer: Callable[..., float],
    op: str,
    fn: Callable[..., object],
    shapes: Sequence[tuple[int, ...]],
    *,
    make: Callable[[tuple[int, ...], str], Any],
    inputs: int = 1,
) -> None:
    """Time *fn* over *shapes* and print a table a dtype, whatever becomes of a row.

    :param timer: the fixture ``flagkit_bench``.
    :param make: gives an input of a shape and dtype; *fn* takes *inputs* of them.
    """
    for dtype in DTYPES:
        table = Table(op=op, dtype=dtype)
        detail, latency = "", None
        try:
            for shape in shapes:
                detail = str([list(shape)] * inputs)
                arrays = [make(shape, dtype) for _ in range(inputs)]
                latency = timer(
                    lambda arrays=arrays: fn(*arrays), op=op, dtype=dtype, size_detail=detail
                )
                table.add(latency, detail)
        except BaseException:
            table.fail(detail)
            raise
        finally:
            regime = getattr(timer, "regime_line", None)
            if regime is not None and latency is not None:
                print(regime(latency, op))  # noqa: T201
            print(table.text())  # noqa: T201
