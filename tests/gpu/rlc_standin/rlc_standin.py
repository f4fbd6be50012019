"""Stands in for FlagTree's RLC pass: ``FLAGTREE_RLC_ENHANCE`` on an ordinary Triton 3.6.

FlagTree's own pass cannot be had here, so what the variable does is made up, and what can
be proven with it is flagkit's part alone: off leaves RemoveLayoutConversions out of the
TTGIR pipeline, on (or unset) runs it wherever Triton does. Code and time change, values do
not.

Loaded into the benchmark's process by pytest, so that flagkit and the benchmark stay as
they are::

    PYTEST_PLUGINS=rlc_standin PYTHONPATH=tests/gpu/rlc_standin flagkit ab --switch rlc ...

Two variables choose a broken build to stand in for:

- ``RLC_STANDIN_KEY=0`` leaves the switch out of the compile key: whoever compiles second
  in one cache gets the first one's code, the published false "no effect".
- ``RLC_STANDIN_CACHE=DIR`` makes the process use the compile cache *DIR*, whatever cache it
  was given.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

VARIABLE = "FLAGTREE_RLC_ENHANCE"
KEY, CACHE = "RLC_STANDIN_KEY", "RLC_STANDIN_CACHE"
PASS = "add_remove_layout_conversions"
KEYED = ("triton.compiler.compiler", "triton.runtime.jit", "triton.runtime.autotuner")
"""Modules that have ``get_cache_invalidating_env_vars`` by name."""


def enhanced() -> bool:
    """Whether the pass runs. Read anew each time, as compilers do."""
    return os.environ.get(VARIABLE, "1").lower() in ("1", "true", "on", "yes")


def install() -> None:
    """Hook Triton's compiler. Idempotent."""
    from triton import knobs

    if knobs.runtime.add_stages_inspection_hook is inspect_stages:
        return
    knobs.runtime.add_stages_inspection_hook = inspect_stages
    if os.environ.get(CACHE):
        os.environ["TRITON_CACHE_DIR"] = os.environ[CACHE]
    if os.environ.get(KEY) != "0":
        for name in KEYED:
            module = sys.modules[name]
            module.get_cache_invalidating_env_vars = _extended(
                module.get_cache_invalidating_env_vars
            )


def inspect_stages(
    backend: Any = None,
    stages: Any = None,
    options: Any = None,
    language: Any = None,
    capability: Any = None,
) -> Any:
    """``knobs.runtime.add_stages_inspection_hook``.

    Triton after 3.6 also calls it with nothing at all, and puts the pair it then gives into
    the compile key. 3.6 does not, so that the key is extended beside it.
    """
    if stages is None:
        key = f"{VARIABLE}={enhanced()}" if os.environ.get(KEY) != "0" else ""
        return key, hashlib.sha256(key.encode()).hexdigest()
    if "ttgir" in stages:
        stages["ttgir"] = functools.partial(_run, stages["ttgir"])
    return None


def _run(stage: Callable[[Any, Any], Any], module: Any, metadata: Any) -> Any:
    """Run the TTGIR stage, with the pass or without."""
    from triton._C.libtriton import passes

    original = getattr(passes.ttgpuir, PASS)
    if not enhanced():
        setattr(passes.ttgpuir, PASS, lambda manager: None)
    try:
        return stage(module, metadata)
    finally:
        setattr(passes.ttgpuir, PASS, original)


def _extended(original: Callable[[], dict[str, str]]) -> Callable[[], dict[str, str]]:
    """Triton's list of variables in the compile key, with the switch where it is set."""

    def get_cache_invalidating_env_vars() -> dict[str, str]:
        own = {VARIABLE: "true" if enhanced() else "false"} if VARIABLE in os.environ else {}
        return {**original(), **own}

    return get_cache_invalidating_env_vars


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish() -> None:
    """The benchmark is imported, and Triton with it; nothing was compiled yet."""
    if "triton" in sys.modules:
        install()
