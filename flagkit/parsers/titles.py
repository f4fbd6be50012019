"""A table's title: operator, dtype, mode and level, in every version's spelling."""

from __future__ import annotations

import re
from typing import NamedTuple

from flagkit.compare.sizes import is_dtype
from flagkit.model import UNKNOWN
from flagkit.parsers.layouts import Layout

_TITLE = re.compile(
    r"Operator(?P<colon>:)? (?P<op>[^\s\ufffd]+(?: backward)?) {1,2}Performance Test \((?P<args>[^()]*)\)"
)
_VALUE = re.compile(r"[\w.:-]+")


class Title(NamedTuple):
    """What a title says. ``layout`` is how its rows look unless a column line says more."""

    op: str
    dtype: str
    mode: str
    level: str
    layout: Layout = Layout()


def read_title(text: str) -> Title | None:
    """Read the last title in *text*; None if there is none that is whole."""
    start = text.rfind("Operator")
    found = _TITLE.search(text, max(start, 0)) or _TITLE.search(text)
    if found is None:
        return None
    args = found["args"].strip()
    if is_dtype(args):
        return Title(found["op"], args, UNKNOWN, UNKNOWN, _LEGACY)
    fields = dict.fromkeys(("dtype", "mode", "level"), "")
    for part in args.split(","):
        name, equals, value = part.strip().partition("=")
        if not equals or name not in fields or not _VALUE.fullmatch(value):
            return None
        fields[name] = value
    if not is_dtype(fields["dtype"]):
        return None
    legacy = not found["colon"] and not fields["level"]
    return Title(
        found["op"],
        fields["dtype"],
        fields["mode"] or UNKNOWN,
        fields["level"] or UNKNOWN,
        _LEGACY if legacy else Layout(),
    )


_LEGACY = Layout(detail=False, status=False)
