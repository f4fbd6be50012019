"""The ELF reader, on made files and on damaged ones."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagkit.errors import InputError
from flagkit.experiment.elf import code_hash, sections


def elf(
    parts: dict[str, bytes], *, wide: bool = True, order: str = "<", executable: str = ""
) -> bytes:
    """A file with sections of these names and bytes."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name in [*parts, ".shstrtab"])
    head = 64 if wide else 52
    layout = order + ("IIQQQQIIQQ" if wide else "IIIIIIIIII")
    body, headers = b"", [(0,) * 10]
    for name, content in [*parts.items(), (".shstrtab", names)]:
        flags = 4 if name == executable else 0
        name_at = names.index(b"\0" + name.encode() + b"\0") + 1
        headers.append((name_at, 1, flags, 0, head + len(body), len(content), 0, 0, 1, 0))
        body += content
    table = b"".join(struct.pack(layout, *header) for header in headers)
    start = b"\x7fELF" + bytes([2 if wide else 1, 1 if order == "<" else 2, 1]) + bytes(9)
    size = struct.calcsize(layout)
    where, last = head + len(body), len(headers) - 1
    if wide:
        middle = struct.pack(order + "HHIQQQI", 2, 190, 1, 0, 0, where, 0)
    else:
        middle = struct.pack(order + "HHIIIII", 2, 190, 1, 0, 0, where, 0)
    ends = struct.pack(order + "HHHHHH", head, 0, 0, size, len(headers), last)
    return start + middle + ends + body + table


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("order", ["<", ">"])
def test_sections_of_every_layout(wide: bool, order: str) -> None:
    made = elf({".text.k": b"code", ".debug_line": b"/a/path"}, wide=wide, order=order)
    found = {s.name: s.content for s in sections(made)}
    assert found[".text.k"] == b"code" and found[".debug_line"] == b"/a/path"


def test_only_code_counts() -> None:
    one = elf({".text.k": b"code", ".debug_line": b"/one"})
    other = elf({".debug_line": b"/another/path", ".text.k": b"code"})
    assert code_hash(one) == code_hash(other)
    assert code_hash(one) != code_hash(elf({".text.k": b"Code"}))
    assert code_hash(one) != code_hash(elf({".text.l": b"code"}))
    assert code_hash(elf({"odd": b"code"}, executable="odd"))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no ELF"),
        (b"\x7fELF\x09\x01", "class or byte order"),
        (elf({".text": b"code"})[:40], "cut short"),
        (elf({".text": b"code"})[:-1], "cut short"),
        (elf({".data": b"data"}), "no code"),
        (elf({".text": b""}), "no code"),
    ],
)
def test_damaged_files_say_why(content: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        code_hash(content)


@given(st.data())
def test_any_damage_is_a_reason(data: st.DataObject) -> None:
    content = bytearray(elf({".text": b"code" * 4, ".data": b"data"}))
    for _ in range(data.draw(st.integers(0, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        assert len(code_hash(cut)) == 64
    except InputError as error:
        assert str(error)


@pytest.mark.skipif(sys.platform != "linux", reason="the running Python is no ELF here")
def test_a_real_file() -> None:
    content = Path(sys.executable).resolve().read_bytes()
    assert ".text" in {s.name for s in sections(content)}
    assert len(code_hash(content)) == 64
