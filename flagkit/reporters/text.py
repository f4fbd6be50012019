"""Numbers and untrusted text, as every reporter writes them.

Operator names, size details and reasons come from logs: nothing in them may act on a
terminal, a spreadsheet or a Markdown page.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

FORMULA_STARTS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\t", "\r", "\n")
"""A spreadsheet takes a cell that starts so for a formula, or for the end of its quotes; in some
languages also by the wide forms of these signs."""


def percent(value: float) -> str:
    """``+0.09%``: two decimals, always with a sign, never a negative zero."""
    return f"{signed(value)}%"


def signed(value: float) -> str:
    """``+0.09``: two decimals, always with a sign, never a negative zero."""
    shown = f"{value:+.2f}"
    return "+0.00" if shown == "-0.00" else shown


def span(low: float, high: float) -> str:
    """A range of per cents: ``-0.43% ~ +0.09%``."""
    return f"{percent(low)} ~ {percent(high)}"


def milliseconds(value: float | None) -> str:
    """Six decimals, as FlagGems prints; more digits where those would show none."""
    if value is None or not isfinite(value):
        return "-"
    return f"{value:.6f}" if value == 0 or abs(value) >= 1e-5 else f"{value:.3g}"


def count(number: int, noun: str) -> str:
    """``1 row``, ``2 rows``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def plain(text: str) -> str:
    """*text* on one line without anything that is not seen as it stands.

    Control characters, escapes, direction overrides, invisible and unassigned characters
    are written out (``\\x1b``, ``\\u202e``).
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _written_out(char) for char in text)


def plain_all(texts: Sequence[str]) -> Sequence[str]:
    """Each of *texts* as :func:`plain` gives it; they are looked at together."""
    return texts if "".join(texts).isprintable() else [plain(text) for text in texts]


def cell(text: str) -> str:
    """*text* as a CSV cell that no spreadsheet takes for a formula."""
    # Checked before and after: what is written out starts with a harmless backslash.
    shown = plain(text)
    stripped = shown.lstrip()
    return f"'{shown}" if stripped.startswith(FORMULA_STARTS) else shown


_MARKDOWN_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"}
_MARKDOWN_ACTIVE = re.compile(
    r"""[\\`|*&<>@]            # escapes, code, table cells, emphasis, tags, mentions
      | ~(?=\S) | (?<=\S)~    # struck out text; a tilde between blanks is a tilde
      | (?<![^\W_])_ | _(?![^\W_])   # an underscore inside a word is no emphasis
      | (?<=\])[(:\[]         # a link's second half
      | ^[\#+=-]              # a heading, a list, a rule
      | \#(?=\d)              # a reference to an issue
      | (?<=:)//              # a bare address
    """,
    re.VERBOSE,
)


def markdown(text: str) -> str:
    """*text* as it is read in a Markdown table or paragraph, and nothing more."""
    return _MARKDOWN_ACTIVE.sub(_markdown_escape, plain(text))


def _markdown_escape(match: re.Match[str]) -> str:
    found = match.group()
    if found == "//":
        return "&#47;/"
    return _MARKDOWN_ENTITIES.get(found, f"\\{found}")


def _written_out(char: str) -> str:
    code = ord(char)
    if char in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[char]
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
