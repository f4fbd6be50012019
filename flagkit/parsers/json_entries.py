"""The entries of a big JSON object, one at a time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flagkit.parsers.dirt import text_of
from flagkit.parsers.json_rows import decode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_ENTRY = 1 << 26
"""Characters of one entry; no operator's results are as long."""

_BLANKS = re.compile(r"\s*")
_KEY = re.compile(r'(?P<indent>[ \t]+)(?P<key>"(?:[^"\\]|\\.)*")\s*:\s*')


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One key and value of the outermost object, or why they cannot be read.

    ``name`` is empty for a document that is not an object. ``cut``: the text ends with or
    in it, and the object was not closed.
    """

    name: str = ""
    value: Any = None
    line: int = 1
    text: str = ""
    problem: str = ""
    cut: bool = False


def entries(lines: Iterable[bytes]) -> Iterator[Entry]:
    """Read an indented object entry by entry, any other document as a whole.

    Reports written one behind another are read one after another.
    """
    numbered = ((number, text_of(line)) for number, line in enumerate(lines, 1))
    seen = False
    for number, text in numbered:
        bare = text.strip()
        if not bare or bare.startswith("#"):
            continue
        if seen and bare[0] not in "{[":
            continue
        seen = True
        second = next(numbered, None) if bare == "{" else None
        found = _KEY.match(second[1]) if second else None
        if second and found:
            yield from _indented(found["indent"], second, numbered)
        else:
            yield from _whole(text + (second[1] if second else ""), number, numbered)


def _indented(
    indent: str, first: tuple[int, str], numbered: Iterator[tuple[int, str]]
) -> Iterator[Entry]:
    started, text = first
    pieces, size = [text], len(text)
    for number, text in numbered:
        if text.startswith("}"):
            yield _entry(pieces, started)
            return
        if text.startswith(indent + '"'):
            yield _entry(pieces, started)
            pieces, size, started = [], 0, number
        size += len(text)
        if size < MAX_ENTRY:
            pieces.append(text)
    yield _entry(pieces, started, cut=True)


def _entry(pieces: list[str], line: int, cut: bool = False) -> Entry:
    text = "".join(pieces)
    found = _KEY.match(text)
    try:
        if found is None:
            raise ValueError
        name, _ = decode(found["key"])
        value, end = decode(text, found.end())
        if text[end:].strip() not in ("", ","):
            raise ValueError
    except ValueError:
        problem = "the entry is cut" if cut else "the entry is no JSON"
        return Entry(line=line, text=text[:500], problem=problem, cut=cut)
    return Entry(name=str(name), value=value, line=line, cut=cut)


def _whole(first: str, line: int, numbered: Iterator[tuple[int, str]]) -> Iterator[Entry]:
    pieces, size = [first], len(first)
    for _, text in numbered:
        size += len(text)
        if size >= MAX_ENTRY:
            yield Entry(line=line, text=first[:500], problem="the document is too long")
            return
        pieces.append(text)
    text = "".join(pieces)
    start = _blank_end(text, 0)
    while True:
        try:
            value, stop = decode(text, start)
        except ValueError:
            problem = "it is no whole JSON document"
            yield Entry(line=line, text=text[start:][:500], problem=problem, cut=True)
            return
        yield from _members(value, line)
        line += text.count("\n", start, stop)
        start = _blank_end(text, stop)
        line += text.count("\n", stop, start)
        if text[start : start + 1] not in ("{", "["):
            return


def _blank_end(text: str, start: int) -> int:
    found = _BLANKS.match(text, start)
    return found.end() if found else start


def _members(value: Any, line: int) -> Iterator[Entry]:
    """The entries of one document."""
    if isinstance(value, dict) and "op_name" not in value:
        for name, one in value.items():
            yield Entry(name=name, value=one, line=line)
    elif isinstance(value, list):
        for one in value:
            yield Entry(value=one, line=line)
    else:
        yield Entry(value=value, line=line)
