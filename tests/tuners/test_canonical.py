"""Keys, configs and kernels must read the same in two processes."""

from __future__ import annotations

import functools
import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagkit.model import Decision
from flagkit.tuners.canonical import (
    candidates_hash,
    config_values,
    kernel_name,
    key_text,
    plain,
    qualified,
    source_hash,
)
from flagkit.tuners.replay import choose


class Config:
    """Like Triton's."""

    def __init__(
        self, kwargs: dict[str, Any], num_warps: int = 4, pre_hook: Any = None, maxnreg: Any = None
    ) -> None:
        self.kwargs, self.num_warps, self.pre_hook = kwargs, num_warps, pre_hook
        self.maxnreg = maxnreg

    def all_kwargs(self) -> dict[str, Any]:
        more = {"num_warps": self.num_warps, "maxnreg": self.maxnreg}
        return {**self.kwargs, **{k: v for k, v in more.items() if v is not None}}


class Tensor:
    dtype = "float16"
    shape = (4, 2)

    def stride(self) -> tuple[int, int]:
        return (2, 1)

    __hash__ = None  # type: ignore[assignment]


def hook(args: Any) -> None:
    """Stands for a pre-hook."""


def other_hook(args: Any) -> None:
    """Another."""


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ((1, "torch.float16", True, None), '[1,"torch.float16",true,null]'),
        ((float("inf"), 0.5), '[{"float":"inf"},0.5]'),
        ((Tensor(),), '[{"tensor":["float16",[4,2],[2,1]]}]'),
        ((SimpleNamespace(block_shape=[8], base=Tensor()),), None),
        (({"b": 1, "a": [2]},), '[{"a":[2],"b":1}]'),
        (({3, 1},), '[{"set":[1,3]}]'),
        ((object(),), '[{"text":"object"}]'),
        ((hook,), None),
    ],
)
def test_keys(key: Any, text: str | None) -> None:
    found = key_text(key)
    assert " at 0x" not in found and key_text(key) == found
    json.loads(found)
    if text is not None:
        assert found == text


def test_a_value_that_holds_itself() -> None:
    loop: list[Any] = []
    loop.append(loop)
    json.loads(key_text(loop))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=10,
)


@given(values)
def test_any_value_becomes_strict_json(value: Any) -> None:
    json.dumps(plain(value), allow_nan=False)


def test_names_hold_no_digest_and_no_path() -> None:
    def kernel() -> None: ...

    kernel.__module__ = "_gen_module_" + "0123456789abcdef" * 4 + "_rank_1"
    kernel.__qualname__ = "add_kernel"
    wrapped = SimpleNamespace(fn=SimpleNamespace(fn=kernel))
    assert kernel_name(wrapped) == "_gen_module_#_rank_1.add_kernel"


def test_source_is_the_text_and_not_where_it_stands() -> None:
    one = SimpleNamespace(src="def k(): pass", fn=hook)
    two = SimpleNamespace(fn=SimpleNamespace(src="def k(): pass", fn=other_hook))
    assert source_hash(one) == source_hash(two) != source_hash(hook) != ""
    assert source_hash(SimpleNamespace(fn=3)) == ""


def test_configs() -> None:
    assert config_values(Config({"B": 1}, pre_hook=hook)) == {
        "B": 1,
        "num_warps": 4,
        "pre_hook": qualified(hook),
    }
    assert qualified(functools.partial(hook)) == "functools.partial"
    some = [config_values(Config({"B": b})) for b in (1, 2)]
    assert candidates_hash(some) == candidates_hash(some[::-1]) != candidates_hash(some[:1])


def made(config: Config, candidates: str = "") -> Decision:
    return Decision(
        tuner="t", kernel="k", key="", config=config_values(config), candidates_hash=candidates
    )


def test_choose_the_candidate_itself() -> None:
    configs = [Config({"B": 1}, pre_hook=hook), Config({"B": 1}, pre_hook=other_hook)]
    choice = choose(made(Config({"B": 1}, pre_hook=other_hook)), configs, "")
    assert choice.config is configs[1] and choice.state == "replayed"
    assert choose(made(Config({"B": 1})), configs[:1], "").config is configs[0]
    assert "pre-hook alone" in choose(made(Config({"B": 1})), configs, "").reason


def test_rebuild_outside_the_candidates() -> None:
    configs = [Config({"B": 1}, pre_hook=hook)]
    wanted = Config({"B": 2, "shape": (1, 2)}, num_warps=8, pre_hook=hook, maxnreg=64)
    choice = choose(made(wanted, "c"), configs, "c")
    assert choice.state == "rebuilt"
    assert vars(choice.config) == vars(wanted)
    assert "no longer among" in choose(made(wanted, "c"), configs, "d").reason


@pytest.mark.parametrize(
    ("wanted", "configs", "reason"),
    [
        (Config({"B": 2}, pre_hook=other_hook), [Config({"B": 1}, pre_hook=hook)], "not known"),
        (Config({"B": object()}), [Config({"B": 1})], "cannot be rebuilt"),
        (Config({"B": 2}), [], "no candidate"),
    ],
)
def test_what_cannot_be_rebuilt(wanted: Config, configs: list[Config], reason: str) -> None:
    choice = choose(made(wanted), configs, "")
    assert choice.config is None and choice.state == "missed" and reason in choice.reason


def test_a_hook_that_the_tuner_gives_to_its_own_configs() -> None:
    choice = choose(made(Config({"B": 2}, pre_hook=hook)), [Config({"B": 1})], "", [hook])
    assert choice.config.pre_hook is hook
