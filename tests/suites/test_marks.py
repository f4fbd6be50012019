"""Marks are read off the source, whatever it looks like."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagkit.suites.marks import marks_in, may_hold

SOURCE = b"""
import pytest
import pytest as pt
from pytest import mark, mark as m

pytestmark = [pytest.mark.whole, pytest.mark.skipif(True, reason="x")]

@pytest.mark.softmax
@pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.mm)])
def test_softmax(n): ...

@pt.mark.by_alias
class TestThings:
    @mark.by_name(shape=3)
    def test_one(self): ...

    @m.by_other_name
    async def test_two(self): ...

@pytest.mark._alias
def test__alias(): ...

"pytest.mark.in_a_string"  # pytest.mark.in_a_comment
other.mark.not_pytest
"""


def test_where_marks_stand():
    assert marks_in(SOURCE) == {
        "whole",
        "softmax",
        "mm",
        "by_alias",
        "by_name",
        "by_other_name",
        "_alias",
    }


def test_source_that_is_no_python():
    broken = b"@pytest.mark.topk\ndef test_topk(:\n    pass\n@pytest.mark.skip\n"
    assert marks_in(broken) == {"topk"}


def test_encodings():
    latin = "# -*- coding: latin-1 -*-\n# é\n@pytest.mark.add\ndef test(): ...\n".encode("latin-1")
    assert marks_in(latin) == {"add"}
    assert marks_in(b"\xef\xbb\xbf@pytest.mark.add\ndef test(): ...\n") == {"add"}
    assert marks_in(b"# coding: no-such\n@pytest.mark.add\ndef test(): ...\n") == {"add"}
    assert marks_in(b"# \xff\n@pytest.mark.add\ndef test(): ...\n") == {"add"}


@pytest.mark.parametrize("source", [b"", b"\0", b"x = " + b"(" * 3000, b"'\\d'\n"])
def test_odd_source(source):
    assert marks_in(source) == frozenset()


@given(st.binary(max_size=200))
def test_never_raises(source):
    assert isinstance(marks_in(source), frozenset)


def test_may_hold_asks_for_a_word():
    assert may_hold(b"@pytest.mark.mm\n", "mm")
    assert not may_hold(b"@pytest.mark.bmm\n", "mm")
    assert not may_hold(b"@pytest.mark.mm_out\n", "mm")
