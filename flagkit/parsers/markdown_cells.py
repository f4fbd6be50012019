"""The cells of a Markdown table: how lines are split, and what a cell's number is."""

from __future__ import annotations

import html
import re

from flagkit.parsers.markdown_units import MILLISECONDS, NAMES, UNCLEAR

_ESCAPED = re.compile(r"\\([\\`*_{}\[\]()<>#+\-.!|~])")
_TAG = re.compile(
    r"</?(?:br|su[bp]|b|i|u|p|code|strong|em|span|kbd|font|small|big|div|center|h\d|a)\b[^<>]{0,200}>",
    re.IGNORECASE,
)
_LINK = re.compile(r"\[([^\[\]]+)\]\((?:https?://|#|\.{0,2}/)[^()\s]*\)")
_BAR = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)+\|?")
_GRID = frozenset("|+-=: ")
_LEAD = re.compile(r"[>\s]*(?:(?:[-*+]|\d{1,3}[.)])\s+(?=\|.*\|\s*$))?")

_DIGITS = r"(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?|\.\d+"
_NUMBER = re.compile(
    rf"[~≈]?\s*(?P<number>{_DIGITS})\s*(?P<unit>{NAMES}|s)?"
    rf"(?:\s*(?:±|\+/-)\s*(?:{_DIGITS})\s*(?P<spread>{NAMES}|s|%)?)?"
    r"(?:\s*\([-+~]?\d+(?:\.\d+)?\s*[x×%]\))?",
    re.IGNORECASE,
)
"""A latency, perhaps with its spread, perhaps with a speedup in brackets behind it."""

_DECORATION = re.compile(r"[✅☑✔🚀🔥⭐🟢🟡🔴⚠⬆⬇↑↓▲▼\ufe0f\u200b]")
_FIGURE = re.compile(
    r"[^\w(\[{]*\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?\s*(?P<mark>%|x|×|倍|pp)?"
    rf"\s*(?:{NAMES}|s|faster|slower|better|worse|higher|lower)?[^\w]*",
    re.IGNORECASE,
)
_VERDICT = re.compile(
    r"\W*(?:pass(?:ed)?|ok|yes|no|true|false|fail(?:ed)?|success|same|match(?:es)?|通过|失败)?\W*",
    re.IGNORECASE,
)
_NOTHING = frozenset(
    ("", "-", "--", "—", "–", "n/a", "na", "none", "nan", "inf", "oom", "fail", "failed", "error")
)
_ELLIPSES = frozenset(("", "...", "…", "⋮", "⋯"))


def unwrapped(line: str) -> str:
    """*line* without what quotes or lists it, and with a text grid's lines as Markdown's."""
    text = line[_LEAD.match(line).end() :].strip()  # type: ignore[union-attr]
    if text[:1] in "+|" and _GRID.issuperset(text):
        text = text.replace("+", "|").replace("=", "-")
    return text


def is_rule(text: str) -> bool:
    """Whether *text* is the line between a table's labels and its rows."""
    return bool(_RULE.fullmatch(text))


def is_closed(text: str) -> bool:
    """Whether a table's line ends with a bar."""
    return text.endswith("|") and not text.endswith("\\|")


def cells_of(text: str) -> list[str]:
    """The cells of one table line, as people read them."""
    body = text.strip()
    body = body.removeprefix("|")
    if is_closed(body):
        body = body[:-1]
    return [_clean(cell) for cell in _BAR.split(body)]


def without_tags(text: str) -> str:
    """*text* without the tags that only dress it."""
    return _TAG.sub(" ", text) if "<" in text else text


def _clean(cell: str) -> str:
    text = without_tags(cell)
    if "&" in text:
        text = html.unescape(text)
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    text = text.replace("`", "").replace("\xa0", " ").strip()
    for mark in ("**", "__", "*"):
        if len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark):
            text = text[len(mark) : -len(mark)].strip()
    return _ESCAPED.sub(r"\1", text)


def is_nothing(cell: str) -> bool:
    """Whether a cell says that there is no value."""
    return cell.strip().lower() in _NOTHING or not cell.strip("❌✗✘×")


def is_elision(cells: list[str]) -> bool:
    """Whether a line only says that rows were left out."""
    return any(cells) and _ELLIPSES.issuperset(cells)


def is_figure(cell: str, *, marked: bool = False) -> bool:
    """Whether a cell is one number, as results are: ``1.25x``, ``+3 %``, ``-0.5 ms``.

    :param marked: only if it says that it is a factor or a percentage.
    """
    found = _FIGURE.fullmatch(cell)
    return found is not None and (not marked or bool(found["mark"]))


def is_verdict(cell: str) -> bool:
    """Whether a cell says yes or no, or nothing."""
    return is_nothing(cell) or bool(_VERDICT.fullmatch(cell))


def milliseconds(cell: str, unit: str) -> float | None:
    """The cell's number in ms, None for a cell that says there is none.

    :param unit: the column's, used where the cell tells none.
    :raises ValueError: saying what is wrong with it.
    """
    if is_nothing(cell):
        return None
    found = _NUMBER.fullmatch(_DECORATION.sub("", cell).strip())
    if found is None:
        raise ValueError(f"no latency: {cell.strip()[:40]!r}")
    told = (found["unit"] or found["spread"] or "").lower().replace("%", "") or unit
    if not told:
        raise ValueError("neither the column nor the cell tells the unit of a latency")
    if told == UNCLEAR:
        raise ValueError("the unit of a latency is not clear from its column")
    value = float(found["number"].replace(",", ""))
    scale = MILLISECONDS[told]
    # Dividing rounds as the printed digits do; 0.001 is no binary fraction.
    return value / (1 / scale) if scale < 1 else value * scale
