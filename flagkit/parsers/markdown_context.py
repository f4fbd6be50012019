"""What the text around a table says of its rows: operator, dtype, mode, level, and which it is."""

from __future__ import annotations

import re
from typing import NamedTuple
from zlib import crc32

from flagkit.compare.sizes import normalise_op
from flagkit.model import UNKNOWN
from flagkit.parsers.markdown_cells import without_tags
from flagkit.parsers.markdown_labels import DTYPE
from flagkit.parsers.markdown_names import MAX_CAPTION, Told, is_label, told_by
from flagkit.parsers.markdown_units import unit_told
from flagkit.parsers.regimes import kept_mode
from flagkit.parsers.titles import read_title

_HEADING = re.compile(
    r"(?:(?P<marks>#{1,6})\s+|<h(?P<html>[1-6])\b[^<>]*>)(?P<text>.*?)(?:</h[1-6]>)?\s*#*",
    re.IGNORECASE,
)
_UNDERLINE = re.compile(r"={2,}|-{2,}")
_FENCE = re.compile(r"(?P<marks>`{3,}|~{3,})\s*(?P<info>[\w+-]*)")
_BLOCK = re.compile(r"#{1,6}\s|<|`{3}|~{3}|\*\*|[-*+]\s|\d{1,3}[.)]\s")
_STRONG = re.compile(r"</?(?:b|strong)>", re.IGNORECASE)
_BOLD = re.compile(
    r"(?:(?:[-*+]|\d{1,3}[.)])\s+)?(?:\*\*|__)(?P<text>.+?)(?:\*\*|__)(?P<rest>[^*]*)"
)
_SUMMARY = re.compile(r".*<summary>(?P<text>.*?)</summary>.*", re.IGNORECASE)

MAX_LINE = 500
"""A heading is shorter; the patterns here are not made for more."""

_LEVEL = 7
"""Bold lines and labels stand below every heading."""

_TITLE = (0, 1)
"""The rank of a text's own title."""


class _Heading(NamedTuple):
    rank: tuple[int, int]
    """How deep the block it stands in, and its level there."""
    text: str
    told: Told
    used: bool = False
    """Whether a table stands below it."""

    def stays(self, other: Told, in_a_row: bool) -> bool:
        """Whether it still holds below one of its own level that says *other*.

        Lines in a row, such as an operator's and a dtype's, hold for one table together. With
        text between them, one that says more than a dtype is about that text.
        """
        names = zip(self.told[:4], other[:4], strict=True)
        names_more = any(mine and not theirs for mine, theirs in names)
        alone = in_a_row or not self.told.more or bool(self.told.op)
        return not self.used and names_more and alone


class Above(NamedTuple):
    """What stands above a table, by which it is told from others of the same rows.

    It depends on nothing else in the text: the same table has the same rows in any text.
    """

    section: str = ""
    """What its headings say beside operator, dtype, mode and level."""
    caption: str = ""
    """The lines between the last heading, or the last table, and this table."""
    path: str = ""
    """All that its headings and its caption say, but for a dtype."""

    def of(self, op: str, dtype: str) -> str:
        """What tells a row apart: the section if the operator is known, else all there is."""
        if op in ("", UNKNOWN):
            return self.path
        if dtype in ("", UNKNOWN) and DTYPE.search(self.caption):
            return _joined(self.section, self.caption)
        return self.section


class _Caption:
    """The lines above a table; long ones are told apart by a checksum."""

    def __init__(self) -> None:
        self._text = ""
        self._sum = 0
        self._long = False
        self.used = False
        """Whether a table stands below it: the next line begins another."""

    def add(self, line: str) -> None:
        """One more line, if it says anything: of those that no longer show, none is looked into."""
        text = line.replace("`", "").strip(" -=*_:：#")
        if text and (self._long or any(told_by(text))):
            self._sum = crc32(text.encode("utf-8", "replace"), self._sum)
            if not self._long:
                whole = _joined(self._text, text)
                self._text, self._long = whole[:MAX_CAPTION], len(whole) > MAX_CAPTION

    def __str__(self) -> str:
        return f"{self._text}... ({self._sum:08x})" if self._long else self._text


class Context:
    """The headings above a table, outermost first; each may name an operator or a dtype.

    What a code block or a ``<details>`` says ends with it.
    """

    def __init__(self) -> None:
        self._stack: list[_Heading] = []
        self._units: list[tuple[tuple[int, int], str]] = []
        self._depth = 0
        self._fence = ""
        self._code = False
        self._summary: str | None = None
        self._caption = _Caption()
        self._line = ""
        self._in_a_row = False

    @property
    def op(self) -> str:
        """The operator of the nearest heading that names one."""
        return self._nearest("op")

    @property
    def dtype(self) -> str:
        """The dtype of the nearest heading that names one."""
        return self._nearest("dtype")

    @property
    def mode(self) -> str:
        """The mode of the nearest heading that names one."""
        return self._nearest("mode")

    @property
    def level(self) -> str:
        """The level of the nearest heading that names one."""
        return self._nearest("level")

    @property
    def unit(self) -> str:
        """The unit that latencies are in, as told last; empty if not told."""
        return self._units[-1][1] if self._units else ""

    def _nearest(self, field: str) -> str:
        told = (getattr(one.told, field) for one in reversed(self._stack))
        return next((value for value in told if value), UNKNOWN)

    def open_table(self) -> Above:
        """Take note of a table; gives what stands above it."""
        naming = [at for at, one in enumerate(self._stack) if one.told.op]
        inner = self._stack[naming[-1] + 1 if naming else 0 :]
        more = [one.text for one in inner if one.told.more and one.rank != _TITLE]
        caption = str(self._caption)
        path = [one.text for one in self._stack if one.told.op or one.told.more]
        nearest = (self._depth + 1, 0)
        for at in reversed(range(len(self._stack))):
            if self._stack[at].rank < nearest:
                nearest = self._stack[at].rank
                self._stack[at] = self._stack[at]._replace(used=True)
        self._caption.used = True
        return Above(_joined(*more), caption, _joined(*path, caption))

    def feed(self, text: str) -> None:
        """Take note of a line outside tables."""
        text = text[:MAX_LINE]
        above, self._line = self._line, ""
        if not text:
            return
        if fence := _FENCE.match(text):
            self._fenced(fence["marks"], fence["info"])
        elif "Performance Test" in text and (title := read_title(text)):
            told = Told(normalise_op(title.op), title.dtype, kept_mode(title.mode), title.level)
            self._push(_Heading((self._depth, _LEVEL), "", told))
            self._say(text)
        elif self._code and text.startswith("# "):
            self._say(text)
        elif above and _UNDERLINE.fullmatch(text):
            self._put(1 if text[0] == "=" else 2, above)
        else:
            self._text(text)

    def ends_table(self, text: str) -> bool:
        """Whether *text*, right below a row, is surely none and ends its table."""
        return not text or bool(_BLOCK.match(text))

    def _fenced(self, marks: str, info: str) -> None:
        if not self._fence:
            self._fence, self._code = marks[0], info.lower() not in ("md", "markdown")
            self._enter()
        elif marks[0] == self._fence:
            self._fence, self._code = "", False
            self._leave()

    def _text(self, text: str) -> None:
        lower = text.lower()
        if "<details" in lower:
            self._enter()
        if self._summary is not None or "<summary" in lower:
            self._summarised(text)
        elif heading := _HEADING.fullmatch(text):
            marks = heading["marks"] or ""
            self._put(len(marks) or int(heading["html"]), heading["text"])
        else:
            if "<" in text:
                text = without_tags(_STRONG.sub("**", text)).strip()
            self._line_of_text(text)
        if "</details" in lower:
            self._leave()

    def _line_of_text(self, text: str) -> None:
        if not text or text[0] == "<":
            return
        if found := _BOLD.fullmatch(text):
            whole = (found["text"] + found["rest"]).replace("**", "")
            self._put(_LEVEL, whole if len(whole) <= MAX_CAPTION else found["text"], found["text"])
            return
        if is_label(text):
            self._put(_LEVEL, text)
            return
        if unit := unit_told(text):
            rank = next((one.rank for one in reversed(self._stack) if one.rank[1] < _LEVEL), (0, 0))
            self._units.append((rank, unit))
        self._say(text)
        if not self._code and len(text) <= MAX_CAPTION and "  " not in text:
            self._line = text

    def _say(self, text: str) -> None:
        """Take a line into the caption of the next table."""
        if self._caption.used:
            self._caption = _Caption()
        self._caption.add(text)
        self._in_a_row = False

    def _summarised(self, text: str) -> None:
        """Gather a summary, which may span lines."""
        self._summary = f"{self._summary or ''} {text}"[:MAX_LINE]
        if "</summary" in text.lower():
            found = _SUMMARY.fullmatch(self._summary)
            self._summary = None
            if found:
                self._put(0, found["text"])

    def _enter(self) -> None:
        self._depth += 1

    def _leave(self) -> None:
        self._depth = max(0, self._depth - 1)
        self._pop((self._depth + 1, 0))

    def _put(self, level: int, text: str, name: str = "") -> None:
        text = without_tags(text).strip()
        rank = (self._depth, level)
        told = told_by(text, name)
        self._push(_Heading(rank, text.replace("`", "").strip(" *_:：#"), told))
        if unit := unit_told(text, heading=True):
            self._units.append((rank, unit))
        if told.op or (0 < level < _LEVEL and not told.dtype):
            self._caption = _Caption()

    def _push(self, heading: _Heading) -> None:
        self._pop(heading.rank, heading.told)
        self._stack.append(heading)
        self._in_a_row = True

    def _pop(self, rank: tuple[int, int], told: Told | None = None) -> None:
        """End what is as deep as *rank*, but for what still holds below a heading of it."""
        above = [one for one in self._stack if one.rank < rank]
        level = [one for one in self._stack if one.rank == rank]
        beside = [one for one in level if told is not None and one.stays(told, self._in_a_row)]
        self._stack = above + beside
        self._units = [one for one in self._units if one[0] < rank or (beside and one[0] == rank)]


def _joined(*texts: str) -> str:
    return " / ".join(text for text in texts if text)
