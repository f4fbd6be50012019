from __future__ import annotations

import random

import pytest

from flagkit.compare.ticks import infer_tick_ns, infer_ticks
from flagkit.model import Row, RowKey, RunLog


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


def log(*steps: int, step: int) -> RunLog:
    return RunLog(
        rows=tuple(
            Row(
                key=RowKey(op="gelu", dtype="torch.float16", size_key=str(place)),
                status="ok",
                size_detail=str(place),
                latency_ms=count * step / 1e6,
            )
            for place, count in enumerate(steps)
        )
    )


@pytest.mark.parametrize("step", [1024, 32, 20])
def test_few_latencies_tell_a_known_step_and_no_multiple_of_it(step: int) -> None:
    for counts in ((4, 6, 10, 14, 22, 30), (5, 6, 7, 9, 11, 13), (3, 9, 15, 21, 33, 39, 45)):
        assert infer_tick_ns([count * step / 1e6 for count in counts]) == step


def test_a_step_of_both_sides_together_is_no_multiple() -> None:
    before, after = log(4, 10, 16, 22, 28, step=1024), log(6, 12, 18, 24, 30, step=1024)
    found = infer_ticks(before, after)
    assert (found.before_ns, found.after_ns) == (1024, 1024)


@pytest.mark.parametrize("rows", [3, 5, 8, 20])
@pytest.mark.parametrize("step", [20, 32, 40, 100, 1024])
def test_a_step_that_is_too_long_is_rare(rows: int, step: int) -> None:
    chance = random.Random(rows * step)
    wrong = 0
    for _ in range(200):
        both = [log(*(chance.randrange(3, 400) for _ in range(2 * rows)), step=step) for _ in "ab"]
        found = infer_ticks(*both)
        wrong += any(one is not None and one > step for one in (found.before_ns, found.after_ns))
    assert wrong <= 2


def test_the_shortest_latencies_count_wherever_they_stand() -> None:
    chance = random.Random(1)
    long = [chance.uniform(1.0, 7.0) for _ in range(5000)]
    short = [count * 1024 / 1e6 for count in range(4, 400)]
    for shown in (short + long, long + short, [*long[:2500], *short, *long[2500:]]):
        assert infer_tick_ns(shown) == 1024
