"""Gives a backend the values of its own options, before anything else is asked of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from flagkit.errors import FlagkitError, PluginContractError
from flagkit.interfaces import TakesOptions
from flagkit.plugins import Kind, contract_problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flagkit.interfaces import Backend
    from flagkit.plugins import Registry


def plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """*options* as JSON keeps them: what a run keeps, resumes with and tells its agent."""
    return cast("dict[str, Any]", json.loads(json.dumps(dict(options), default=str)))


def configured(registry: Registry, name: str, options: Mapping[str, Any]) -> Backend:
    """The backend *name* as *options* make it.

    Raises what the backend says of wrong options, and :class:`PluginError` for one that is
    broken: also for one that has options and no way to take them, since an option that does
    nothing would go unnoticed.
    """
    backend = registry.backend(name)

    def broken(problem: str) -> PluginContractError:
        return PluginContractError(
            Kind.BACKEND.value, name, str(registry.provider(Kind.BACKEND, name)), problem
        )

    if not isinstance(backend, TakesOptions):
        if list(backend.options()):
            raise broken("it has options, but no configured(options) to take them")
        return backend
    try:
        found = backend.configured(plain(options))
    except FlagkitError:
        raise
    except Exception as error:
        raise broken(f"configured() raised {type(error).__name__}: {error}") from error
    problem = contract_problem(Kind.BACKEND, name, found)
    if problem:
        raise broken(f"configured(): {problem}")
    return found
