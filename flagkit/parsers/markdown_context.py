"""What the text around a table says of its rows: operator, dtype, mode and level."""

from __future__ import annotations

import re
from typing import NamedTuple

from flagkit.compare.sizes import normalise_op
from flagkit.model import UNKNOWN
from flagkit.parsers.markdown_cells import without_tags
from flagkit.parsers.markdown_labels import DTYPE, dtype_in
from flagkit.parsers.markdown_units import unit_told
from flagkit.parsers.regimes import kept_mode
from flagkit.parsers.titles import read_title

_HEADING = re.compile(
    r"(?:(?P<marks>#{1,6})\s+|<h(?P<html>[1-6])\b[^<>]*>)(?P<text>.*?)(?:</h[1-6]>)?\s*#*",
    re.IGNORECASE,
)
_FENCE = re.compile(r"(?P<marks>`{3,}|~{3,})\s*(?P<info>[\w+-]*)")
_BLOCK = re.compile(r"#{1,6}\s|<|`{3}|~{3}|\*\*|[-*+]\s|\d{1,3}[.)]\s")
_PLAIN_WORD = re.compile(r"[^\W\d_][\w.]*")
_BOLD = re.compile(r"(?:[-*+]\s+)?(?:\*\*|__)(?P<text>.+?)(?:\*\*|__)[:：]?(?P<rest>[^*]*)")
_SUMMARY = re.compile(r".*<summary>(?P<text>.*?)</summary>.*", re.IGNORECASE)
_LABEL = re.compile(r"(?:op|operator|op_name|算子)\s*[:：=]\s*[`*]*(?P<op>[\w.]+)", re.IGNORECASE)
_NAMED = (
    re.compile(r"\bop(?:erator)?s? `?(?P<op>[a-z_][\w.]*)`?", re.IGNORECASE),
    re.compile(
        r"(?:\b(?:add|optimi[sz]e|opt|improve|implement|tune|update|refactor|support)|[\]】]) ?"
        r"`?(?P<op>[a-z_][\w.]*)`? op(?:erators?)?\b",
        re.IGNORECASE,
    ),
)
"""As in "Add op abs", "Add abs operator" and "Optimize abs op"."""

_ARGUMENT = re.compile(r"\b(?P<name>mode|level)=(?P<value>\w+)")
_QUOTED = re.compile(r"`(?P<op>[A-Za-z_][\w.]*)`")
_NAME = re.compile(r"[a-z_][a-z0-9_]*(?:\.[a-z_]\w*)*")
# fmt: off
_VERBS = frozenset((
    "add", "optimize", "optimise", "opt", "improve", "implement", "tune", "update", "support",
))
_NO_OPERATOR = frozenset((
    "performance", "benchmark", "benchmarks", "result", "results", "summary", "test", "tests",
    "speedup", "latency", "details", "description", "changes", "accuracy", "correctness",
    "overview", "environment", "notes", "note", "kernel", "core", "comprehensive", "operator",
    "wrapper", "cudagraph", "bool", "dtype", "data", "type", "precision", "in", "on", "of", "the",
    "are", "is", "new", "custom", "missing", "more", "this", "triton", "with", "for", "and", "ms",
    "us", "ns", "µs", "μs",
))
# fmt: on
MAX_CAPTION = 100
"""Characters of a line above a table that may name it."""

MAX_LINE = 500
"""A heading is shorter; the patterns here are not made for more."""

_LEVEL = 7
"""Bold lines and labels stand below every heading."""


class _Heading(NamedTuple):
    rank: tuple[int, int]
    """How deep the block it stands in, and its level there."""
    text: str
    op: str = ""
    dtype: str = ""
    mode: str = ""
    level: str = ""


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
        self._caption = ""

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

    @property
    def path(self) -> tuple[str, ...]:
        """The headings, and the line above the table."""
        return (*(one.text for one in self._stack if one.text), self._caption)

    def _nearest(self, field: str) -> str:
        told = (getattr(one, field) for one in reversed(self._stack))
        return next((value for value in told if value), UNKNOWN)

    def feed(self, text: str) -> None:
        """Take note of a line outside tables."""
        text = text[:MAX_LINE]
        if not text:
            return
        if fence := _FENCE.match(text):
            self._fenced(fence["marks"], fence["info"])
            return
        self._caption = "" if text.startswith("<") else text.strip(" *_:：#")[:MAX_CAPTION]
        if "Performance Test" in text and (title := read_title(text)):
            told = _Heading(
                (self._depth, _LEVEL), "", normalise_op(title.op), title.dtype,
                kept_mode(title.mode), title.level,
            )  # fmt: skip
            self._push(told)
        elif not (self._code and text.startswith("# ")):
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
        elif found := _BOLD.fullmatch(text):
            self._put(_LEVEL, found["text"])
        elif label := _LABEL.match(text):
            self._put(_LEVEL, label[0])
        elif _is_label(text):
            self._put(_LEVEL, text)
        elif unit := unit_told(text):
            rank = next((one.rank for one in reversed(self._stack) if one.rank[1] < _LEVEL), (0, 0))
            self._units.append((rank, unit))
        if "</details" in lower:
            self._leave()

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

    def _put(self, level: int, text: str) -> None:
        text = without_tags(text).strip()
        rank = (self._depth, level)
        told = {one["name"]: one["value"] for one in _ARGUMENT.finditer(text)}
        dtype = dtype_in(text)
        rest = DTYPE.sub("", text) if dtype else text
        mode = kept_mode(told["mode"]) if "mode" in told else ""
        self._push(_Heading(rank, text, _operator(rest), dtype, mode, told.get("level", "")))
        if unit := unit_told(text, heading=True):
            self._units.append((rank, unit))

    def _push(self, heading: _Heading) -> None:
        self._pop(heading.rank)
        self._stack.append(heading)
        self._caption = ""

    def _pop(self, rank: tuple[int, int]) -> None:
        while self._stack and self._stack[-1].rank >= rank:
            self._stack.pop()
        while self._units and self._units[-1][0] >= rank:
            self._units.pop()


def _is_label(text: str) -> bool:
    """Whether a plain line says nothing but a dtype, perhaps with an operator."""
    if len(text) > MAX_CAPTION or not dtype_in(text):
        return False
    words = set(_PLAIN_WORD.findall(DTYPE.sub(" ", text).lower())) - _NO_OPERATOR
    if text.endswith((":", "：")):
        return len(words) < 2
    # A list of dtypes says what is supported, not what is below.
    return not words and text[0] not in "-*+"


def _operator(text: str) -> str:
    if label := _LABEL.search(text):
        return normalise_op(label["op"])
    if quoted := _QUOTED.search(text):
        return "" if quoted["op"].lower() in _NO_OPERATOR else normalise_op(quoted["op"])
    for pattern in _NAMED:
        named = pattern.search(text)
        if named and named["op"].lower() not in _NO_OPERATOR | _VERBS:
            return normalise_op(named["op"])
    words = re.sub(r"[^\w. ]", " ", _ARGUMENT.sub(" ", text)).split()
    names = [word for word in words if word.lower() not in _NO_OPERATOR]
    # A verb alone is an operator: "add".
    if len(names) == 1 and _NAME.fullmatch(names[0]) and names[0] == words[0]:
        return normalise_op(names[0])
    return ""
