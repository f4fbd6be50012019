"""What the text around a table says of its rows: operator, dtype, mode and level."""

from __future__ import annotations

import re

from flagkit.compare.sizes import normalise_dtype, normalise_op
from flagkit.model import UNKNOWN
from flagkit.parsers.regimes import kept_mode
from flagkit.parsers.titles import read_title

DTYPE = re.compile(
    r"(?<![\w.])(?:torch\.)?(?P<name>float(?:16|32|64)|bfloat16|fp16|bf16|fp32|fp64|u?int(?:8|16|32|64)"
    r"|complex(?:32|64|128)|float8_\w+|bool)(?!\w)",
    re.IGNORECASE,
)

_HEADING = re.compile(r"(?P<marks>#{1,6})\s+(?P<text>.*?)\s*#*")
_BOLD = re.compile(r"(?:[-*+]\s+)?(?:\*\*|__)(?P<text>.+?)(?:\*\*|__)[:：]?(?P<rest>[^*]*)")
_SUMMARY = re.compile(r".*<summary>(?P<text>.*?)</summary>.*", re.IGNORECASE)
_LABEL = re.compile(r"(?:op|operator|op_name|算子)\s*[:：=]\s*[`*]*(?P<op>[\w.]+)", re.IGNORECASE)
_NAMED = (
    re.compile(r"\bop(?:erator)?s? `?(?P<op>[a-z_][\w.]*)`?", re.IGNORECASE),
    re.compile(r"(?:\badd|\]) `?(?P<op>[a-z_][\w.]*)`? op", re.IGNORECASE),
)
"""As in "Add op abs" and "Add abs operator"."""

_ARGUMENT = re.compile(r"\b(?P<name>mode|level)=(?P<value>\w+)")
_QUOTED = re.compile(r"`(?P<op>[A-Za-z_][\w.]*)`")
_NAME = re.compile(r"[a-z_][a-z0-9_]*(?:\.[a-z_]\w*)*")
# fmt: off
_NO_OPERATOR = frozenset((
    "performance", "benchmark", "benchmarks", "result", "results", "summary", "test", "tests",
    "speedup", "latency", "details", "description", "changes", "accuracy", "correctness",
    "overview", "environment", "notes", "note", "kernel", "core", "comprehensive", "operator",
    "wrapper", "cudagraph", "bool", "add", "with", "for", "and", "ms", "us", "ns", "µs", "μs",
))
# fmt: on
MAX_LINE = 500
"""A heading is shorter; the patterns here are not made for more."""

_LEVEL = 7
"""Bold lines and summaries stand below every heading."""


class Context:
    """The headings above a table, outermost first; each may name an operator or a dtype."""

    def __init__(self) -> None:
        self._stack: list[tuple[int, str, str]] = []
        self.mode = UNKNOWN
        self.level = UNKNOWN
        self.unit_told = ""

    @property
    def op(self) -> str:
        """The operator of the nearest heading that names one."""
        return next((op for _, op, _ in reversed(self._stack) if op), UNKNOWN)

    @property
    def dtype(self) -> str:
        """The dtype of the nearest heading that names one."""
        return next((dtype for _, _, dtype in reversed(self._stack) if dtype), UNKNOWN)

    def feed(self, text: str) -> None:
        """Take note of a line outside tables."""
        text = text[:MAX_LINE]
        if "Performance Test" in text and (title := read_title(text)):
            self._push(_LEVEL, normalise_op(title.op), title.dtype)
            self.mode, self.level = kept_mode(title.mode), title.level
        elif heading := _HEADING.fullmatch(text):
            self._put(len(heading["marks"]), heading["text"])
        elif found := _SUMMARY.fullmatch(text) or _BOLD.fullmatch(text):
            self._put(_LEVEL, found["text"])
        elif label := _LABEL.match(text):
            self._put(_LEVEL, label[0])

    def _put(self, level: int, text: str) -> None:
        for told in _ARGUMENT.finditer(text):
            if told["name"] == "mode":
                self.mode = kept_mode(told["value"])
            else:
                self.level = told["value"]
        found = DTYPE.search(text)
        dtype = normalise_dtype(found["name"]) if found else ""
        rest = (text[: found.start()] + text[found.end() :]) if found else text
        self._push(level, _operator(rest), dtype)
        self.unit_told = unit_in(text)

    def _push(self, level: int, op: str, dtype: str) -> None:
        while self._stack and self._stack[-1][0] >= level:
            self._stack.pop()
        self._stack.append((level, op, dtype))


def _operator(text: str) -> str:
    if label := _LABEL.search(text):
        return normalise_op(label["op"])
    if quoted := _QUOTED.search(text):
        return "" if quoted["op"].lower() in _NO_OPERATOR else normalise_op(quoted["op"])
    for pattern in _NAMED:
        named = pattern.search(text)
        if named and named["op"].lower() not in _NO_OPERATOR:
            return normalise_op(named["op"])
    bare = re.sub(r"[^\w. ]", " ", _ARGUMENT.sub(" ", text)).replace("dtype", " ").strip()
    name = bare.split()[0] if bare else ""
    others = bare.lower().split()[1:]
    if _NAME.fullmatch(name) and name not in _NO_OPERATOR and set(others) <= _NO_OPERATOR:
        return normalise_op(name)
    return ""


_UNIT = re.compile(
    r"[(\[（,]\s*(ms|us|µs|μs|ns|s|sec|seconds?|milliseconds?|microseconds?)\s*[)\]）,]"
)


def unit_in(text: str) -> str:
    """The unit of time that *text* names in brackets; empty if none."""
    found = _UNIT.search(text.lower())
    return found[1] if found else ""
