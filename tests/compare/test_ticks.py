from __future__ import annotations

import random

import pytest

from flagkit.compare.ticks import infer_tick_ns


@pytest.mark.parametrize("step", [20, 32, 40, 512, 1024])
def test_the_step_is_found(step: int) -> None:
    chance = random.Random(step)
    shown = [chance.randrange(5, 4000) * step / 1e6 for _ in range(60)]
    assert infer_tick_ns(shown) == step


def test_medians_between_two_steps_and_strangers_do_not_hide_it() -> None:
    chance = random.Random(1)
    shown = [chance.randrange(100, 9000) * 0.000032 for _ in range(50)]
    shown += [chance.randrange(100, 9000) * 0.000032 + 0.000016 for _ in range(8)]
    shown += [0.123457, 0.234561]
    assert infer_tick_ns(shown) == 32


def test_float32_milliseconds_are_read_as_steps() -> None:
    shown = [0.004095999989658594, 0.005119999870657921, 0.006144000217318535]
    shown += [0.0071680000983178616, 0.02457600086927414, 0.04403200000524521, 0.32256001234054565]
    assert infer_tick_ns(shown) == 1024


def test_no_step_where_there_is_none_or_too_little_is_shown() -> None:
    chance = random.Random(2)
    assert infer_tick_ns([chance.uniform(0.003, 1.0) for _ in range(40)]) is None
    assert infer_tick_ns([0.032, 0.064, 0.096]) is None
    assert infer_tick_ns([0.032] * 100) is None
    assert infer_tick_ns([]) is None
    assert infer_tick_ns([float("nan"), -1.0, 0.0, 1e300, float("inf")]) is None
