"""The one tree of errors. ``flagkit.cli`` alone turns one into an exit code.

Every message is one line for a person: what, where, what to do.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class FlagkitError(Exception):
    """Anything flagkit can say about its input. ``exit_code`` is the command's."""

    exit_code = 1


class UsageError(FlagkitError):
    """What was asked for does not make sense: a wrong name, a wrong value."""

    exit_code = 2


class InputError(FlagkitError):
    """A file or folder that was named cannot be used."""


class RunError(FlagkitError):
    """A benchmark could not be started or its results could not be kept."""


class NothingPairedError(FlagkitError):
    """No row of the one side has a partner on the other: there is no range to report."""

    exit_code = 5


class PluginError(FlagkitError):
    """Something is wrong with one plug-in, and only with that one."""


class UnknownPluginError(PluginError, UsageError):
    """A plug-in name that no installed distribution offers."""

    exit_code = 2

    def __init__(self, kind: str, name: str, known: Sequence[str], close: Sequence[str]) -> None:
        hint = f" (did you mean {' or '.join(repr(c) for c in close)}?)" if close else ""
        offered = ", ".join(known) or "none"
        super().__init__(f"unknown {kind} {name!r}{hint}; installed: {offered}")


class PluginLoadError(PluginError):
    """The plug-in's module could not be imported."""

    def __init__(self, kind: str, name: str, provider: str, cause: BaseException) -> None:
        text = " ".join(str(cause).split())
        super().__init__(
            f"{kind} {name!r} from {provider} failed to load: {type(cause).__name__}: {text}"
        )


class PluginConflictError(PluginError):
    """Several distributions offer the same name."""

    def __init__(self, kind: str, name: str, providers: Sequence[str]) -> None:
        super().__init__(
            f"{kind} {name!r} is offered by {len(providers)} distributions: "
            f"{', '.join(providers)}; uninstall one, or set FLAGKIT_BLOCK=<distribution>"
        )


class PluginContractError(PluginError):
    """The plug-in loaded, but what it gave is not what its hook asks for."""

    def __init__(self, kind: str, name: str, provider: str, problem: str) -> None:
        super().__init__(f"{kind} {name!r} from {provider} breaks its contract: {problem}")


class PluginCallError(PluginError):
    """A plug-in's method raised something that is not meant for people."""

    def __init__(self, kind: str, name: str, method: str, cause: BaseException) -> None:
        super().__init__(
            f"{kind} {name!r} failed: {method}() raised {type(cause).__name__}: {cause}; "
            "`flagkit plugins` says whose it is"
        )


@contextmanager
def calling(
    kind: str, name: str, method: str, passing: tuple[type[Exception], ...] = ()
) -> Iterator[None]:
    """Blame what a plug-in's *method* raises on the plug-in, as a :class:`PluginCallError`.

    What knows its exit code is meant for people and goes through, as do types of *passing*.
    """
    try:
        yield
    except Exception as cause:
        if isinstance(cause, passing) or hasattr(cause, "exit_code"):
            raise
        raise PluginCallError(kind, name, method, cause) from cause


class UnavailableError(PluginError):
    """The backend is fine, but this machine or this Python cannot run it."""

    def __init__(self, kind: str, name: str, reason: str) -> None:
        super().__init__(f"{kind} {name!r} cannot run here: {reason}")
