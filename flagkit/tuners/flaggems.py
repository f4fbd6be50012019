"""FlagGems' ``LibTuner`` and the ``LibEntry`` in front of it.

``LibTuner`` keeps its winners in a database, which the host makes private to each side.
``LibEntry`` asks its tuner once a key and launches the compiled kernel by itself ever
after, so what it launches is remembered here and told again for each timed call.
"""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

from flagkit import hookimpl
from flagkit.tuners.autotuner import hook_autotuner, state_of
from flagkit.tuners.canonical import kernel_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from flagkit.interfaces import Tuner, TuningLog
    from flagkit.model import Decision

MODES = (
    "FLAGTREE_AABS",
    "FLAGTUNE_DISABLE_OPS",
    "FLAGTUNE_INCLUDE",
    "FLAGTUNE_MODEL_VERSION",
    "FLAGTUNE_TOP_K",
    "USE_FLAGTUNE",
    "USE_FLAGTUNE_COST_MODEL",
)
"""Variables that choose how FlagGems and FlagTree search, as their sources name them."""

USES, KEY, TUNERS = "_flagkit_uses", "_flagkit_key", "_flagkit_tuners"


class FlagGemsTuner:
    """Replays FlagGems' tuner: no config is tried on the replaying side."""

    name = "flaggems"
    summary = "FlagGems' LibTuner and LibEntry"
    modules: tuple[str, ...] = ("flag_gems.utils.libentry",)

    def install(self, module: ModuleType, log: TuningLog) -> None:
        """Hook both classes of ``libentry``, and tell which modes this process tunes in."""
        hook_autotuner(module.LibTuner, self.name, log, functools.partial(_tell_mode, log))
        hook_libentry(module.LibEntry, log)
        _tell_environment(log)


@hookimpl
def flagkit_tuner() -> Tuner:
    """Give the tuner."""
    return FlagGemsTuner()


def _tell_environment(log: TuningLog) -> None:
    told = [f"{name}={os.environ[name]}" for name in MODES if name in os.environ]
    if told:
        log.note("flagtune-modes", ", ".join(told))
    if not {"FLAGGEMS_CACHE_DIR", "FLAGGEMS_DB_URL"} & os.environ.keys():
        log.note(
            "tuning-database-shared",
            "FlagGems' tuning database is the user's own: earlier runs decide configs; "
            "set FLAGGEMS_CACHE_DIR",
        )


def _tell_mode(log: TuningLog, tuner: Any) -> None:
    mode = getattr(tuner, "_flagtune_mode", None)
    name = str(getattr(mode, "value", mode))
    if mode is not None and name.lower() != "default":
        log.note("flagtune-modes", f"{kernel_name(tuner.fn)}: {name}")


def hook_libentry(cls: Any, log: TuningLog) -> None:
    """Tell *log* of every launch through *cls* that a tuner once decided.

    ``key`` gives the dispatch key that ``run`` works with: it is overheard, since making
    it twice would cost as much as the dispatch does.
    """
    if not callable(getattr(cls, "key", None)):
        log.note("libentry-unseen", "this FlagGems' LibEntry has no key(): its launches go untold")
        return
    cls.key = _overheard(_original(cls.key))
    cls.run = _told(_original(cls.run), log)


def _original(method: Callable[..., Any]) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(method, "_flagkit_original", method)
    return found


def _overheard(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def key(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = self.__dict__[KEY] = original(self, *args, **kwargs)
        return found

    key._flagkit_original = original  # type: ignore[attr-defined]
    return key


def _told(original: Callable[..., Any], log: TuningLog) -> Callable[..., Any]:
    @functools.wraps(original)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        tuners = self.__dict__.get(TUNERS)
        if tuners is None:
            tuners = self.__dict__[TUNERS] = _tuners(self)
            self.__dict__[USES] = {}
        if not tuners:
            return original(self, *args, **kwargs)
        before = [_launches(tuner) for tuner in tuners]
        result = original(self, *args, **kwargs)
        uses: dict[Any, list[Decision]] = self.__dict__[USES]
        key = self.__dict__.pop(KEY, None)
        asked = [t for t, count in zip(tuners, before, strict=True) if _launches(t) != count]
        if asked:
            uses[key] = [d for d in map(_last, asked) if d is not None]
        else:
            for decision in uses.get(key, ()):
                log.used(decision)
        return result

    run._flagkit_original = original  # type: ignore[attr-defined]
    return run


def _tuners(entry: Any) -> tuple[Any, ...]:
    """The tuners between an entry and its kernel: whatever has candidates."""
    found, fn = [], getattr(entry, "fn", None)
    for _ in range(32):
        if fn is None:
            break
        if hasattr(fn, "configs"):
            found.append(fn)
        fn = getattr(fn, "fn", None)
    return tuple(found)


def _launches(tuner: Any) -> int:
    state = state_of(tuner)
    return state.launches if state else 0


def _last(tuner: Any) -> Decision | None:
    state = state_of(tuner)
    return state.last if state else None
