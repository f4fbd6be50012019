"""The columns of a Markdown table: whose latency, in which unit, for which dtype."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flagkit.compare.sizes import normalise_dtype, value_key
from flagkit.model import UNKNOWN
from flagkit.parsers.markdown_cells import is_nothing, milliseconds
from flagkit.parsers.markdown_labels import (
    DTYPE,
    MAX_LABEL,
    SIDES,
    Role,
    dtype_in,
    is_result,
    role_of,
    words_of,
)
from flagkit.parsers.markdown_units import MILLISECONDS, UNCLEAR, says_time, unit_in

if TYPE_CHECKING:
    from collections.abc import Sequence

_FAILED = re.compile(r"fail|error|oom|timed? ?out|❌|✗|✘|(?<!\d)\s*×", re.IGNORECASE)
_SUM = re.compile(
    r"(?:arithmetic |harmonic |weighted |overall |total )*"
    r"(?:geo\w*(?: ?mean)?|average|avg|mean|total|overall|平均\w*|均值|总计|合计)"
    r"(?:$|[\s:：(].*)",
    re.IGNORECASE,
)
"""What a line that sums up others is called, and no operator but ``mean``."""
_SUM_OR_OP = re.compile(r"(?:mean|median|max|min|sum|std)\b.*", re.IGNORECASE)


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
        return milliseconds(cells[self.gems], self.unit)

    def baseline(self, cells: Sequence[str]) -> float | None:
        """The baseline's latency in ms."""
        return None if self.base is None else milliseconds(cells[self.base], self.base_unit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """What each column of a table is."""

    count: int
    measures: tuple[Measure, ...]
    size_at: int | None
    op_at: int | None
    dtype_at: int | None
    status_at: int | None
    extra: tuple[tuple[str, int, Role], ...]
    legacy_at: int | None = None
    """FlagGems' own ``Size`` beside its ``Size Detail``: a status, or an older name of the size."""
    dtype_sure: bool = True
    refused: str = ""
    """Why the rows cannot be read, though latencies are among the columns."""

    def op(self, cells: Sequence[str]) -> str:
        """The operator's cell."""
        return cells[self.op_at] if self.op_at is not None else ""

    def dtype(self, cells: Sequence[str]) -> str:
        """The dtype's cell, as torch spells it."""
        if self.dtype_at is None:
            return ""
        cell = cells[self.dtype_at]
        return normalise_dtype(cell) if self.dtype_sure or DTYPE.fullmatch(cell) else ""

    def failed(self, cells: Sequence[str]) -> bool:
        """Whether the status cell says so."""
        return self.status_at is not None and bool(_FAILED.search(cells[self.status_at]))

    def size(self, cells: Sequence[str], group: str = "") -> str:
        """The size, and every other column that tells rows apart."""
        size = cells[self.size_at] if self.size_at is not None else ""
        more = [
            f"{name}={cells[at]}"
            for name, at, role in self.extra
            if cells[at] and not is_result(role, cells[at])
        ]
        if self.dtype_at is not None and not self.dtype(cells) and cells[self.dtype_at]:
            more.append(f"type={cells[self.dtype_at]}")
        if self.legacy_at is not None:
            cell = cells[self.legacy_at]
            if value_key(size) is None or not is_result(Role.MAYBE, cell):
                more.append(f"Size={cell}")
        if group:
            more.append(f"column={group}")
        return " ".join([size, *more] if size else more)

    @property
    def naming(self) -> list[int]:
        """The columns that name a row, from the left."""
        places = {self.size_at, self.op_at, self.dtype_at} - {None}
        keys = {at for _, at, role in self.extra if role is Role.KEY}
        return sorted({at for at in places if at is not None} | keys)

    def uses_last(self) -> bool:
        """Whether a cut in the last cell would change a row."""
        last = self.count - 1
        used = {at for one in self.measures for at in (one.gems, one.base)}
        return last in used or last in self.naming

    def is_summary(self, cells: Sequence[str]) -> bool:
        """Whether a line sums up others. An operator, or its argument, can be called max."""
        if len(cells) != self.count:
            return any(_SUM.fullmatch(cell) and cell.lower() != "mean" for cell in cells)
        if self.size_at is not None and _sums(cells[self.size_at]):
            return True
        naming = self.naming or [0]
        labels = [at for at in {0, *naming, self.status_at} if at is not None]
        filled = [at for at in naming if not is_nothing(cells[at])]
        for at in labels:
            alone = filled in ([], [at])
            no_size = self.size_at is None or is_nothing(cells[self.size_at])
            if _SUM.fullmatch(cells[at]) and cells[at].lower() != "mean" and no_size:
                return True
            if _sums(cells[at]) and alone and (at not in naming or len(naming) > 1):
                return True
        return False


def _sums(cell: str) -> bool:
    return bool(_SUM.fullmatch(cell) or _SUM_OR_OP.fullmatch(cell))


def columns_of(
    labels: Sequence[str], op: str = UNKNOWN, unit: str = "", groups: Sequence[str] = ()
) -> Columns | None:
    """What the columns named *labels* are; None if no latency is among them.

    :param op: the operator that the text above names.
    :param unit: the unit that the text above names.
    :param groups: the labels of a header line above, each standing over what follows it.
    """
    labels = [label[:MAX_LABEL] for label in labels]
    spread = _spread(groups, len(labels))
    full = [label or (groups[i] if i < len(groups) else "") for i, label in enumerate(labels)]
    told = [role_of(label) if label else (Role.MAYBE, 0) for label in full]
    roles = [role for role, _ in told]

    def first(role: Role, worst: int = 9) -> int | None:
        ranked = [(rank, i) for i, (one, rank) in enumerate(told) if one is role and rank <= worst]
        return min(ranked)[1] if ranked else None

    measures, refused = _measures(full, roles, spread, unit)
    if not measures and not refused:
        return None
    size_at, dtype_at = first(Role.SIZE), first(Role.DTYPE)
    # "Name" and the like name an operator only where nothing else does.
    op_at = first(Role.OP, 0 if op != UNKNOWN else 9)
    if size_at is None and not full[0]:
        size_at = 0
    legacy_at = next((i for i in range(len(full)) if _is_legacy(full, i, size_at)), None)
    extra = tuple(
        (full[i] or f"column {i + 1}", i, role if role is Role.MAYBE else _as_extra(role))
        for i, role in enumerate(roles)
        if i not in (size_at, dtype_at, op_at, legacy_at) and _as_extra(role) is not Role.RESULT
    )
    return Columns(
        count=len(labels),
        measures=measures,
        size_at=size_at,
        op_at=op_at,
        dtype_at=dtype_at,
        status_at=legacy_at if Role.STATUS not in roles else first(Role.STATUS),
        extra=extra,
        legacy_at=legacy_at,
        dtype_sure=dtype_at is not None and told[dtype_at][1] == 0,
        refused=refused,
    )


def _is_legacy(labels: Sequence[str], at: int, size_at: int | None) -> bool:
    """Whether FlagGems' tables of 2024 have the column *at* before their size detail."""
    beside = size_at is not None and labels[size_at].lower() == "size detail"
    return beside and labels[at].lower() == "size"


def _as_extra(role: Role) -> Role:
    """What a column is that is not the first of its role."""
    if role in (Role.SIZE, Role.OP, Role.DTYPE, Role.KEY):
        return Role.KEY
    return role if role in (Role.MAYBE, Role.MARKED) else Role.RESULT


def is_sub_header(cells: Sequence[str]) -> bool:
    """Whether a line below the rule holds labels still: a header of two levels."""
    roles = {role_of(cell)[0] for cell in cells if cell}
    return Role.GEMS in roles and not any(value_key(cell) is not None for cell in cells if cell)


def _spread(groups: Sequence[str], count: int) -> list[str]:
    spread, last = [], ""
    for index in range(count):
        last = (groups[index] if index < len(groups) else "") or last
        spread.append(last)
    return spread


def _measures(
    labels: Sequence[str], roles: Sequence[Role], spread: Sequence[str], unit: str
) -> tuple[tuple[Measure, ...], str]:
    """One measurement for each latency column, or why none can be told.

    Baselines join by dtype and group.
    """
    tested = [i for i, role in enumerate(roles) if role is Role.GEMS]
    if not tested:
        tested = [i for i, role in enumerate(roles) if role is Role.TESTED]
    bases = [i for i, role in enumerate(roles) if role is Role.BASE]
    by_group: dict[tuple[str, str], list[int]] = {}
    for index in tested:
        by_group.setdefault(_group(labels[index], spread[index]), []).append(index)
    doubtful = [several for several in by_group.values() if len(several) > 1]
    if doubtful or (len(by_group) > 1 and ("", "") in by_group):
        named = doubtful[0] if doubtful else tested
        if Role.GEMS in roles or bases or any(words_of(labels[i]) & SIDES for i in named):
            names = ", ".join(labels[i] for i in named[:4])
            return (), f"which of these columns is the latency under test is not told: {names}"
        return (), ""
    units = {i: unit_in(labels[i]) or unit_in(spread[i]) for i in (*tested, *bases)}
    shared = {MILLISECONDS.get(one): one for one in units.values() if one}
    for index, own in units.items():
        if not own:
            among = next(iter(shared.values()), unit) if len(shared) < 2 else UNCLEAR
            # Milliseconds where a label says latency: the field's unit.
            units[index] = among or ("ms" if says_time(labels[index]) else "")
    measures = []
    for group, (index,) in by_group.items():
        base = _base(bases, group, labels, spread, alone=len(by_group) == 1)
        measures.append(
            Measure(
                gems=index,
                base=base,
                unit=units[index],
                base_unit="" if base is None else units[base],
                dtype=group[0],
                group=group[1],
            )
        )
    return tuple(measures), ""


def _base(
    bases: Sequence[int],
    group: tuple[str, str],
    labels: Sequence[str],
    spread: Sequence[str],
    *,
    alone: bool,
) -> int | None:
    """The baseline's column in *group*, torch's where there are several; None if not told."""
    mine = [i for i in bases if _group(labels[i], spread[i]) == group]
    if not mine and alone:
        mine = list(bases)
    torch = [i for i in mine if words_of(labels[i]) & {"torch", "pytorch"}]
    if len(mine) > 1:
        mine = torch
    return mine[0] if len(mine) == 1 else None


def _group(label: str, above: str) -> tuple[str, str]:
    """The dtype and the group a column belongs to, by its label and the one above."""
    dtype = dtype_in(label) or dtype_in(above)
    group = "" if dtype_in(above) or above == label else above
    return dtype, group
