"""The lines that may stand in a log around and between its tables, as patterns."""

from __future__ import annotations

import re

from flagkit.parsers import pytest_output
from flagkit.parsers.regimes import FLAGKIT_LINE, MARKER, OLDER_LINE
from flagkit.parsers.stream import HOLE, Wanted

INDENT = re.compile(r"^[ >]{1,40}")
"""What pasting puts in front of a line, as far as :data:`WANTED` sees through it."""

CI_PREFIX = re.compile(r"(?:[^\t]{1,200}\t[^\t]{1,200}\t)?\ufeff?\d{4}-\d\d-\d\dT[\d:.]{8,20}Z ")
"""What hosted CI puts in front of each line."""

# Each alternative begins with one character, not with a repetition: most lines are then
# passed over at their first character. A page's blanks stand in a whole line, if in one.
_START = (
    rb"(?:Operator(?:_Speedup|:?\xc2\xa0)|S(?:UCCESS|tatus|ize )|" + pytest_output.START + rb")"
)
_ESCAPE = rb"[\x1b\x9b\xc2][\[\x9b]?[0-9;?]*[A-Za-z]"
WANTED = Wanted(
    # Lines of plug-ins can follow a file name that pytest has printed, and rows anything.
    {
        b"Performance Test": b"P",
        b"SUCCESS   ": b"U",
        MARKER.encode(): b"H",
        FLAGKIT_LINE.encode(): b"q",
        OLDER_LINE.encode(): b"[",
        # A byte of no text, which is found faster than the whole mark.
        HOLE[:1]: HOLE[:1],
    },
    rb"(?:%s|%s(?:%s)*%s|[ >][ >]{0,39}(?:S(?:UCCESS|tatus|ize )|FAILED |-----))"
    % (_START, _ESCAPE, _ESCAPE, _START),
)
"""What a table's reader waits for where it has lost its patience with foreign lines."""

PROGRESS = re.compile(
    r"(?:[.FEsxXp]+|PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)(?: *\[ *\d+%\])?"
    r"|=====.*|-{5,} .* -{5,}"
)
"""What pytest prints of its progress."""

NATIVE = re.compile(r"Native baseline: N/A \((.*)\)")
"""What FlagGems prints where torch has no counterpart of an operator."""
