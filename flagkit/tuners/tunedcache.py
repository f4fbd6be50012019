"""A view of a tuner's own cache of winners that records and replays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flagkit.tuners.canonical import config_values, key_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flagkit.model import Decision
    from flagkit.tuners.autotuner import TunerState


class Entry:
    """One key's decision and the config object that stands for it."""

    __slots__ = ("config", "decision")

    def __init__(self, decision: Decision, config: Any) -> None:
        self.decision = decision
        self.config = config


class TunedCache:
    """Stands in front of a tuner's cache: asks the log first, tells it what was decided.

    A ``dict`` gets the replayed configs itself. Any other cache may keep values only (a
    database), so they are kept beside it, which also leaves it as it was.
    """

    def __init__(self, raw: Any, state: TunerState) -> None:
        self.raw = raw
        self._state = state
        self._log = state.attribute.log
        self._entries: dict[Any, Entry] = {}
        self._beside: dict[Any, Any] = {}
        self._is_dict = isinstance(raw, dict)
        self._why: dict[Any, str] = {}

    def __contains__(self, key: Any) -> bool:
        return self._settle(key) is not None

    def __getitem__(self, key: Any) -> Any:
        if self._settle(key) is None:
            return self.raw[key]
        handle = _handle(key)
        return self._beside[handle] if handle in self._beside else self.raw[key]

    def get(self, key: Any, default: Any = None) -> Any:
        """The config for *key*, or *default*."""
        return default if self._settle(key) is None else self[key]

    def __setitem__(self, key: Any, config: Any) -> None:
        handle = _handle(key)
        self.raw[key] = config
        self._beside.pop(handle, None)
        self._decided(key, handle, self._kept(key, config))

    def __delitem__(self, key: Any) -> None:
        self._forget(_handle(key))
        del self.raw[key]

    def pop(self, key: Any, *default: Any) -> Any:
        """Take *key* out, so that the tuner tunes it again."""
        self._forget(_handle(key))
        return self.raw.pop(key, *default)

    def clear(self) -> None:
        """Empty the cache."""
        self._entries.clear()
        self._beside.clear()
        self.raw.clear()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.raw)

    def __len__(self) -> int:
        return len(self.raw)

    def __bool__(self) -> bool:
        return bool(self.raw)

    def __eq__(self, other: object) -> bool:
        return bool(self.raw == (other.raw if isinstance(other, TunedCache) else other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.raw)

    def __getattr__(self, name: str) -> Any:
        if name == "raw":
            raise AttributeError(name)
        return getattr(self.raw, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_itself, (self.raw,))

    def _settle(self, key: Any) -> Entry | None:
        """The decision for *key*: made before in this process, recorded, or the cache's own."""
        handle = _handle(key)
        entry = self._entries.get(handle)
        if entry is None or (self._is_dict and handle not in self.raw):
            entry = self._replayed(key, handle)
            if entry is None and key in self.raw:
                entry = self._decided(key, handle, self._kept(key, self.raw[key]))
        self._state.asked = entry
        return entry

    def _replayed(self, key: Any, handle: Any) -> Entry | None:
        if not self._log.replaying:
            return None
        found, choice = self._state.recorded(key_text(key))
        if found is None or choice is None:
            return None
        if choice.config is None:
            self._why[handle] = choice.reason
            return None
        if self._is_dict:
            self.raw[key] = choice.config
        else:
            self._beside[handle] = choice.config
        decision = self._state.decision(found.key, choice.config)
        self._log.decided(decision, choice.state, choice.reason)
        entry = self._entries[handle] = Entry(decision, choice.config)
        return entry

    def _decided(self, key: Any, handle: Any, config: Any) -> Entry:
        decision = self._state.decision(key_text(key), config)
        state = "missed" if self._log.replaying else "recorded"
        self._log.decided(decision, state, self._why.pop(handle, ""))
        entry = self._entries[handle] = self._state.asked = Entry(decision, config)
        return entry

    def _kept(self, key: Any, config: Any) -> Any:
        """The config that will be launched: what the cache gives back, with its pre-hook.

        A database keeps no pre-hook; tuners with one look the config up among their
        candidates again, and launch the rest without.
        """
        if self._is_dict:
            return config
        stored = self.raw[key]
        if getattr(stored, "pre_hook", None) is None:
            values = config_values(stored)
            for candidate in self._state.configs:
                have = config_values(candidate)
                have.pop("pre_hook", None)
                if have == values:
                    return candidate
        return stored

    def _forget(self, handle: Any) -> None:
        self._entries.pop(handle, None)
        self._beside.pop(handle, None)


def _handle(key: Any) -> Any:
    try:
        hash(key)
    except TypeError:
        return key_text(key)
    return key


def _itself(raw: Any) -> Any:
    return raw
