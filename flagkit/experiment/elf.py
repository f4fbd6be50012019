"""Reads the code sections of an ELF file: what runs, without symbols, paths and line tables.

Every offset is checked before it is used: a file from a cache may be cut short.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flagkit.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

MAGIC = b"\x7fELF"
MOST_SECTIONS = 65_279
"""Section indices above are reserved by the format (SHN_LORESERVE)."""
NO_BITS = 8
"""A section type that occupies no bytes in the file (SHT_NOBITS)."""
EXECUTABLE = 4
"""The flag of a section that holds instructions (SHF_EXECINSTR)."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section's name, whether it holds instructions, and its bytes."""

    name: str
    executable: bool
    content: bytes


def code_hash(content: bytes) -> str:
    """SHA-256 over the code sections, in order of their names.

    Code is what is named ``.text`` or begins so, or is marked as instructions. Raises
    :class:`InputError` for a file that is cut short, no ELF, or without code.
    """
    code = [s for s in sections(content) if s.name.startswith(".text") or s.executable]
    if not any(section.content for section in code):
        raise InputError("the file has no code section")
    found = hashlib.sha256()
    for section in sorted(code, key=lambda s: (s.name, s.content)):
        name = section.name.encode()
        found.update(struct.pack("<QQ", len(name), len(section.content)) + name + section.content)
    return found.hexdigest()


def sections(content: bytes) -> Iterator[Section]:
    """Every section. Raises :class:`InputError` where the file is not what its header says."""
    if content[:4] != MAGIC:
        raise InputError("the file is no ELF")
    kind, order = content[4:5], {b"\x01": "<", b"\x02": ">"}.get(content[5:6])
    if kind not in (b"\x01", b"\x02") or order is None:
        raise InputError("the file's ELF class or byte order is unknown")
    wide = kind == b"\x02"
    at = _unpack(order + ("Q" if wide else "I"), content, 40 if wide else 32)[0]
    size, count, names_at = _unpack(order + "HHH", content, 58 if wide else 46)
    layout = order + ("IIQQQQ" if wide else "IIIIII")
    if at == 0 or count == 0:
        raise InputError("the file has no sections")
    if size < struct.calcsize(layout) or count > MOST_SECTIONS or names_at >= count:
        raise InputError("the file's section table is damaged")
    if at + size * count > len(content):
        raise InputError("the file is cut short: its section table ends beyond it")
    headers = [_unpack(layout, content, at + index * size) for index in range(count)]
    names = _body(content, headers[names_at])
    for header in headers:
        yield Section(_name(names, header[0]), bool(header[2] & EXECUTABLE), _body(content, header))


def _body(content: bytes, header: tuple[int, ...]) -> bytes:
    _, kind, _, _, offset, size = header
    if kind == NO_BITS or size == 0:
        return b""
    if offset + size > len(content):
        raise InputError("the file is cut short: a section ends beyond it")
    return content[offset : offset + size]


def _name(names: bytes, at: int) -> str:
    end = names.find(b"\0", at)
    return names[at : end if end >= 0 else len(names)].decode("utf-8", "replace")


def _unpack(layout: str, content: bytes, at: int) -> tuple[int, ...]:
    if at + struct.calcsize(layout) > len(content):
        raise InputError("the file is cut short")
    return struct.unpack_from(layout, content, at)
