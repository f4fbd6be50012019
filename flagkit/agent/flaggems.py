"""Knows FlagGems' benchmark: which operator, dtype and size a timed call belongs to.

FlagGems keeps each row in a ``BenchmarkMetrics`` and prints a ``BenchmarkResult`` of them
once per dtype, after all shapes. A row's number carries the id of its call, so the row is
journalled from the metric itself, the moment it is filled: nothing is joined by position,
and a table that a later failure keeps from being printed loses nothing.
"""

from __future__ import annotations

import functools
import sys
import weakref
from typing import TYPE_CHECKING, Any

from flagkit.agent.session import Label
from flagkit.agent.timing import Latency
from flagkit.model import status_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from flagkit.agent.session import Session

METRIC, RESULT, BENCHMARK = "BenchmarkMetrics", "BenchmarkResult", "Benchmark"
METRIC_FIELDS = ("latency", "latency_base", "shape_detail")
RESULT_FIELDS = ("level", "op_name", "dtype", "mode", "result")
"""What is read of them; a class of that name without these is somebody else's."""

ROW = "_flagkit_row"
"""Where a metric keeps what its last journal line was known by."""


class FlagGemsAdapter:
    """Hooks the benchmark's classes, found by name and shape in what the suite imported.

    FlagGems' file layout changed over the years (``performance_utils``, ``attri_util``,
    then ``base`` and ``consts``); the three classes and what is used of them did not.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._serial = 0
        # Weak: a class that a test makes holds what its methods close over, inputs too.
        self._patched: weakref.WeakSet[type] = weakref.WeakSet()

    def install(self) -> None:
        """Look through the loaded modules once the suite is collected. Idempotent."""
        for cls in list(_classes()):
            if cls in self._patched:
                continue
            if cls.__name__ not in (METRIC, RESULT):
                if hasattr(cls, "record_shapes"):
                    self._watch_benchmark(cls)
                continue
            self._patched.add(cls)
            if cls.__name__ == METRIC and _has(cls, METRIC_FIELDS):
                self._watch_metric(cls)
            elif cls.__name__ == RESULT and _has(cls, RESULT_FIELDS):
                self._watch_result(cls)

    def _watch_benchmark(self, cls: type) -> None:
        """Hook *cls* and all it derives from, mixed-in classes among them."""
        for each in cls.__mro__:
            if each not in self._patched:
                self._patched.add(each)
                self._watch_methods(each)
                if each.__name__ == BENCHMARK and "__init__" in vars(each):
                    self._watch_instances(each)

    def _watch_instances(self, cls: type) -> None:
        """Hook the class of each instance: tests make classes of their own as they run."""
        adapter = self
        init = cls.__init__  # type: ignore[misc]

        @functools.wraps(init)
        def initialised(self: Any, *args: Any, **kwargs: Any) -> None:
            adapter._watch_benchmark(type(self))
            init(self, *args, **kwargs)

        cls.__init__ = initialised  # type: ignore[misc]

    def _watch_methods(self, cls: type) -> None:
        adapter = self
        if "record_shapes" in vars(cls):
            record_shapes = cls.record_shapes  # type: ignore[attr-defined]

            @functools.wraps(record_shapes)
            def recorded(self: Any, *args: Any, **kwargs: Any) -> Any:
                detail = record_shapes(self, *args, **kwargs)
                adapter._label(op=str(getattr(self, "op_name", "")), size_detail=str(detail))
                return detail

            cls.record_shapes = recorded  # type: ignore[attr-defined]
        for name in ("get_input_iter", "get_inputs"):
            if name in vars(cls):
                setattr(cls, name, self._noting_dtype(vars(cls)[name]))

    def _noting_dtype(self, method: Any) -> Any:
        adapter = self

        @functools.wraps(method)
        def noted(self: Any, dtype: Any, *args: Any, **kwargs: Any) -> Any:
            adapter._label(op=str(getattr(self, "op_name", "")), dtype=str(dtype))
            return method(self, dtype, *args, **kwargs)

        return noted

    def _label(self, *, op: str, dtype: str | None = None, size_detail: str = "") -> None:
        current = self._session.current
        kept = current.label.dtype if dtype is None else dtype
        current.label = Label(op=op, dtype=kept, size_detail=size_detail)

    def _watch_metric(self, cls: type) -> None:
        adapter = self
        plain = cls.__setattr__

        def setattr_(self: Any, name: str, value: Any) -> None:
            plain(self, name, value)  # type: ignore[call-arg]
            if name == "latency" and value is not None:
                label = adapter._session.current.label
                adapter._safely(adapter._row, self, op=label.op, dtype=label.dtype)

        cls.__setattr__ = setattr_  # type: ignore[assignment]

    def _watch_result(self, cls: type) -> None:
        adapter = self
        init = cls.__init__  # type: ignore[misc]

        @functools.wraps(init)
        def initialised(self: Any, *args: Any, **kwargs: Any) -> None:
            init(self, *args, **kwargs)
            adapter._safely(adapter._result, self)

        cls.__init__ = initialised  # type: ignore[misc]

    def _safely(self, what: Callable[..., None], *args: Any, **kwargs: Any) -> None:
        """Let nothing that is read of the benchmark's objects end the benchmark."""
        try:
            what(*args, **kwargs)
        except Exception as error:
            self._session.note("flaggems", f"a result was not read: {error!r}"[:500])

    def _result(self, result: Any) -> None:
        op, mode = str(result.op_name), str(result.mode)
        metrics = list(result.result or ())
        for metric in metrics:
            self._row(metric, op=op, dtype=str(result.dtype), mode=mode, level=str(result.level))
        lines = (self._session.regime_line(_call(metric.latency), op) for metric in metrics)
        for line in dict.fromkeys(lines):
            self._session.emit(line)

    def _row(self, metric: Any, *, op: str, dtype: str, mode: str = "", level: str = "") -> None:
        latency, baseline = metric.latency, metric.latency_base
        call, before = _call(latency), vars(metric).get(ROW, {})
        serial = before.get("serial")
        if call is None and serial is None:
            self._serial += 1
            serial = self._serial
        told = {"id": call, "serial": None if call else serial}
        object.__setattr__(metric, ROW, told)
        error = getattr(metric, "error_msg", None)
        self._session.journal.write(
            {
                "kind": "row",
                **told,
                **({"replaces": before} if before and before != told else {}),
                "baseline_id": _call(baseline),
                "node": self._session.current.node,
                "op": op,
                "dtype": dtype,
                "size_detail": str(metric.shape_detail),
                "latency_ms": _number(latency),
                "baseline_ms": _number(baseline),
                "tflops": _number(getattr(metric, "tflops", None)),
                "gbps": _number(getattr(metric, "gbps", None)),
                "baseline_gbps": _number(getattr(metric, "gbps_base", None)),
                "status": status_of(_number(latency), failed=bool(error)),
                "reason": str(error or "")[:500],
                "mode": mode,
                "level": level,
            }
        )


def _call(number: Any) -> str | None:
    return number.call if isinstance(number, Latency) else None


def _has(cls: type, names: Sequence[str]) -> bool:
    known = {name for each in cls.__mro__ for name in getattr(each, "__annotations__", {})}
    return all(name in known or hasattr(cls, name) for name in names)


def _number(value: Any) -> float | None:
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError):
        return None


def _classes() -> Iterator[type]:
    """The benchmark's classes and their subclasses, whichever module holds them."""
    seen: set[type] = set()
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", {})
        for name in (METRIC, RESULT, BENCHMARK):
            cls = names.get(name) if isinstance(names, dict) else None
            if isinstance(cls, type) and cls not in seen:
                yield from _tree(cls, seen)


def _tree(cls: type, seen: set[type]) -> Iterator[type]:
    if cls in seen:
        return
    seen.add(cls)
    yield cls
    child: type
    for child in cls.__subclasses__():
        yield from _tree(child, seen)
