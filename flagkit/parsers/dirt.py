"""What a terminal would show: escape sequences, overwritten lines, stray control bytes.

A log is often a terminal's bytes, not text: colours, progress bars that rewrite their line
(CR), cursor moves left by tmux or screen, NUL bytes from a hole in a file. :func:`shown`
gives the text that stood on the screen when the line was done.
"""

from __future__ import annotations

import re

_SUSPECT = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")

# As text: compiled when the first line with any comes, since most logs have none.
_SEQUENCE = r"""(?x)
      \x1b\[ (?P<args>[0-?]*) [ -/]* (?P<final>[@-~])         # CSI: colours, cursor moves
    | \x1b[\]PX^_k] [^\x07\x1b]* (?:\x07|\x1b\\|$)            # OSC, DCS, titles of screen
    | \x1b(?P<move>[DEM])                                     # index, next line, reverse index
    | \x1b[ -/]*[0-~]                                         # other short ones
    | (?P<control>[\r\b\x0b\x0c])
    | [\x00-\x07\x0e-\x1f\x7f]
    """

_NARROW_CSI = re.compile(rb"\xc2\x9b|(?<![\x80-\xff])\x9b")
"""The one character that terminals take for ESC and a bracket, in UTF-8 and in eight bits."""

_BLANKS = dict.fromkeys((0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " ")
"""What web pages and editors have in place of blanks, as Unicode's category of them lists it."""

MAX_RENDERED = 1 << 16
"""Characters of a line whose overwriting is followed step by step."""

MAX_COLUMN = 1 << 16
"""No screen is wider; a cursor sent further out must not cost memory."""


def text_of(line: bytes) -> str:
    """*line* as text. UTF-8, else GBK (comments in older logs), else marked as unreadable."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        pass
    try:
        return line.decode("gb18030")
    except UnicodeDecodeError:
        return line.decode("utf-8", "replace")


def shown(line: bytes) -> list[str]:
    """The lines a terminal would show for *line*, without its end; nearly always one.

    A cursor sent to another screen line begins a new one.
    """
    line = line.rstrip(b"\r\n")
    if b"\x9b" in line:
        line = _NARROW_CSI.sub(b"\x1b[", line)
    text = text_of(line)
    if not text.isascii():
        text = text.translate(_BLANKS)
    if not _SUSPECT.search(line):
        return [text]
    if len(text) > MAX_RENDERED:
        # Only what was written last is worth its work.
        return [re.sub(_SEQUENCE, "", text.rpartition("\r")[2])]
    return _render(text)


def plain(line: bytes) -> str:
    """The last line that *line* shows."""
    return shown(line)[-1]


def _render(text: str) -> list[str]:
    screen: list[str] = []
    cells: list[str] = []
    column = position = 0
    for found in re.finditer(_SEQUENCE, text):
        column = _write(cells, column, text[position : found.start()])
        position = found.end()
        control, final, move = found["control"], found["final"], found["move"]
        if control == "\r":
            column = 0
        elif control == "\b":
            column = max(0, column - 1)
        elif control or move or (final and final in "ABEFHdf"):
            screen.append("".join(cells))
            cells, column = [], _column_after(final, found["args"], column)
        elif final:
            column = _edit(cells, column, final, found["args"])
    _write(cells, column, text[position:])
    screen.append("".join(cells))
    kept = [line for line in screen if line.strip()]
    return kept or [""]


def _write(cells: list[str], column: int, text: str) -> int:
    if not text:
        return column
    if column > len(cells):
        cells.extend(" " * (column - len(cells)))
    cells[column : column + len(text)] = text
    return column + len(text)


def _edit(cells: list[str], column: int, final: str, args: str) -> int:
    """Apply a sequence that stays on the line; gives the cursor's new column."""
    count = _number(args, 1)
    if final == "C":
        return min(column + count, MAX_COLUMN)
    if final == "D":
        return max(0, column - count)
    if final == "G":
        return min(count - 1, MAX_COLUMN)
    if final == "K":
        mode = _number(args, 0)
        if mode == 0:
            del cells[column:]
        elif mode == 1:
            cells[:column] = " " * min(column, len(cells))
        else:
            cells.clear()
    elif final == "b" and 0 < column <= len(cells):
        return _write(cells, column, cells[column - 1] * min(count, MAX_COLUMN - column))
    elif final == "P":
        del cells[column : column + count]
    elif final == "X":
        end = min(column + count, len(cells))
        cells[column:end] = " " * (end - column)
    return column


def _column_after(final: str | None, args: str | None, column: int) -> int:
    if final in ("H", "f"):
        _, _, wanted = (args or "").partition(";")
        return min(_number(wanted, 1) - 1, MAX_COLUMN)
    return min(column, MAX_COLUMN) if final in ("A", "B", "d") else 0


def _number(text: str, default: int) -> int:
    digits = text.split(";")[0][:6]
    return max(int(digits), 1 if default else 0) if digits.isdecimal() else default
