"""What a column of a Markdown table is, by its label.

A column belongs to the row's key unless it is surely a result: dropped from the key, what
tells two rows apart is lost, and they would pair by the order they stand in.
"""

from __future__ import annotations

import re
from enum import Enum

from flagkit.compare.sizes import normalise_dtype
from flagkit.parsers.markdown_cells import is_figure, is_verdict
from flagkit.parsers.markdown_units import says_time, unit_in

DTYPE = re.compile(
    r"(?<![\w.])(?:torch\.)?(?P<name>float(?:16|32|64)|bfloat16|fp16|bf16|fp32|fp64|u?int(?:8|16|32|64)"
    r"|complex(?:32|64|128)|float8_\w+|bool)(?!\w)",
    re.IGNORECASE,
)


MAX_LABEL = 200
"""Characters of a label that are looked at."""


class Role(Enum):
    """What a column holds."""

    SIZE = "size"
    OP = "op"
    DTYPE = "dtype"
    STATUS = "status"
    GEMS = "gems"
    """The latency under test, by FlagGems' own name."""
    TESTED = "tested"
    """A latency that may be the one under test: Triton's, ours, or nobody's."""
    BASE = "base"
    KEY = "key"
    RESULT = "result"
    MAYBE = "maybe"
    """A result where its cell is a figure or a verdict, else part of the key."""
    MARKED = "marked"
    """A result where its cell is a factor or a percentage, else part of the key."""
    NUMBERING = "numbering"


_NAMES = (
    (
        Role.SIZE,
        (
            r"size detail",
            r"(?:(?:input|tensor|output) )*(?:shape|size|dims)s?\b.*|形状|规模|输入规模",
            r"config(?:uration)?s?|(?:test )?cases?|inputs?|problem(?: size)?|arg(?:ument)?s"
            + r"|param(?:eter)?s?|\(?[a-z](?: ?[x×, /*] ?[a-z])+\)?",
        ),
    ),
    (
        Role.OP,
        (
            r"(?:aten )?(?:op|operator)s?(?: ?names?)?|overload|operation|算子(?:名称?)?",
            r"names?|kernels?(?: names?)?|functions?(?: names?)?|func|apis?|名称",
        ),
    ),
    (Role.DTYPE, (r"d ?types?|data ?types?|数据类型", r"precision|type|精度")),
    (Role.STATUS, (r"status|results?|状态|结果",)),
)
_NAMES_OF = {role: [re.compile(pattern) for pattern in patterns] for role, patterns in _NAMES}

_NUMBERING = re.compile(r"#|no\.?|№|序号")
_RESULT = re.compile(
    r"speed ?-?ups?\b|acceleration|\b[kmgt]?i?b ?/ ?s\b|\b[gt]i?bps\b|flops?\b|bandwidth|throughput"
    r"|tok(?:en)?s? ?/ ?s|improve|regress|\bfaster\b|\bslower\b|\bgeo ?mean\b|verdict|winner|\bwins?\b"
    r"|\bbest\b|correctness|加速|提升|带宽|吞吐|性能比"
)
_WORDS = re.compile(r"[^\W\d_]+|[%#±]")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_DOUBTFUL = _set(
    "ratio gain change changed diff difference delta δ % ± pct percent percentage efficiency util"
    " utilization error errors err score pass passed accuracy acc vs before after correct status"
    " overhead saving savings saved std stdev stddev deviation noise perf performance"
)
_MARKED = _set("gain delta δ std change overhead noise")
"""Arguments of operators are called so too."""

_FILLING = _set("max min avg mean median abs absolute rel relative of the in to over x test")
_GEMS = _set("gems flaggems")
_TESTED = _set("triton kernelgen our ours flag flagtree optimized tuned new tle")
_BASE = _set(
    "torch pytorch native baseline ref reference vllm cudnn cublas cublaslt te eager aten base"
)
_SIDES = _GEMS | _TESTED | _BASE
_BARE = _set(
    "latency time ms us ns op operator kernel cuda gpu npu cpu device impl implementation version"
    " compile serial old before after default naive this pr main"
)
_BARE |= _SIDES | _FILLING
"""What stands in the label of a latency that names no unit."""

_TIMED_ONLY = _set("base flag new tuned optimized tle")
"""Without a unit these may be arguments as well."""

_OTHER_TIME = _set(
    "std stdev stddev deviation delta δ diff difference saved saving savings overhead compilation"
    " tuning autotune warmup"
)
SIDES = _SIDES | _set("before after old prev previous naive main pr")
"""Words that name whose a latency is, or on which side of a change."""


def words_of(label: str) -> frozenset[str]:
    """The words of a label but for its dtype, in lower case."""
    text = DTYPE.sub(" ", DTYPE.sub(" ", label).replace("_", " "))
    return frozenset(_WORDS.findall(text.lower()))


def dtype_in(text: str) -> str:
    """The dtype that *text* names, as torch spells it; empty if none or several."""
    found = DTYPE.findall(text) or DTYPE.findall(text.replace("_", " "))
    names = {normalise_dtype(name.lower()) for name in found}
    return names.pop() if len(names) == 1 else ""


def role_of(label: str) -> tuple[Role, int]:
    """The role of the column called *label*, and how surely: 0 is best."""
    label = label[:MAX_LABEL]
    text = " ".join(label.lower().replace("_", " ").split()).rstrip(":：")
    words = words_of(label)
    if _NUMBERING.fullmatch(text):
        return Role.NUMBERING, 0
    if not words & _GEMS:
        for role, patterns in _NAMES_OF.items():
            for rank, pattern in enumerate(patterns):
                if pattern.fullmatch(text):
                    return role, rank
    if _RESULT.search(text):
        return Role.RESULT, 0
    timed = bool(unit_in(label)) or says_time(label)
    if timed:
        return (Role.RESULT if words & _OTHER_TIME else _side(words) or Role.TESTED), 0
    if words & _DOUBTFUL and words <= _DOUBTFUL | _FILLING | _SIDES:
        return (Role.MARKED if words <= _MARKED | _FILLING else Role.MAYBE), 0
    if "/" in text and len(words & _SIDES) > 1:
        return Role.MAYBE, 0
    return ((words <= _BARE and _side(words - _TIMED_ONLY)) or Role.KEY), 0


def _side(words: frozenset[str]) -> Role | None:
    if words & _GEMS:
        return Role.GEMS
    if words & _BASE and not words & {"triton", "ours", "our"}:
        return Role.BASE
    return Role.TESTED if words & _TESTED else None


def is_result(role: Role, cell: str) -> bool:
    """Whether a column's cell is a result and no part of what names the row."""
    if role is Role.MAYBE:
        return is_figure(cell) or is_verdict(cell)
    if role is Role.MARKED:
        return is_figure(cell, marked=True) or is_verdict(cell)
    return role is not Role.KEY
