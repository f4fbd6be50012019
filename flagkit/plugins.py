"""Finds every installed plug-in by name, and imports one only when it is asked for."""

from __future__ import annotations

import enum
import os
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pluggy

from flagkit import errors, hookspecs, interfaces
from flagkit.entrypoints import installed, normalised

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from flagkit.entrypoints import EntryPoint


class Kind(enum.Enum):
    """A kind of plug-in; its value is what people call it."""

    BACKEND = "backend"
    SWITCH = "switch"
    PARSER = "parser"
    REPORTER = "reporter"
    TUNER = "tuner"

    @property
    def group(self) -> str:
        """The entry-point group."""
        return "flagkit.switches" if self is Kind.SWITCH else f"flagkit.{self.value}s"

    @property
    def hook(self) -> str:
        """The hook a plug-in of this kind implements."""
        return f"flagkit_{self.value}"

    @property
    def interface(self) -> type:
        """What that hook returns."""
        return _INTERFACES[self]


_INTERFACES: dict[Kind, type] = {
    Kind.BACKEND: interfaces.Backend,
    Kind.SWITCH: interfaces.Switch,
    Kind.PARSER: interfaces.LogParser,
    Kind.REPORTER: interfaces.Reporter,
    Kind.TUNER: interfaces.Tuner,
}


class Provider(NamedTuple):
    """Who offers a plug-in: its name, module and distribution."""

    kind: Kind
    name: str
    module: str
    distribution: str
    version: str

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}"


class Status(NamedTuple):
    """One plug-in after loading it: ``problem`` is empty if it is fine."""

    provider: Provider
    summary: str = ""
    problem: str = ""


class _Offer(NamedTuple):
    """An entry point and who offers it."""

    point: EntryPoint
    provider: Provider


class Registry:
    """The installed plug-ins of every kind.

    :param entry_points: what to look through; by default all that is installed.
    :param blocked: distributions to act as if they were not installed; by default the
        comma-separated names in ``FLAGKIT_BLOCK``.
    """

    def __init__(
        self,
        entry_points: Iterable[EntryPoint] | None = None,
        *,
        blocked: Iterable[str] | None = None,
    ) -> None:
        if blocked is None:
            blocked = os.environ.get("FLAGKIT_BLOCK", "").split(",")
        self._blocked = {normalised(name) for name in blocked if name.strip()}
        self._entry_points = entry_points
        self._found: dict[Kind, dict[str, list[_Offer]]] | None = None
        self._loaded: dict[tuple[Kind, str], object] = {}
        self._manager = pluggy.PluginManager("flagkit")
        self._manager.add_hookspecs(hookspecs)

    def names(self, kind: Kind) -> list[str]:
        """Every name on offer, sorted. Imports no plug-in."""
        return sorted(self._offers(kind))

    def provider(self, kind: Kind, name: str) -> Provider:
        """Who offers *name*. Raises for an unknown name or one offered twice."""
        return self._offer(kind, name).provider

    def backend(self, name: str) -> interfaces.Backend:
        """The backend called *name*; raises :class:`flagkit.errors.PluginError`."""
        return cast("interfaces.Backend", self.get(Kind.BACKEND, name))

    def switch(self, name: str) -> interfaces.Switch:
        """The switch called *name*; raises :class:`flagkit.errors.PluginError`."""
        return cast("interfaces.Switch", self.get(Kind.SWITCH, name))

    def parser(self, name: str) -> interfaces.LogParser:
        """The log parser called *name*; raises :class:`flagkit.errors.PluginError`."""
        return cast("interfaces.LogParser", self.get(Kind.PARSER, name))

    def reporter(self, name: str) -> interfaces.Reporter:
        """The reporter called *name*; raises :class:`flagkit.errors.PluginError`."""
        return cast("interfaces.Reporter", self.get(Kind.REPORTER, name))

    def get(self, kind: Kind, name: str) -> object:
        """Load one plug-in, once; raises :class:`flagkit.errors.PluginError`."""
        if (kind, name) not in self._loaded:
            self._loaded[kind, name] = self._load(kind, self._offer(kind, name))
        return self._loaded[kind, name]

    def parsers(self) -> list[interfaces.LogParser]:
        """Every parser that loads. A broken one is somebody else's problem."""
        statuses = self.check([Kind.PARSER])
        return [self.parser(one.provider.name) for one in statuses if not one.problem]

    def check(self, kinds: Iterable[Kind] = tuple(Kind)) -> Iterator[Status]:
        """Load every plug-in, one at a time, and say what is wrong with each."""
        for kind in kinds:
            for name, offers in sorted(self._offers(kind).items()):
                summary = problem = ""
                try:
                    summary = str(getattr(self.get(kind, name), "summary", ""))
                except errors.PluginError as error:
                    problem = str(error)
                for offer in offers:
                    yield Status(provider=offer.provider, summary=summary, problem=problem)

    def _offers(self, kind: Kind) -> dict[str, list[_Offer]]:
        if self._found is None:
            points = self._entry_points
            self._found = self._collect(installed("flagkit.") if points is None else points)
        return self._found[kind]

    def _collect(self, points: Iterable[EntryPoint]) -> dict[Kind, dict[str, list[_Offer]]]:
        found: dict[Kind, dict[str, list[_Offer]]] = {kind: {} for kind in Kind}
        kinds = {kind.group: kind for kind in Kind}
        for point in points:
            kind = kinds.get(point.group)
            if kind is None or normalised(point.distribution) in self._blocked:
                continue
            provider = Provider(
                kind=kind,
                name=point.name,
                module=point.module,
                distribution=point.distribution,
                version=point.version,
            )
            same = found[kind].setdefault(point.name, [])
            # One distribution can be on the path twice (a checkout beside its wheel).
            if not any(other.provider == provider for other in same):
                same.append(_Offer(point, provider))
        return found

    def _offer(self, kind: Kind, name: str) -> _Offer:
        offers = self._offers(kind).get(name, [])
        if not offers:
            import difflib

            known = self.names(kind)
            close = difflib.get_close_matches(name, known, n=2)
            raise errors.UnknownPluginError(kind.value, name, known, close)
        if len(offers) > 1:
            providers = sorted(str(offer.provider) for offer in offers)
            raise errors.PluginConflictError(kind.value, name, providers)
        return offers[0]

    def _load(self, kind: Kind, offer: _Offer) -> object:
        point, provider = offer.point, str(offer.provider)
        try:
            plugin = point.load()
        except (Exception, SystemExit) as cause:
            raise errors.PluginLoadError(kind.value, point.name, provider, cause) from cause
        try:
            found = self._ask(plugin, kind.hook)
        except (Exception, SystemExit) as cause:
            if self._manager.is_registered(plugin):  # pluggy < 1.7 keeps a half-registered one
                self._manager.unregister(plugin)
            if isinstance(cause, pluggy.PluginValidationError):
                problem = " ".join(str(cause).split())
            else:
                problem = f"{kind.hook}() raised {type(cause).__name__}: {cause}"
            raise errors.PluginContractError(kind.value, point.name, provider, problem) from cause
        problem = contract_problem(kind, point.name, found)
        if problem:
            raise errors.PluginContractError(kind.value, point.name, provider, problem)
        return found

    def _ask(self, plugin: object, hook: str) -> Any:
        if not self._manager.is_registered(plugin):
            self._manager.register(plugin)
        self._manager.check_pending()
        others = [other for other in self._manager.get_plugins() if other is not plugin]
        return self._manager.subset_hook_caller(hook, others)()


def contract_problem(kind: Kind, name: str, found: object) -> str:
    """What about *found* is not what a *kind* called *name* has to be; empty if nothing."""
    if found is None:
        return f"{kind.hook}() returned nothing"
    interface = kind.interface
    wanted = {*interface.__annotations__, *(n for n in vars(interface) if not n.startswith("_"))}
    missing = sorted(attribute for attribute in wanted if not hasattr(found, attribute))
    if missing:
        return f"{type(found).__name__} lacks {', '.join(missing)}"
    called = found.name  # type: ignore[attr-defined]
    if called != name:
        return f"it is named {called!r} but its entry point {name!r}"
    return ""
