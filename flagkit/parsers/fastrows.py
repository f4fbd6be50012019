"""The common row, fast: one pattern over the log's bytes, and rows built from a template.

A log of 10,000 rows is read in a few hundredths of a second only if a row costs a few
microseconds, so rows of today's layout whose cells all are plain numbers take this road.
Anything else (another layout, an escape sequence, a wrap, a doubt) takes the ordinary one,
and both give equal rows, which is tested.
"""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from flagkit.compare.sizes import normalise_op, value_key
from flagkit.model import Row, RowKey, Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from flagkit.model import Regime

# A cell ends at a fixed column, so the point's place tells whether a digit is lost.
_MS = rb"(?= *\d+\.)([ \d]{13}\.\d{6}"
_NUMBER = rb"(?= *\d+\.)[ \d]{16}\.\d{3}"

FAST_ROW = re.compile(
    rb"SUCCESS   "
    + _MS
    + rb"| {17}N/A)"
    + _MS
    + rb")(?:"
    + _NUMBER
    + rb"| {17}N/A)("
    + _NUMBER
    + rb")?(?:("
    + _NUMBER
    + rb")("
    + _NUMBER
    + rb"))? {10}([\[({][ -~]*[\])}])\r?\n"
)
"""Baseline, latency, TFLOPS, baseline GBPS, GBPS, size detail of a row of T5."""


Slots = tuple["Callable[[object, object], None]", ...]


@lru_cache(maxsize=16)
def _slots(cls: type, varying: tuple[str, ...]) -> tuple[Slots, Slots, tuple[tuple[str, Any], ...]]:
    """How to set the slots of *cls*: the varying ones, the others, the others' defaults.

    The constructor of a frozen dataclass looks each field up by name; setting the slots
    costs a third of that. Nothing is skipped but checks that :data:`FAST_ROW` made.
    """
    setters = {f.name: vars(cls)[f.name].__set__ for f in fields(cls)}
    others = tuple((f.name, f.default) for f in fields(cls) if f.name not in varying)
    return (
        tuple(setters[name] for name in varying),
        tuple(setters[name] for name, _ in others),
        others,
    )


class Template:
    """Builds facts of one class that differ in a few fields.

    :param varying: the fields given to :meth:`build`, in its order.
    :param constant: values of the other fields; each without a default has to be there.
    """

    __slots__ = ("_cls", "_constant", "_varying")

    def __init__(self, cls: type, varying: tuple[str, ...], **constant: Any) -> None:
        self._cls = cls
        self._varying, setters, others = _slots(cls, varying)
        values = [constant.get(name, default) for name, default in others]
        if MISSING in values:
            raise TypeError(f"{cls.__name__} has a field without a value")
        self._constant = tuple(zip(setters, values, strict=True))

    def build(self, *values: Any) -> Any:
        """A new object with *values* in the varying fields."""
        made: Any = object.__new__(self._cls)
        for set_slot, value in self._constant:
            set_slot(made, value)
        for set_slot, value in zip(self._varying, values):  # noqa: B905 - the hot loop
            set_slot(made, value)
        return made


class FastRows:
    """Rows of one table: its operator, dtype, mode, level and regime are the same for all."""

    def __init__(
        self, *, op: str, dtype: str, mode: str, level: str, regime: Regime, file: str
    ) -> None:
        self._key = Template(RowKey, ("size_key",), op=normalise_op(op), dtype=dtype)
        self._source = Template(Source, ("line",), file=file)
        self._row = Template(
            Row,
            (
                "key",
                "size_detail",
                "latency_ms",
                "baseline_ms",
                "tflops",
                "baseline_gbps",
                "gbps",
                "source",
            ),
            status="ok",
            mode=mode,
            level=level,
            regime=regime,
        )

    def row(self, found: re.Match[bytes], line: int) -> Row | None:
        """The row of a match of :data:`FAST_ROW`; None if it has to be looked at closer."""
        baseline, latency, tflops, baseline_gbps, gbps, detail = found.groups()
        text = detail.decode("ascii")
        key = value_key(text)
        latency_ms = float(latency)
        if key is None or latency_ms <= 0:
            return None
        row: Row = self._row.build(
            self._key.build(key),
            text,
            latency_ms,
            None if baseline[-1] == 65 else float(baseline),
            tflops and float(tflops),
            baseline_gbps and float(baseline_gbps),
            gbps and float(gbps),
            self._source.build(line),
        )
        return row
