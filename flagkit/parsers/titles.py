"""A table's title: operator, dtype, mode and level, in every version's spelling."""

from __future__ import annotations

import re
from typing import NamedTuple

from flagkit.compare.sizes import is_case, is_dtype
from flagkit.model import UNKNOWN
from flagkit.parsers.layouts import FIRST, Layout

_WORD = r"[\w.+=-]+"
_WORDS = rf"{_WORD}(?: (?:{_WORD}|\([\w.+=, -]+\))){{1,5}}"
_TITLE = re.compile(
    rf"Operator(?P<colon>:)? (?!backward )(?P<op>[^\s\ufffd]+(?: backward)?|(?<=: ){_WORDS})"
    r" {1,2}Performance Test \((?P<args>[^()]*)\)"
)
"""Names are one word, but for ``backward``, until titles got their colon. Then some forks have
names of several plain words; a title with other text among them was glued to another line."""

_REST = r"Performance Test \((?:dtype=|torch\.)"
_VALUE = re.compile(r"[\w.:-]+")


class Title(NamedTuple):
    """What a title says. ``layout`` is how its rows look unless a column line says more."""

    op: str
    dtype: str
    mode: str
    level: str
    layout: Layout = Layout()


_OTHERS = r"SUCCESS|FAILED|PASSED|SKIPPED|Operator|-{3}"
"""What is in no name, but in lines that get glued into one."""


def is_cut_title(text: str) -> bool:
    """Whether *text* holds enough of a title to be one, though none can be read."""
    return re.search(_REST, text) is not None or (
        "Operator" in text and "Performance Test (" in text
    )


def read_title(text: str) -> Title | None:
    """Read the last title in *text*; None if there is none that is whole."""
    start = text.rfind("Operator")
    found = _TITLE.search(text, max(start, 0)) or _TITLE.search(text)
    if found is None or re.search(_OTHERS, found["op"]):
        return None
    args = found["args"].strip()
    if is_dtype(args):
        return Title(found["op"], args, UNKNOWN, UNKNOWN, FIRST)
    fields = dict.fromkeys(("dtype", "mode", "level"), "")
    for part in args.split(","):
        name, equals, value = part.strip().partition("=")
        if not equals or name not in fields or not _VALUE.fullmatch(value):
            return None
        fields[name] = value
    dtype = fields["dtype"]
    if not is_dtype(dtype) and (not is_case(dtype) or re.search(_OTHERS, dtype)):
        return None
    legacy = not found["colon"] and not fields["level"]
    return Title(
        found["op"],
        dtype,
        fields["mode"] or UNKNOWN,
        fields["level"] or UNKNOWN,
        FIRST if legacy else Layout(),
    )
