"""The columns of a Markdown table: whose latency, in which unit, for which dtype."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flagkit.compare.sizes import normalise_dtype, value_key
from flagkit.parsers.markdown_context import DTYPE, unit_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flagkit.parsers.markdown_context import Context

_TO_MS = {"ms": 1.0, "us": 1e-3, "µs": 1e-3, "μs": 1e-3, "ns": 1e-6, "s": 1e3}
_LONG = {"sec": "s", "second": "s", "millisecond": "ms", "microsecond": "us"}

_BASE = re.compile(r"torch|native|baseline|\bref(?:erence)?\b|vllm|cudnn|cublas|\bte\b|eager|aten")
_GEMS = re.compile(r"gems|triton|kernelgen|\bours?\b|flag")
_NO_LATENCY = re.compile(r"speed ?up|gbps|gb/s|tflops|bandwidth|ratio|improve|gain|%|加速")
_LATENCY = re.compile(r"latency|time|耗时|延迟|时间")
_SIZE = re.compile(r"(?:input |tensor |output )*(?:shape|size|dims?)s?\b.*|size detail|形状|规模")
_OP = re.compile(r"op|ops|operator|operators|op[ _]name|overload|operation|算子(?:名称?)?")
_DTYPE = re.compile(r"d ?type|data ?type|precision|type|数据类型|精度")
_STATUS = re.compile(r"status|result|state|状态|结果")
_IGNORED = re.compile(
    r"#|no\.?|count|notes?|remarks?|version|best.*|device|gpu|chip|platform|accuracy|pass(?:ed)?"
    r"|before|after|备注|.*error.*"
)
_NUMBER = re.compile(
    r"[~≈]?(?P<number>(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?|\.\d+)\s*"
    r"(?P<unit>ms|us|µs|μs|ns|s)?"
)
_FACTOR = re.compile(r"[-+~]?\d+(?:\.\d+)?\s*[%x×]")
_FRACTION = re.compile(r"[-+~]?\d+\.\d+")
_RESULT_NAME = re.compile(
    r"speed|ratio|gain|improv|diff|delta|change|regress|faster|slower|\bvs\b|%|[gt]b/?s|flops"
    r"|bandwidth|throughput|util|efficien|accura|error|latency|time|geo ?mean|average|score",
    re.IGNORECASE,
)
"""What a column of results may be called. A fraction under any other name (``alpha``, ``eps``)
may tell rows apart: left out of the key, such rows would pair by the order they stand in."""
_NOTHING = frozenset(
    ("", "-", "--", "—", "–", "n/a", "na", "none", "nan", "inf", "oom", "fail", "failed", "error")
)
_FAILED = re.compile(r"fail|error|oom|❌|✗|✘|×", re.IGNORECASE)
_ESCAPED = re.compile(r"\\([\\`*_{}\[\]()<>#+\-.!|~])")
_TAG = re.compile(r"</?(?:br|sub|sup|b|i|code|strong|em|span|kbd)\b[^<>]{0,100}>", re.IGNORECASE)
_ENTITIES = {"&lt;": "<", "&gt;": ">", "&nbsp;": " ", "&#124;": "|", "&quot;": '"', "&amp;": "&"}
_SPLIT = re.compile(r"(?<!\\)\|")


def cells_of(text: str) -> list[str]:
    """The cells of one table line, as people read them."""
    body = text.strip()
    body = body.removeprefix("|")
    if body.endswith("|") and not body.endswith("\\|"):
        body = body[:-1]
    return [_clean(cell) for cell in _SPLIT.split(body)]


def _clean(cell: str) -> str:
    text = _TAG.sub(" ", cell)
    for entity, meant in _ENTITIES.items():
        if "&" in text:
            text = text.replace(entity, meant)
    text = text.replace("`", "").strip()
    while len(text) > 4 and text.startswith("**") and text.endswith("**"):
        text = text[2:-2].strip()
    return _ESCAPED.sub(r"\1", text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """The columns of one measurement: its latency, its baseline's, their units."""

    gems: int
    base: int | None
    unit: str
    base_unit: str
    dtype: str = ""
    group: str = ""

    def latency(self, cells: Sequence[str]) -> float | None:
        """The latency in ms; None for a cell that says there is none."""
        return _milliseconds(cells[self.gems], self.unit)

    def baseline(self, cells: Sequence[str]) -> float | None:
        """The baseline's latency in ms."""
        return None if self.base is None else _milliseconds(cells[self.base], self.base_unit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """What each column of a table is."""

    count: int
    measures: tuple[Measure, ...]
    size_at: int | None
    op_at: int | None
    dtype_at: int | None
    status_at: int | None
    extra: tuple[tuple[str, int], ...]

    def op(self, cells: Sequence[str]) -> str:
        """The operator's cell."""
        return cells[self.op_at] if self.op_at is not None else ""

    def dtype(self, cells: Sequence[str]) -> str:
        """The dtype's cell, as torch spells it."""
        return normalise_dtype(cells[self.dtype_at]) if self.dtype_at is not None else ""

    def failed(self, cells: Sequence[str]) -> bool:
        """Whether the status cell says so."""
        return self.status_at is not None and bool(_FAILED.search(cells[self.status_at]))

    def labels(self, cells: Sequence[str]) -> list[str]:
        """The cells that may say that a line sums up others. An operator can be called max."""
        places = {0, self.size_at, self.status_at} - {None, self.op_at}
        return [cells[at] for at in places if at is not None and at < len(cells)]

    def size(self, cells: Sequence[str], group: str = "") -> str:
        """The size, and every other column that tells rows apart."""
        size = cells[self.size_at] if self.size_at is not None and self.size_at < len(cells) else ""
        told = ((name, cells[at]) for name, at in self.extra if at < len(cells) and cells[at])
        more = [f"{name}={cell}" for name, cell in told if not _is_result(name, cell)]
        if group:
            more.append(f"column={group}")
        return " ".join([size, *more] if size else more)


def _is_result(name: str, cell: str) -> bool:
    """Whether an unknown column's cell is a result and no part of what names the row."""
    if _FACTOR.fullmatch(cell):
        return True
    return bool(_FRACTION.fullmatch(cell) and _RESULT_NAME.search(name))


def columns_of(
    labels: Sequence[str], context: Context, groups: Sequence[str] = ()
) -> Columns | None:
    """What the columns named *labels* are; None if no latency is among them.

    :param groups: the labels of a header line above, each standing over what follows it.
    """
    spread = _spread(groups, len(labels))
    full = [label or (groups[i] if i < len(groups) else "") for i, label in enumerate(labels)]
    roles = [_role(label) for label in full]
    measures = _measures(full, roles, spread, context)
    if not measures:
        return None

    def at(role: str) -> int | None:
        return roles.index(role) if role in roles else None

    extra = tuple((full[i], i) for i, role in enumerate(roles) if role == "extra" and full[i])
    return Columns(
        count=len(labels),
        measures=tuple(measures),
        size_at=at("size"),
        op_at=at("op"),
        dtype_at=at("dtype"),
        status_at=at("status"),
        extra=extra,
    )


def is_sub_header(cells: Sequence[str]) -> bool:
    """Whether a line below the rule holds labels still: a header of two levels."""
    roles = [_role(cell) for cell in cells if cell]
    return "gems" in roles and not any(value_key(cell) is not None for cell in cells if cell)


def _spread(groups: Sequence[str], count: int) -> list[str]:
    spread, last = [], ""
    for index in range(count):
        last = (groups[index] if index < len(groups) else "") or last
        spread.append(last)
    return spread


def _role(label: str) -> str:
    text = " ".join(label.lower().replace("_", " ").split())
    named = DTYPE.sub(" ", text).strip()
    if _SIZE.fullmatch(text) and not _GEMS.search(text):
        return "size"
    for role, pattern in (("op", _OP), ("dtype", _DTYPE), ("status", _STATUS)):
        if pattern.fullmatch(text):
            return role
    if _NO_LATENCY.search(text):
        return "other"
    if _GEMS.search(named):
        return "gems"
    if _BASE.search(named):
        return "base"
    if _LATENCY.search(text) or unit_in(text):
        return "latency"
    return "ignored" if _IGNORED.fullmatch(text) else "extra"


def _measures(
    labels: Sequence[str], roles: Sequence[str], spread: Sequence[str], context: Context
) -> list[Measure]:
    """One measurement for each latency column; baselines join by dtype and group."""
    gems = [i for i, role in enumerate(roles) if role == "gems"]
    if not gems and roles.count("latency") == 1:
        gems = [roles.index("latency")]
    bases: dict[tuple[str, str], int] = {}
    for index, role in enumerate(roles):
        if role == "base":
            bases.setdefault(_group(labels[index], spread[index]), index)
    measures = []
    seen: set[tuple[str, str]] = set()
    for index in gems:
        dtype, group = mine = _group(labels[index], spread[index])
        if mine in seen:
            # Two of one kind: which is the operator under test is not told.
            return []
        seen.add(mine)
        base = bases.get(mine, bases.get(("", "")))
        unit = unit_in(labels[index]) or unit_in(spread[index]) or context.unit_told
        base_label = labels[base] if base is not None else ""
        measures.append(
            Measure(
                gems=index,
                base=base,
                unit=_short(unit) or _implied(labels[index]),
                base_unit=_short(unit_in(base_label) or unit) or _implied(base_label),
                dtype=dtype,
                group=group,
            )
        )
    return measures


def _group(label: str, above: str) -> tuple[str, str]:
    """The dtype and the group a column belongs to, by its label and the one above."""
    found = DTYPE.search(label) or DTYPE.search(above)
    dtype = normalise_dtype(found["name"]) if found else ""
    group = "" if DTYPE.search(above) or above == label else above
    return dtype, group


def _short(unit: str) -> str:
    return _LONG.get(unit.rstrip("s") if len(unit) > 2 else unit, unit)


def _implied(label: str) -> str:
    """Milliseconds where a label says latency: the field's unit."""
    return "ms" if _LATENCY.search(label.lower()) else ""


def _milliseconds(cell: str, unit: str) -> float | None:
    """The cell's number in ms; raises ``ValueError`` saying what is wrong with it."""
    text = cell.strip()
    if text.lower() in _NOTHING or not text.strip("❌✗✘×"):
        return None
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise ValueError(f"no latency: {text[:40]!r}")
    told = found["unit"] or unit
    if not told:
        raise ValueError("neither the column nor the cell tells the unit of a latency")
    value = float(found["number"].replace(",", ""))
    scale = _TO_MS[told]
    return value / 1000 if scale == 1e-3 else value * scale
