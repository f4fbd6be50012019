"""A log as a stream of lines, in constant memory, whatever its encoding.

:class:`Lines` is an iterable of lines like a binary file, and can also skip: a parser that
is between two tables names what it waits for, and whole blocks without it are passed over
at the speed of a search, with line numbers kept right.
"""

from __future__ import annotations

import codecs
import re
from itertools import islice
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

BLOCK = 1 << 17
"""Bytes read at a time."""

HEAD = 1 << 16
"""What a parser is shown to recognise its format by."""

MAX_LINE = 1 << 24
"""Longer lines are cut here: no record of a run is, but a progress bar that never ends is."""

AT_ONCE = 64
"""Lines that a pattern is held against before the first of them is used."""

LONGEST_ENDING = 1 << 12
"""Bytes of a log's last line that are kept."""

_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


WIDE = 140
"""NUL bytes of a hole that may have swallowed a table's title and all that is below it."""

HOLE = b"\xff\xfe\xff"
"""Stands where a wide hole was: bytes that are text in none of the encodings of logs."""

_LOST = "\ufffd".encode()
_NULS = re.compile(rb"\0{8,}")


class Wanted:
    """What a parser waits for: texts anywhere in a line, and a pattern for its start.

    What stands behind a carriage return starts a line too: on a terminal it is written over
    what stood there.

    :param texts: each with one byte of it that few other lines hold. Where a block lacks the
        byte, which is found out ten times as fast, the text is not looked for.
    """

    def __init__(self, texts: Mapping[bytes, bytes], start: bytes) -> None:
        self.texts = tuple((text, rare, text.index(rare)) for text, rare in texts.items())
        # As text: few logs have what compiling the second one is for.
        self.starts = tuple((mark, mark + start) for mark in (b"\n", b"\r"))


class Lines:
    """The lines of a file, each with its end, numbered from 1.

    :param blocks: the file's bytes in pieces.
    """

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks = blocks
        self._wanted: Wanted | None = None
        self._block = b""
        self._position = 0
        self.number = 0
        """The number of the line given last."""
        self.ending = b""
        """The last line so far that is not blank, given or skipped: where the log ends."""

    def wait_for(self, wanted: Wanted | None) -> None:
        """From now on give only lines that hold *wanted*; all of them again if None."""
        self._wanted = wanted

    def matching(self, line: re.Pattern[bytes]) -> Iterator[Sequence[re.Match[bytes]]]:
        """The lines that come next, some at a time, as long as *line* matches them.

        They count as read when they are given to :meth:`take`. Ends where some were not, so
        that they come again in the ordinary way, and early where a block ends.

        :param line: matches one line with its end, and only from its start.
        """
        block, position = self._block, self._position
        blank = block.find(b"\n\n", position)
        each = line.finditer(block, position, len(block) if blank < 0 else blank + 1)
        while found := list(islice(each, AT_ONCE)):
            if block.count(b"\n", position, found[-1].end()) > len(found):
                found = list(_adjoining(found, position))
                if not found:
                    return
            yield found
            position = found[-1].end()
            if self._position != position:
                return

    def take(self, lines: Sequence[re.Match[bytes]]) -> None:
        """Count *lines*, the first of those that :meth:`matching` gave last, as read."""
        if lines:
            self._position = lines[-1].end()
            self.number += len(lines)

    def __iter__(self) -> Iterator[bytes]:
        for block in _whole_lines(self._blocks):
            self._block, self._position = block, 1
            yield from self._lines(block, len(block))
            if end := block[-LONGEST_ENDING:].rstrip():
                self.ending = end[end.rfind(b"\n") + 1 :]
        self._block, self._position = b"", 0

    def _lines(self, block: bytes, size: int) -> Iterator[bytes]:
        found: dict[object, int] = {}
        while self._position < size:
            position = self._position
            if self._wanted is not None:
                start = _next(block, position, self._wanted, found)
                self.number += block.count(b"\n", position, start)
                if start == size:
                    self.number += not block.endswith(b"\n")
                    return
                position = start
            self._position = block.find(b"\n", position) + 1 or size
            self.number += 1
            yield block[position : self._position]


def _next(block: bytes, position: int, wanted: Wanted, found: dict[object, int]) -> int:
    """Where the next line with something wanted starts; the block's end if none does."""
    none = len(block)
    best = none
    for mark, start in wanted.starts:
        at = found.get(start, -1)
        if at < position - 1:
            # One byte is found much faster than a pattern that begins with it.
            first = block.find(mark, position - 1)
            match = re.compile(start).search(block, first) if first >= 0 else None
            at = found[start] = match.start() if match else none
        best = min(best, at)
    for text, rare, offset in wanted.texts:
        at = found.get(text, -1)
        if at < position:
            first = block.find(rare, position + offset)
            at = block.find(text, first - offset) if first >= 0 else -1
            at = found[text] = none if at < 0 else at
        best = min(best, at)
    if best == none:
        return none
    return block.rfind(b"\n", position - 1, best + 1) + 1


def _adjoining(lines: Iterable[re.Match[bytes]], position: int) -> Iterator[re.Match[bytes]]:
    """Those of *lines* between which and *position* no other line stands."""
    for line in lines:
        if line.start() != position:
            return
        yield line
        position = line.end()


def _whole_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Join *blocks* so that each begins with a line feed and ends with a line.

    The line feed in front belongs to no line: with it, every line follows one.
    """
    rest: list[bytes] = [b"\n"]
    held = 0
    for block in blocks:
        cut = block.rfind(b"\n") + 1
        if cut:
            yield b"".join([*rest, memoryview(block)[:cut]])
            rest, held = [b"\n"], 0
        if cut < len(block) and held < MAX_LINE:
            rest.append(block[cut:])
            held += len(block) - cut
    if held:
        yield b"".join(rest)


def utf8_blocks(head: bytes, read: Callable[[int], bytes]) -> Iterator[bytes]:
    """The file's bytes as UTF-8 (or as they are), byte-order marks and NUL bytes dropped.

    A run of NUL bytes within a line is a hole where text is lost: U+FFFD stands there, so
    that what is left on both sides never joins into a number or a row. :data:`HOLE` stands
    for a long one, between two lines too, but not at the file's start: nothing was before it.

    :param head: the bytes already read from its start.
    :param read: gives the next bytes, as a file's ``read``.
    """
    encoding = encoding_of(head)
    blocks = _raw_blocks(head, read)
    if encoding:
        from flagkit.parsers.utf16 import utf8_of

        blocks = utf8_of(blocks, encoding)
    first = untouched = at_line_start = True
    for block in blocks:
        if first and block:
            block = block.removeprefix(codecs.BOM_UTF8)
            first = False
        if b"\0" in block:
            bare = block.lstrip(b"\0")
            if untouched or (at_line_start and len(block) - len(bare) < WIDE):
                block = bare
            block = _NULS.sub(_hole, block).replace(b"\0", b"")
        if block:
            at_line_start, untouched = block.endswith(b"\n"), False
        yield block


def _hole(nuls: re.Match[bytes]) -> bytes:
    if len(nuls[0]) >= WIDE:
        return HOLE
    before = nuls.string[: nuls.start()][-1:]
    return b"" if before == b"\n" else _LOST


def utf8_head(head: bytes) -> bytes:
    """*head* as :func:`utf8_blocks` gives it."""
    return b"".join(utf8_blocks(head, lambda _: b""))


def encoding_of(head: bytes) -> str:
    """The UTF-16 that *head* is in, by its mark or by where its NUL bytes are; else empty."""
    if head[:2] in _UTF16:
        return _UTF16[head[:2]]
    sample = head[: 1 << 12]
    if len(sample) < 16:
        return ""
    half = len(sample) // 2
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if odd > 0.7 * half and even < 0.1 * half:
        return "utf-16-le"
    if even > 0.7 * half and odd < 0.1 * half:
        return "utf-16-be"
    return ""


def _raw_blocks(head: bytes, read: Callable[[int], bytes]) -> Iterator[bytes]:
    if head:
        yield head
    while block := read(BLOCK):
        yield block


def open_lines(file: IO[bytes], head: bytes) -> Lines:
    """The lines of *file*, of which *head* has been read already."""
    return Lines(utf8_blocks(head, file.read))


def as_lines(lines: Iterable[bytes]) -> Lines:
    """*lines* itself if it can skip, else a view of it that can be asked to."""
    return lines if isinstance(lines, Lines) else _Plain(lines)


class _Plain(Lines):
    """Any iterable of lines: nothing is skipped, since nothing is gained by it."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        super().__init__(())
        self._given = lines

    def __iter__(self) -> Iterator[bytes]:
        for line in self._given:
            self.number += 1
            if end := line[-LONGEST_ENDING:].rstrip():
                self.ending = end
            yield line
