"""Hooks a class of autotuners that is built like Triton's ``Autotuner``.

What every version since 3.0 does, subclasses that override ``run`` included: ask
``key in self.cache``; time the candidates with ``self._bench`` where it is not; set
``self.cache[key]``; read it back; set ``self.best_config``; launch. So three attributes of
the class are hooked and neither a constructor nor ``run`` is: instances made before and
after are covered, and the tuner's own code goes on doing the work.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from flagkit.model import Decision
from flagkit.tuners.canonical import candidates_hash, config_values, kernel_name, source_hash
from flagkit.tuners.replay import choose
from flagkit.tuners.tunedcache import Entry, TunedCache

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flagkit.interfaces import TuningLog
    from flagkit.tuners.replay import Choice

STATE = "_flagkit_tuning"
NO_KEY = "null"
"""The tuning key of a kernel whose tuner had nothing to choose."""


def hook_autotuner(
    cls: Any, name: str, log: TuningLog, met: Callable[[Any], None] | None = None
) -> None:
    """Make every tuner of class *cls* record into, or replay from, *log* as *name*.

    *met* is called with a tuner when it is first asked for anything. Hooking again replaces
    what an earlier call hooked.
    """
    attribute = CacheAttribute(name, log, met)
    cls.cache = attribute
    cls.best_config = LaunchAttribute(attribute)
    cls._bench = _announced(cls._bench, name, log)


def state_of(tuner: Any) -> TunerState | None:
    """What is known of a tuner that was asked before; None for any other object."""
    state = vars(tuner).get(STATE) if hasattr(tuner, "__dict__") else None
    return state if isinstance(state, TunerState) and state.tuner is tuner else None


def _announced(bench: Callable[..., Any], name: str, log: TuningLog) -> Callable[..., Any]:
    original = getattr(bench, "_flagkit_original", bench)

    @functools.wraps(original)
    def _bench(self: Any, *args: Any, **kwargs: Any) -> Any:
        with log.tuning(name):
            return original(self, *args, **kwargs)

    _bench._flagkit_original = original  # type: ignore[attr-defined]
    return _bench


class CacheAttribute:
    """``Autotuner.cache``: gives a view of the tuner's own cache that records or replays."""

    def __init__(self, name: str, log: TuningLog, met: Callable[[Any], None] | None = None) -> None:
        self.name = name
        self.log = log
        self._met = met

    def state(self, tuner: Any) -> TunerState:
        """What is known of *tuner*; starts empty for one that was copied or not met yet."""
        state = tuner.__dict__.get(STATE)
        if state is None or state.tuner is not tuner or state.attribute is not self:
            state = tuner.__dict__[STATE] = TunerState(tuner, self)
            if self._met is not None:
                self._met(tuner)
        return state  # type: ignore[no-any-return]

    def __get__(self, tuner: Any, owner: type | None = None) -> Any:
        if tuner is None:
            return self
        try:
            raw = tuner.__dict__["cache"]
        except KeyError:
            raise AttributeError("cache") from None
        state = self.state(tuner)
        view = state.view
        if view is None or view.raw is not raw:
            view = state.view = TunedCache(raw, state)
        return view

    def __set__(self, tuner: Any, value: Any) -> None:
        if isinstance(value, TunedCache):
            tuner.__dict__["cache"] = value.raw
            self.state(tuner).view = value
        else:
            tuner.__dict__["cache"] = value


class LaunchAttribute:
    """``Autotuner.best_config``: set right before each launch, whatever the tuner's ``run``."""

    def __init__(self, attribute: CacheAttribute) -> None:
        self._attribute = attribute

    def __get__(self, tuner: Any, owner: type | None = None) -> Any:
        if tuner is None:
            return self
        try:
            return tuner.__dict__["best_config"]
        except KeyError:
            raise AttributeError("best_config") from None

    def __set__(self, tuner: Any, config: Any) -> None:
        tuner.__dict__["best_config"] = config
        self._attribute.state(tuner).launching(config)


class TunerState:
    """What one tuner was asked and told. Stays behind when the tuner is copied or pickled."""

    def __init__(self, tuner: Any, attribute: CacheAttribute) -> None:
        self.tuner = tuner
        self.attribute = attribute
        self.view: TunedCache | None = None
        self.asked: Entry | None = None
        self.last: Decision | None = None
        self.launches = 0
        self._alone: Entry | None = None
        self._candidates: tuple[Any, int, str] = (None, -1, "")

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(None), ())

    @functools.cached_property
    def kernel(self) -> str:
        """The kernel's name."""
        return kernel_name(self.tuner.fn)

    @functools.cached_property
    def source(self) -> str:
        """The hash of the kernel's source."""
        return source_hash(self.tuner.fn)

    @property
    def configs(self) -> Sequence[Any]:
        """The tuner's candidates now: some tuners change them."""
        return list(getattr(self.tuner, "configs", None) or ())

    @property
    def candidates(self) -> str:
        """The hash of the candidates now."""
        configs = getattr(self.tuner, "configs", None) or ()
        known, length, text = self._candidates
        if known is not configs or length != len(configs):
            text = candidates_hash(config_values(config) for config in configs)
            self._candidates = (configs, len(configs), text)
        return text

    def decision(self, key: str, config: Any) -> Decision:
        """*config* as this tuner's choice for *key*."""
        return Decision(
            tuner=self.attribute.name,
            kernel=self.kernel,
            key=key,
            config=config_values(config),
            source_hash=self.source,
            candidates_hash=self.candidates,
        )

    def recorded(self, key: str) -> tuple[Decision | None, Choice | None]:
        """The before side's decision for *key* and what it means here."""
        found = self.attribute.log.lookup(
            self.attribute.name,
            self.kernel,
            key,
            source_hash=self.source,
            candidates_hash=self.candidates,
        )
        if found is None:
            return None, None
        made_hook = getattr(self.tuner, "_flagtune_pre_hook", None)
        hooks = (made_hook,) if made_hook is not None else ()
        return found, choose(found, self.configs, self.candidates, hooks)

    def launching(self, config: Any) -> None:
        """The tuner is about to launch *config*: tell the log."""
        entry, self.asked = self.asked, None
        if entry is None:
            entry = self._alone
            if entry is None or entry.config is not config:
                entry = self._alone = Entry(self.decision(NO_KEY, config), config)
        elif entry.config is not config:
            entry = self._again(entry, config)
        self.last = entry.decision
        self.launches += 1
        self.attribute.log.used(entry.decision)

    def _again(self, entry: Entry, config: Any) -> Entry:
        """A cache that keeps values gives another object each time; mostly of equal values."""
        launched = self.decision(entry.decision.key, config)
        if launched.config == entry.decision.config:
            entry.config = config
            return entry
        return Entry(launched, config)
