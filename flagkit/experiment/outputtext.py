"""What compared outputs come to in words: a report's notes."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from flagkit.compare.closeness import tolerance
from flagkit.model import Note

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from flagkit.experiment.outputs import Ruling
    from flagkit.model import RowKey

MOST_NAMED = 10
"""Wrong rows, and reasons for unchecked ones, that get a note of their own."""


def notes_of(rulings: Sequence[tuple[RowKey, Ruling]]) -> list[Note]:
    """``wrong-result`` for each wrong row, ``unchecked`` for each reason, one ``checked``."""
    return [*_wrong(rulings), *_unchecked(rulings), *_checked([ruling for _, ruling in rulings])]


def wrong_value(data: Mapping[str, Any]) -> str:
    """The worst value of an output, and how many are wrong."""
    place = f"[{', '.join(map(str, data['place']))}]" if data["place"] else ""
    difference = data["difference"]
    off = "" if math.isnan(difference) else f", off by {difference:.3g}"
    off += f" where {data['allowed']:.3g} is allowed" if off else ""
    part = "sampled values" if data["compared"] < data["elements"] else "values"
    text = (
        f"{data['output']}{place} is {_number(data['before'])} before and "
        f"{_number(data['after'])} after"
        f"{off} ({data['dtype']} {tolerance(data['dtype'])}); "
        f"{data['off']} of {data['compared']} {part} are off"
    )
    return text if data["repeats"] else f"{text}; the after side differs from run to run"


def wrong_shape(name: str, before: str, after: str) -> str:
    """Outputs that cannot be the same: other things returned, other types or shapes."""
    return f"{name} gives {before} before and {after} after"


def unravel(index: int, shape: Sequence[int]) -> tuple[int, ...]:
    """The place of element *index* of an array, as one index a dimension."""
    place = []
    for n in reversed(shape):
        index, at = divmod(index, n) if n else (0, 0)
        place.append(at)
    return tuple(reversed(place))


def _wrong(rulings: Sequence[tuple[RowKey, Ruling]]) -> Iterator[Note]:
    wrong = [(key, ruling) for key, ruling in rulings if ruling.state == "wrong"]
    for key, ruling in wrong[:MOST_NAMED]:
        row = {
            "op": key.op,
            "dtype": key.dtype,
            "size_key": key.size_key,
            "occurrence": key.occurrence,
            "node": key.node,
        }
        text = f"wrong result: {key.text()}: {ruling.detail}"
        data = {"rows": 1, "row": row, **ruling.data}
        yield Note(code="wrong-result", text=text, data=data)
    more = len(wrong) - MOST_NAMED
    if more > 0:
        text = f"wrong result: {_rows(more)} more"
        yield Note(code="wrong-result", text=text, data={"rows": more})


def _unchecked(rulings: Sequence[tuple[RowKey, Ruling]]) -> Iterator[Note]:
    left = Counter(ruling.detail for _, ruling in rulings if ruling.state == "unchecked")
    for reason, count in left.most_common(MOST_NAMED):
        text = f"{_rows(count)} not checked: {reason}"
        yield Note(code="unchecked", text=text, data={"rows": count, "reason": reason})
    more = sum(left.values()) - sum(count for _, count in left.most_common(MOST_NAMED))
    if more:
        text = f"{_rows(more)} not checked, for other reasons"
        yield Note(code="unchecked", text=text, data={"rows": more, "reason": ""})


def _checked(rulings: Sequence[Ruling]) -> Iterator[Note]:
    states = Counter(ruling.state for ruling in rulings)
    checked = len(rulings) - states["unchecked"]
    if not checked:
        return
    types = sorted({name for ruling in rulings for name in ruling.types})
    parts = [f"{states['equal']} bitwise equal"]
    if states["close"]:
        limits = ", ".join(f"{name} {tolerance(name)}" for name in types)
        parts.append(f"{states['close']} within tolerance ({limits})")
    if states["wrong"]:
        parts.append(f"{states['wrong']} wrong")
    sampled = sum(ruling.sampled and ruling.state == "close" for ruling in rulings)
    text = f"{_rows(checked)} checked: {', '.join(parts)}"
    if sampled:
        text += f"; of {_rows(sampled)} a sample of the values"
    data = {
        "rows": checked,
        **{name: states[name] for name in ("equal", "close", "wrong", "unchecked")},
        "sampled": sampled,
        "tolerances": {
            name: {"rtol": tolerance(name).rtol, "atol": tolerance(name).atol} for name in types
        },
    }
    yield Note(code="checked", text=text, data=data)


def _number(value: complex) -> str:
    """Digits enough that two values out of tolerance look different."""
    return str(value) if isinstance(value, int) else f"{value:.9g}"


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"
