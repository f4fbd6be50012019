"""Rows out of JSON that tools around FlagGems write: its test runner, and forks' benchmarks.

Two shapes: ``result: {op: {performance: {data: {dtype: {details: {shape: {base, gems}}}}}}}``
in milliseconds, and lists of measurements with ``ref_us`` and ``triton_us``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flagkit.compare.sizes import normalise_dtype
from flagkit.model import UNKNOWN, Note, Source
from flagkit.parsers.rows import make_row, measured

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from flagkit.model import Row

MAX_DEPTH = 6
_SHAPES = ("shape_detail", "shape", "shapes", "size", "size_detail")
_RESULTS = ("ref_us", "triton_us", "speedup", "op", "op_name", "name", "dtype")


def tool_rows(name: str, value: Any, where: Source, op: str = "") -> Iterator[Row | Note]:
    """The rows of one entry; none for an entry that holds no measurement.

    :param op: the operator the document is about, where it says so.
    """
    if name == "result" and isinstance(value, dict):
        for tested, tests in value.items():
            yield from _summary(str(tested), tests, where)
    else:
        yield from _microseconds(value, op or name, where, 0)


def _summary(op: str, tests: Any, where: Source) -> Iterator[Row | Note]:
    performance = tests.get("performance") if isinstance(tests, dict) else None
    if not isinstance(performance, dict):
        return
    status = str(performance.get("status") or "OK")
    if status.upper() not in ("OK", "PASSED", "SUCCESS"):
        yield Note(code="incomplete", text=f"{op}: the benchmark ended with {status}", source=where)
    data = performance.get("data")
    for dtype, result in data.items() if isinstance(data, dict) else ():
        details = result.get("details") if isinstance(result, dict) else None
        for shape, row in details.items() if isinstance(details, dict) else ():
            if isinstance(row, dict):
                yield make_row(
                    op=op,
                    dtype=normalise_dtype(str(dtype)),
                    size_detail=str(shape),
                    latency_ms=measured(row.get("gems")),
                    baseline_ms=measured(row.get("base")),
                    source=where,
                )


def _microseconds(value: Any, op: str, where: Source, depth: int) -> Iterator[Row]:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        for one in value:
            yield from _microseconds(one, op, where, depth + 1)
    elif isinstance(value, dict):
        op = str(value.get("op") or value.get("op_name") or value.get("name") or op)
        if "triton_us" in value:
            yield _microsecond_row(value, op, where)
            return
        for name, one in value.items():
            if isinstance(one, (dict, list)):
                generic = name in ("results", "rows", "data", "benchmarks", "cases")
                yield from _microseconds(one, op if generic or op else str(name), where, depth + 1)


def _microsecond_row(value: Mapping[str, Any], op: str, where: Source) -> Row:
    detail = next((value[name] for name in _SHAPES if value.get(name) is not None), None)
    if detail is None:
        detail = {name: one for name, one in value.items() if name not in _RESULTS}
    return make_row(
        op=op,
        dtype=normalise_dtype(str(value.get("dtype") or UNKNOWN)),
        size_detail=detail,
        latency_ms=_ms(value.get("triton_us")),
        baseline_ms=_ms(value.get("ref_us")),
        source=where,
    )


def _ms(value: object) -> float | None:
    us = measured(value)
    return None if us is None else us / 1000
