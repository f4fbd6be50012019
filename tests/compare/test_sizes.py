"""One key for one size, however it is spelt."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagkit.compare.sizes import normalise_dtype, normalise_op, size_key, value_key


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[torch.Size([64, 64]), 0.5]", "[[64,64],0.5]"),
        ("([torch.Size([16])], {'p': -inf})", '[[[16]],{"p":-Infinity}]'),
        ("[torch.Size([64, 64])]", "[[64,64]]"),
        ("[[64, 64]]", "[[64,64]]"),
        ("[[64,64]]", "[[64,64]]"),
        ("torch.Size([])", "[]"),
        ("[torch.Size([])]", "[[]]"),
        ("[]", "[]"),
        ("{}", "{}"),
        ("(5,)", "[5]"),
        ("(5)", "5"),
        ("1024", "1024"),
        ("[1, (2, [3, {'a': ()}])]", '[1,[2,[3,{"a":[]}]]]'),
        ("[True, False, None]", "[true,false,null]"),
        ("[true, false, null]", "[true,false,null]"),
        ("[inf, -inf, nan, Infinity, NaN]", "[Infinity,-Infinity,NaN,Infinity,NaN]"),
        ("[torch.float16, 1e-05, 1.0, -0.0]", '["torch.float16",1e-05,1.0,-0.0]'),
        ("['a', \"b'c\", 'd\\n']", '["a","b\'c","d\\n"]'),
        ("{'dim': 1, 2: None, True: 0.5}", '{"dim":1,"2":null,"true":0.5}'),
        ("64x64", "64x64"),
        ("  a   b ", "a b"),
        ("", ""),
        ("[1, 2", "[1, 2"),
        ("[1, 2]]", "[1, 2]]"),
        ("[1 2]", "[1 2]"),
        ("[1,, 2]", "[1,, 2]"),
        ("[,]", "[,]"),
        ("{'a'}", "{'a'}"),
        ("{'a': }", "{'a': }"),
        ("{[1]: 2}", "{[1]: 2}"),
        ("{'a': 1, 'b'}", "{'a': 1, 'b'}"),
        ("[007]", "[007]"),
        ("[foo]", "[foo]"),
        ("device(type='cuda')", "device(type='cuda')"),
        ("torch.Size(3)", "torch.Size(3)"),
        ("(1]", "(1]"),
    ],
)
def test_canonical_forms(text: str, key: str) -> None:
    assert size_key(text) == key


def test_values_and_their_text_have_one_key() -> None:
    value = [[[64, 64], 0.5, None, True, float("inf"), "torch.float16"], {"p": -1e-5}]
    assert size_key(value) == size_key(
        "([torch.Size([64, 64]), 0.5, None, True, inf, torch.float16], {'p': -1e-05})"
    )


_scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(alphabet=st.characters(codec="utf-8"))
)
_values = st.recursive(
    _scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(alphabet="abc", max_size=2), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(_values.filter(lambda value: not isinstance(value, str)))
def test_printed_and_recorded_values_agree(value: object) -> None:
    assert size_key(repr(value)) == size_key(json.loads(json.dumps(value)))


@given(_values.filter(lambda value: not isinstance(value, str)))
def test_a_key_is_its_own_key(value: object) -> None:
    assert size_key(size_key(value)) == size_key(value)


@given(st.text())
def test_any_text_has_a_key(text: str) -> None:
    key = size_key(text)
    assert size_key(key) == key
    assert value_key(text) in (None, key)


@given(st.lists(st.sampled_from("[](){},:1 'x\"\\.torch.Size("), max_size=60).map("".join))
def test_brackets_in_any_order(text: str) -> None:
    size_key(text)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "(" * 60_000 + ")" * 60_000, "'" * 65_000, "1" * 65_000, "[1," * 20_000],
)
def test_hostile_text_is_bounded(text: str) -> None:
    assert size_key(text) == text


def test_hostile_values_are_bounded() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert "list" in size_key(deep)
    assert size_key({("a", 1): 2}) == "<class 'dict'>"


def test_operators() -> None:
    assert normalise_op("gelu backward") == normalise_op(" gelu_backward ") == "gelu_backward"
    assert normalise_op("backward") == "backward"
    assert normalise_op("a  b") == "a b"


@pytest.mark.parametrize(
    ("told", "dtype"),
    [
        ("torch.float16", "torch.float16"),
        ("float16", "torch.float16"),
        ("fp16", "torch.float16"),
        ("BF16", "torch.bfloat16"),
        ("`int8`", "torch.int8"),
        ("complex64", "torch.complex64"),
        ("None", "None"),
        ("fp8_e4m3", "fp8_e4m3"),
    ],
)
def test_dtypes(told: str, dtype: str) -> None:
    assert normalise_dtype(told) == dtype
