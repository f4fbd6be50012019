"""What a heading of a Markdown text names: operator, dtype, mode and level, and what else."""

from __future__ import annotations

import re
from typing import NamedTuple

from flagkit.compare.sizes import normalise_op
from flagkit.parsers.markdown_labels import DTYPE, dtype_in
from flagkit.parsers.regimes import kept_mode

_NUMBERED = re.compile(r"\s*(?:\d{1,3}[.)])+(?:\d{1,3}(?=\s))?\s+")
_PLAIN_WORD = re.compile(r"[^\W\d_][\w.]*")
_LABEL = re.compile(r"(?:op|operator|op_name|算子)\s*[:：=]\s*[`*]*(?P<op>[\w.]+)", re.IGNORECASE)
_DTYPE_LABEL = re.compile(
    r"(?:d_?type|data ?type|precision|数据类型|精度)s?\s*[:：=]", re.IGNORECASE
)
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
_WORDED = (
    re.compile(r"\b(?P<mode>kernel|operator|wrapper|cudagraph)[ -]mode\b", re.IGNORECASE),
    re.compile(r"\b(?P<level>core|comprehensive)[ -]level\b", re.IGNORECASE),
)
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
    "us", "ns", "µs", "μs", "mode", "level", "after", "before",
))
_SAYS_NOTHING = _NO_OPERATOR | frozenset((
    "comparison", "comparisons", "table", "tables", "perf", "report", "measurement",
    "measurements", "evaluation", "numbers", "figures", "timing", "timings", "time", "times",
    "lower", "higher", "is", "better", "torch", "pytorch", "vs", "against", "gems", "flaggems",
    "to", "by", "and", "all", "unit", "units", "gpu", "op", "ops", "operators",
    "性能", "测试", "结果", "数据", "对比", "性能测试", "测试结果", "性能数据", "性能对比", "性能测试结果",
    "精度", "数据类型", "算子",
)) - frozenset(("kernel", "core", "comprehensive", "wrapper", "cudagraph", "after", "before"))
"""Words of a heading that tell no table from another."""
# fmt: on
MAX_CAPTION = 100
"""Characters of a line above a table that may name it."""


class Told(NamedTuple):
    """What one heading names; empty where it does not."""

    op: str = ""
    dtype: str = ""
    mode: str = ""
    level: str = ""
    more: bool = False
    """Whether it says anything else that may tell tables apart."""


def told_by(text: str, name: str = "") -> Told:
    """What a heading says.

    :param name: the part of it that stands out, if any: only there an operator is looked for,
        but for one that is labelled as such.
    """
    text = _NUMBERED.sub("", text, count=1) if text[:1].isdigit() else text
    dtype = dtype_in(text)
    rest = DTYPE.sub("", text) if dtype else text
    arguments = {one["name"]: one["value"] for one in _ARGUMENT.finditer(text)}
    mode = kept_mode(arguments["mode"]) if "mode" in arguments else ""
    level = arguments.get("level", "")
    worded = [found for pattern in _WORDED if (found := pattern.search(text))]
    for found in worded:
        mode = mode or (found.groupdict().get("mode") or "").lower()
        level = level or (found.groupdict().get("level") or "").lower()
        rest = rest.replace(found[0], "")
    label = _LABEL.search(rest)
    op = normalise_op(label["op"]) if label else operator_in(DTYPE.sub("", name) or rest)
    words = {word.lower() for word in re.findall(r"\w+", _ARGUMENT.sub(" ", rest))}
    return Told(op, dtype, mode, level, bool(worded) or not words <= _SAYS_NOTHING)


def is_label(text: str) -> bool:
    """Whether a plain line says nothing but an operator or a dtype, or both."""
    if len(text) > MAX_CAPTION:
        return False
    bare = text.lstrip("-*+ ")
    if _LABEL.match(bare) or (_DTYPE_LABEL.match(bare) and dtype_in(bare)):
        return True
    if (quoted := _QUOTED.fullmatch(text.rstrip(":："))) and not dtype_in(text):
        return quoted["op"].lower() not in _NO_OPERATOR
    if not dtype_in(text):
        return False
    words = set(_PLAIN_WORD.findall(DTYPE.sub(" ", text).lower())) - _NO_OPERATOR
    if text.endswith((":", "：")):
        return len(words) < 2
    # A list of dtypes says what is supported, not what is below.
    return not words and text[0] not in "-*+"


def operator_in(text: str) -> str:
    """The operator that *text*, without its dtype, names; empty if none."""
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
