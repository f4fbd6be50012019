"""Which config a recorded decision means to a tuner now. Pure."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flagkit.tuners.canonical import config_values, qualified

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from flagkit.model import Decision


@dataclass(frozen=True, slots=True)
class Choice:
    """A config to launch, or None and why there is none. ``state`` is the decision's."""

    config: Any
    state: str
    reason: str = ""


def choose(
    decision: Decision,
    configs: Sequence[Any],
    candidates: str,
    hooks: Iterable[Any] = (),
) -> Choice:
    """Take *decision*'s config from *configs*, so that its pre-hook survives.

    A config outside the list was a cost model's or a pruning function's if the list is
    the one it was chosen from (*candidates* is the hash of the list now): it is rebuilt.
    If the list changed, the config is gone from it, and launching it anyway would time
    something that the tuner no longer offers. ``hooks`` are pre-hooks that the tuner
    gives to configs it makes itself.
    """
    wanted = dict(decision.config)
    values = [config_values(config) for config in configs]
    for config, have in zip(configs, values, strict=True):
        if have == wanted:
            return Choice(config, "replayed")
    bare = _without_hook(wanted)
    alike = [c for c, have in zip(configs, values, strict=True) if _without_hook(have) == bare]
    if len(alike) == 1:
        return Choice(alike[0], "replayed")
    if alike:
        return _missed("several candidates differ from the recorded config by their pre-hook alone")
    if decision.candidates_hash and candidates and decision.candidates_hash != candidates:
        return _missed("the recorded config is no longer among the candidates")
    return _rebuild(wanted, configs, hooks)


def _rebuild(wanted: Mapping[str, Any], configs: Sequence[Any], hooks: Iterable[Any]) -> Choice:
    if not configs:
        return _missed("the tuner has no candidate to rebuild the recorded config from")
    hook = None
    if "pre_hook" in wanted:
        own = [getattr(config, "pre_hook", None) for config in configs]
        named = {id(h): h for h in (*own, *hooks) if h and qualified(h) == wanted["pre_hook"]}
        if len(named) != 1:
            return _missed("the recorded config's pre-hook is not known here")
        hook = next(iter(named.values()))
    kind = type(configs[0])
    options = set(inspect.signature(kind).parameters) - {"kwargs", "pre_hook"}
    try:
        values = {name: _value(value) for name, value in _without_hook(wanted).items()}
        meta = {name: value for name, value in values.items() if name not in options}
        rest = {name: value for name, value in values.items() if name in options}
        if hook is not None:
            rest["pre_hook"] = hook
        return Choice(kind(meta, **rest), "rebuilt")
    except (TypeError, ValueError) as error:
        return _missed(f"the recorded config cannot be rebuilt: {error}")


def _value(value: Any) -> Any:
    """A recorded value as the kernel takes it. Constants are hashed, so lists are tuples."""
    if isinstance(value, dict):
        raise TypeError(f"it holds {value}, which is no plain value")
    return tuple(_value(item) for item in value) if isinstance(value, list) else value


def _without_hook(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name != "pre_hook"}


def _missed(reason: str) -> Choice:
    return Choice(None, "missed", reason)
