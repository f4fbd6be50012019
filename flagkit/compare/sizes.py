"""Normalised names: one key for one size, however a log spells it.

A printed table shows Python's ``repr`` of the arguments, a record log the same as JSON.
Both get one canonical text, compact JSON, so that they pair:
``[torch.Size([64, 64]), 0.5]`` and ``[[64, 64], 0.5]`` are ``[[64,64],0.5]``.

Text is untrusted: nothing is evaluated, work grows linearly, nothing is raised.
"""

from __future__ import annotations

import re
from functools import lru_cache
from json import JSONEncoder
from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_TEXT = 1 << 16
"""Longer details are kept as text: no operator has that many arguments."""

MAX_KEPT = 500
"""Characters of a detail whose key is remembered: sizes repeat within a log and between two."""

MAX_DEPTH = 32
"""Deeper nesting is kept as text."""

_encode = JSONEncoder(separators=(",", ":")).encode
_BLANKS = re.compile(r"\s+")

_LENGTH = r"(?:[1-9][0-9]*|0)"
_INT = r"(?:[1-9][0-9]*|0|-[1-9][0-9]*|-0)"
_SIZE = rf"torch\.Size\(\[(?:{_LENGTH}(?:, {_LENGTH})*)?\]\)"
_PLAIN = re.compile(rf"\[(?:{_SIZE}|{_INT})(?:, (?:{_SIZE}|{_INT}))*\]")
"""Sizes and whole numbers in one list: most rows. Its key needs no tokens."""

# As text: compiled when the first detail comes that is not plain, since most logs have none.
_PIECE = r"""(?xsa)\s*(?:
      (?P<open>(?:torch\.)?Size\(|[\[({])
    | (?P<close>[\])}])
    | (?P<mark>[,:])
    | (?P<number>[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)(?![\w.])
    | (?P<name>-?[A-Za-z_][\w]*(?:\.[A-Za-z_]\w*)*)(?![\w.'"(])
    | (?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    )"""

_NAMES = {
    "True": "true",
    "true": "true",
    "False": "false",
    "false": "false",
    "None": "null",
    "null": "null",
    "inf": "Infinity",
    "Infinity": "Infinity",
    "-inf": "-Infinity",
    "-Infinity": "-Infinity",
    "nan": "NaN",
    "NaN": "NaN",
}

_CLOSES = {"[": "]", "(": ")", "{": "}", "torch.Size(": ")", "Size(": ")"}

_DTYPES = {
    "fp16": "float16",
    "half": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "float": "float32",
    "fp64": "float64",
    "double": "float64",
}
_TORCH_DTYPE = re.compile(
    r"bool|bfloat16|float(?:16|32|64|[48]_e\dm\d\w*)|u?int(?:[1-8]|16|32|64)"
    r"|complex(?:32|64|128)|[cq]float|qu?int(?:8|32|\dx\d)|bits(?:8|16|\dx\d)"
)
"""Names of torch's dtypes, in full: the beginning of one, or one with more, is none."""

_CASE = re.compile(r"(?!(?:torch|b?float|q?u?int|complex|bits)(?:\d|$))[A-Za-z]\w*", re.ASCII)
"""A word that some benchmarks have in a dtype's place for a case of theirs, as ``scalar_only``.

None that begins as a dtype does: that is one which something was glued into.
"""


def size_key(detail: object) -> str:
    """The canonical form of a size detail, given as text or as a value from JSON.

    Text that is no value stays as it is, blanks folded.
    """
    if isinstance(detail, str):
        key = value_key(detail)
        return _folded(detail) if key is None else key
    try:
        return _encode(detail)
    except (TypeError, ValueError, RecursionError):
        return _folded(repr(type(detail)))


def value_key(text: str) -> str | None:
    """The canonical form of *text* if it is one complete value, else None."""
    return _kept_key(text) if len(text) < MAX_KEPT else read_value(text)


def read_value(text: str) -> str | None:
    """:func:`value_key` for a caller that remembers what it has read."""
    if _PLAIN.fullmatch(text):
        # A closing "])" can only be a Size's here, so no nesting has to be followed.
        return text.replace("torch.Size([", "[").replace("])", "]").replace(" ", "")
    return _canonical(text)


_kept_key = lru_cache(maxsize=1 << 15)(read_value)


@lru_cache(maxsize=1 << 12)
def normalise_op(op: str) -> str:
    """The operator's name; the suffix `` backward`` of older logs is ``_backward``."""
    op = _folded(op)
    return f"{op[:-9]}_backward" if op.endswith(" backward") else op


@lru_cache(maxsize=1 << 10)
def normalise_dtype(dtype: str) -> str:
    """``torch.float16`` for ``float16``, ``fp16`` and the like; other names as they are."""
    text = _folded(dtype).strip("`'\"")
    short = _DTYPES.get(text.lower(), text)
    return f"torch.{short}" if _TORCH_DTYPE.fullmatch(short) else text


def is_dtype(text: str) -> bool:
    """Whether *text* is a dtype's name as benchmarks print it; ``None`` is one too."""
    named = _TORCH_DTYPE.fullmatch(text.removeprefix("torch."))
    return named is not None or text == "None" or text in _DTYPES


def is_case(text: str) -> bool:
    """Whether *text* may stand for a case where a title has its dtype, and is none itself."""
    return _CASE.fullmatch(text) is not None


def _folded(text: str) -> str:
    return _BLANKS.sub(" ", text).strip()


def _canonical(text: str) -> str | None:
    """*text* as compact JSON, or None if it is not one value."""
    if len(text) > MAX_TEXT:
        return None
    try:
        return _Reader(text).read()
    except _NotAValueError:
        return None


class _NotAValueError(Exception):
    pass


class _Group:
    """An open bracket: what it was, where its text starts, and what it holds so far."""

    __slots__ = ("after_colon", "commas", "items", "keys", "opener", "start")

    def __init__(self, opener: str, start: int) -> None:
        self.opener = opener
        self.start = start
        self.items = 0
        self.commas = 0
        self.keys = 0
        self.after_colon = False


class _Reader:
    """Reads one value without recursion, writing its canonical text as it goes."""

    def __init__(self, text: str) -> None:
        self._text = text.rstrip()
        self._out: list[str] = []
        self._groups: list[_Group] = []
        self._wants_value = True

    def read(self) -> str:
        """The value's text; raises :class:`_NotAValueError`."""
        position, end = 0, len(self._text)
        actions: dict[str | None, Callable[[str], None]] = {
            "open": self._open,
            "close": self._close,
            "mark": self._mark,
            "number": self._number,
            "name": self._name,
            "string": self._string,
        }
        token_at = re.compile(_PIECE).match
        while position < end:
            token = token_at(self._text, position)
            if token is None or (position and not self._groups):
                raise _NotAValueError
            kind = token.lastgroup
            actions[kind](token[kind or 0])
            position = token.end()
        if self._groups or self._wants_value:
            raise _NotAValueError
        return "".join(self._out)

    def _open(self, opener: str) -> None:
        self._begin_value()
        if len(self._groups) >= MAX_DEPTH:
            raise _NotAValueError
        self._groups.append(_Group(opener, len(self._out)))
        self._out.append("{" if opener == "{" else "[")
        self._wants_value = True

    def _close(self, closer: str) -> None:
        group = self._groups.pop() if self._groups else None
        if group is None or _CLOSES[group.opener] != closer:
            raise _NotAValueError
        if self._wants_value:
            # Nothing since the bracket or a comma: an empty group or Python's last comma.
            if group.items != group.commas or group.after_colon:
                raise _NotAValueError
            if group.commas:
                self._out.pop()
        elif group.opener == "{" and group.keys != group.items:
            raise _NotAValueError
        self._finish(group)
        self._wants_value = False

    def _finish(self, group: _Group) -> None:
        if group.opener == "{":
            self._out.append("}")
        elif group.opener.endswith("Size("):
            lengths = self._out[group.start + 2 : -1]
            if group.items != 1 or self._out[group.start + 1][:1] != "[":
                raise _NotAValueError
            if not all(part == "," or part.isdecimal() for part in lengths):
                raise _NotAValueError
            self._out[group.start] = ""
        elif group.opener == "(" and group.items == 1 and not group.commas:
            self._out[group.start] = ""
        else:
            self._out.append("]")

    def _mark(self, mark: str) -> None:
        if self._wants_value or not self._groups:
            raise _NotAValueError
        group = self._groups[-1]
        if mark == ":":
            if group.opener != "{" or group.keys != group.items - 1:
                raise _NotAValueError
            group.keys += 1
            group.after_colon = True
            key = self._out[-1]
            if key[:1] in ("]", "}"):
                raise _NotAValueError
            if key[:1] != '"':
                self._out[-1] = f'"{key}"'
        else:
            if group.opener == "{" and group.keys != group.items:
                raise _NotAValueError
            group.commas += 1
        self._out.append(mark)
        self._wants_value = True

    def _number(self, text: str) -> None:
        self._begin_value()
        digits = text.lstrip("+-")
        if digits.isdigit():
            if len(digits) > 1 and digits[0] == "0":
                raise _NotAValueError
            self._out.append(text.lstrip("+"))
        else:
            self._out.append(_encode(float(text)))

    def _name(self, text: str) -> None:
        self._begin_value()
        known = _NAMES.get(text)
        if known is None:
            if not text.startswith("torch."):
                raise _NotAValueError
            known = f'"{text}"'
        self._out.append(known)

    def _string(self, text: str) -> None:
        self._begin_value()
        self._out.append(encode_basestring_ascii(_unquoted(text)))

    def _begin_value(self) -> None:
        if not self._wants_value:
            raise _NotAValueError
        if self._groups:
            group = self._groups[-1]
            group.items += not group.after_colon
            group.after_colon = False
        self._wants_value = False


_ESCAPE = r"(?s)\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))"
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v", "0": "\0"}


def _unquoted(text: str) -> str:
    body = text[1:-1]
    return re.sub(_ESCAPE, _unescaped, body) if "\\" in body else body


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if code is None:
        return _SIMPLE.get(found[4], found[4])
    point = int(code, 16)
    return chr(point) if point <= 0x10FFFF else "\ufffd"
