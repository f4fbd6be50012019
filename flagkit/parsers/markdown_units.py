"""Units of time in labels, headings and sentences."""

from __future__ import annotations

import re

MILLISECONDS = {
    **dict.fromkeys(("ms", "msec", "msecs", "millisecond", "milliseconds", "毫秒"), 1.0),
    **dict.fromkeys(
        ("us", "µs", "μs", "usec", "usecs", "microsecond", "microseconds", "微秒"), 1e-3
    ),
    **dict.fromkeys(("ns", "nsec", "nsecs", "nanosecond", "nanoseconds", "纳秒"), 1e-6),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds", "秒"), 1e3),
}
"""What one of each unit is in ms."""

NAMES = "|".join(sorted((name for name in MILLISECONDS if name != "s"), key=len, reverse=True))
"""Every unit but ``s``, which alone may be anything, as a pattern."""

UNCLEAR = "?"
"""The unit of a text that names one in a way that is not understood."""

_TIME = re.compile(
    r"(?<![a-z])(?:latency|latencies|runtime|elapsed|duration|time)(?![a-z])"
    r"(?! ?(?:step|stamp|out|mode|zone|type|limit|window|dim|bound)s?(?![a-z]))"
    r"|耗时|延迟|时间|用时|时延"
)
_BRACKETED = re.compile(rf"[(\[（【,，]\s*(?P<unit>{NAMES}|s)\s*(?:[)\]）】,，;]|$)")
_BARE = re.compile(rf"(?<![a-zµμ])(?P<unit>{NAMES})(?![a-z0-9µμ])")
_FACTOR = re.compile(r"(?:^|[\s(\[（*×/,])[x×]?\d[\d.,^e⁻⁰¹²³⁴⁵⁶⁷⁸⁹*×-]*\s*$")
_SPEAKS = re.compile(r"(?<![a-z])(?:units?|all|numbers|values|results|figures)(?![a-z])|单位")
_TOLD = re.compile(
    rf"(?:(?<![a-z])(?:in|units?(?: is| are)?)|单位)[\s:：=为是]*\W{{0,3}}(?P<unit>{NAMES})(?![a-z])"
)


def says_time(text: str) -> bool:
    """Whether *text* speaks of a latency."""
    return bool(_TIME.search(text.lower().replace("_", " ")))


def unit_in(text: str) -> str:
    """The unit of time that a label names, in brackets or as a word; empty if none.

    :data:`UNCLEAR` where it names several, or a multiple of one.
    """
    text = text.lower().replace("_", " ")
    found = [one for one in _BRACKETED.finditer(text) if _is_unit(one, text)]
    if not found:
        found = list(_BARE.finditer(text))
        if any(_FACTOR.search(text[: one.start()]) for one in found):
            return UNCLEAR
    return _the_one([one["unit"] for one in found])


def unit_told(text: str, *, heading: bool = False) -> str:
    """The unit that a sentence or a heading says latencies are in; empty if none.

    A heading may name it in brackets and say no more.
    """
    text = text.lower()
    if not (heading or says_time(text) or _SPEAKS.search(text)):
        return ""
    found = [one["unit"] for one in _TOLD.finditer(text)]
    return _the_one(
        found or [one["unit"] for one in _BRACKETED.finditer(text) if _is_unit(one, text)]
    )


def _is_unit(found: re.Match[str], text: str) -> bool:
    """``Arg(s)`` is a plural, ``Time(s)`` and ``Torch (s)`` are seconds."""
    before = text[: found.start()]
    return found["unit"] != "s" or before.endswith(" ") or says_time(before)


def _the_one(units: list[str]) -> str:
    if len({MILLISECONDS[unit] for unit in units}) > 1:
        return UNCLEAR
    return units[0] if units else ""
