"""The bundled tuner, recorded and replayed."""

from __future__ import annotations

import pytest

from flagkit.model import Decision
from flagkit.testing import MemoryTuningLog
from flagkit.testing.tuners import fresh_module
from flagkit.tuners.hostbench import NAME, HostbenchTuner

KEY = ("float32", (16384,))
KEY_TEXT = '["float32",[16384]]'


def tuner_with(log, candidates=(1, 2, 4), fastest=2):
    module = fresh_module("flagkit.suites.hostbench.tuner")
    HostbenchTuner().install(module, log)
    timed = []

    def bench(fn):
        chunk = fn()
        timed.append(chunk)
        return abs(chunk - fastest)

    return module.ChunkTuner("gelu", candidates, bench=bench), timed


def test_record():
    log = MemoryTuningLog()
    tuner, timed = tuner_with(log)
    assert [tuner.best(KEY, lambda chunk: chunk) for _ in range(3)] == [2, 2, 2]
    assert timed == [1, 2, 4]
    ((decision, state),) = log.decisions
    assert state == "recorded"
    assert (decision.tuner, decision.kernel, decision.key) == (NAME, "gelu", KEY_TEXT)
    assert decision.config == {"chunk": 2}
    assert log.uses == [decision] * 3
    assert log.tunings == 1


def test_replay_times_nothing():
    first = MemoryTuningLog()
    tuner_with(first)[0].best(KEY, lambda chunk: chunk)
    log = MemoryTuningLog(first)
    tuner, timed = tuner_with(log, fastest=4)
    assert tuner.best(KEY, lambda chunk: chunk) == 2
    assert timed == []
    assert log.states == ["replayed"]
    assert log.uses[0] == first.uses[0]


def test_a_missing_entry_is_tuned():
    log = MemoryTuningLog(MemoryTuningLog())
    tuner, timed = tuner_with(log)
    assert tuner.best(KEY, lambda chunk: chunk) == 2
    assert timed == [1, 2, 4]
    assert log.states == ["missed"]


@pytest.mark.parametrize("chunk", [3, -1, 0, "2", None, True, 1e9, [2]])
def test_a_chunk_that_is_no_candidate_is_missed(chunk):
    first = MemoryTuningLog()
    first.decided(
        Decision(tuner=NAME, kernel="gelu", key=KEY_TEXT, config={"chunk": chunk}), "recorded"
    )
    log = MemoryTuningLog(first)
    tuner, timed = tuner_with(log, candidates=(2, 4))
    assert tuner.best(KEY, lambda chunk: chunk) == 2
    assert timed == [2, 4]
    assert log.states == ["missed"]
    assert "no longer among the candidates" in log.reasons[0]


def test_a_record_without_a_chunk():
    first = MemoryTuningLog()
    first.decided(Decision(tuner=NAME, kernel="gelu", key=KEY_TEXT, config={}), "recorded")
    log = MemoryTuningLog(first)
    tuner_with(log)[0].best(KEY, lambda chunk: chunk)
    assert log.states == ["missed"]
