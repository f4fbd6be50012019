"""UTF-16 with 8-bit text among it, as one shell's ``>`` and another's ``>>`` leave it."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LEAST = 32
"""Bytes in a row that are printable ASCII each. Two of them are one character of UTF-16, which
is a rare one for most, so that 16 such characters in a row are none."""

_TEXT = rb"[\t\n\r\x1b -~]"
_NARROW = re.compile(_TEXT + rb"{%d,}" % LEAST)
_WIDE = {
    "utf-16-le": re.compile(rb"(?:\xff\xfe)?(?:" + _TEXT + rb"\0){%d,}" % (LEAST // 2)),
    "utf-16-be": re.compile(rb"(?:\xfe\xff)?(?:\0" + _TEXT + rb"){%d,}" % (LEAST // 2)),
}


def utf8_of(blocks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """*blocks* of *encoding* (``utf-16-le`` or ``-be``) as UTF-8; 8-bit text stays as it is."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    wide = True
    held = b""
    for block in blocks:
        data, position = held + block, 0
        while found := (_NARROW if wide else _WIDE[encoding]).search(data, position):
            piece = data[position : found.start()]
            yield decoder.decode(piece).encode("utf-8", "replace") if wide else piece
            position, wide = found.start(), not wide
            decoder.reset()
        # What changes next may begin in the last bytes.
        end = max(position, len(data) - LEAST - 2)
        piece, held = data[position:end], data[end:]
        yield decoder.decode(piece).encode("utf-8", "replace") if wide else piece
    yield decoder.decode(held).encode("utf-8", "replace") if wide else held
