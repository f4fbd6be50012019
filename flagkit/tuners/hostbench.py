"""Records and replays the bundled suite's own tuner, ``ChunkTuner``.

The shortest whole example of a tuner's plug-in: one method that picks, one that is asked.
"""

from __future__ import annotations

import functools
import hashlib
import json
from typing import TYPE_CHECKING, Any

from flagkit import hookimpl
from flagkit.model import Decision

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from types import ModuleType

    from flagkit.interfaces import Tuner, TuningLog

NAME = "hostbench"


class HostbenchTuner:
    """``ChunkTuner.tune`` runs on a miss alone, ``ChunkTuner.best`` on every call."""

    name = NAME
    summary = "the bundled suite's chunk sizes"
    modules: tuple[str, ...] = ("flagkit.suites.hostbench.tuner",)

    def install(self, module: ModuleType, log: TuningLog) -> None:
        """Wrap both methods of *module*'s class, once."""
        cls = module.ChunkTuner
        if hasattr(cls.tune, "__wrapped__"):
            return
        cls.tune = _recorded(cls.tune, log)
        cls.best = _used(cls.best, log)


def _recorded(original: Callable[..., int], log: TuningLog) -> Callable[..., int]:
    @functools.wraps(original)
    def tune(tuner: Any, key: Hashable, run: Callable[[int], object]) -> int:
        candidates = _candidates_hash(tuner)
        recorded = log.lookup(NAME, tuner.name, _key_text(key), candidates_hash=candidates)
        if recorded is not None:
            chunk: Any = recorded.config.get("chunk")
            if chunk in tuner.candidates:
                log.decided(_decision(tuner, key, chunk), "replayed")
                return int(chunk)
        with log.tuning(NAME):
            picked = original(tuner, key, run)
        gone = "the recorded chunk is no longer among the candidates" if recorded else ""
        state = "missed" if log.replaying else "recorded"
        log.decided(_decision(tuner, key, picked), state, gone)
        return picked

    return tune


def _used(original: Callable[..., int], log: TuningLog) -> Callable[..., int]:
    # The agent times this too: one look-up a call is all it may cost.
    known: dict[tuple[str, Hashable, int], Decision] = {}

    @functools.wraps(original)
    def best(tuner: Any, key: Hashable, run: Callable[[int], object]) -> int:
        chunk = original(tuner, key, run)
        decision = known.get((tuner.name, key, chunk))
        if decision is None:
            decision = known[tuner.name, key, chunk] = _decision(tuner, key, chunk)
        log.used(decision)
        return chunk

    return best


def _decision(tuner: Any, key: Hashable, chunk: int) -> Decision:
    return Decision(
        tuner=NAME,
        kernel=tuner.name,
        key=_key_text(key),
        config={"chunk": chunk},
        candidates_hash=_candidates_hash(tuner),
    )


def _candidates_hash(tuner: Any) -> str:
    return hashlib.sha256(json.dumps(list(tuner.candidates)).encode()).hexdigest()


def _key_text(key: Hashable) -> str:
    return json.dumps(key, separators=(",", ":"), default=str)


@hookimpl
def flagkit_tuner() -> Tuner:
    """The tuner ``hostbench``."""
    return HostbenchTuner()
