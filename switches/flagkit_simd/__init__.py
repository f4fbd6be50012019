"""NumPy's runtime SIMD dispatch, off against on.

NumPy picks, at import, the best of several builds of its loops. Their names differ from
version to version (``X86_V3`` in 2.4, ``AVX2 FMA3`` in 2.2). ``NPY_DISABLE_CPU_FEATURES``
takes them out; a name it does not know is ignored without a word and a name of the
baseline aborts the import, so the names are read from the very NumPy that is to be timed.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from flagkit import hookimpl
from flagkit.errors import UsageError
from flagkit.interfaces import ArmSetup, SwitchVariable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import click

    from flagkit.interfaces import Backend, Switch, Target
    from flagkit.model import Note

DISABLE = "NPY_DISABLE_CPU_FEATURES"
ENABLE = "NPY_ENABLE_CPU_FEATURES"
"""NumPy refuses to start when both are set, so it is unset on both sides."""

UMATH = ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath")
"""Where NumPy 2 and NumPy 1 keep the lists."""

PROBE = f"""
need("numpy")
umath = None
for name in {UMATH!r}:
    try:
        umath = importlib.import_module(name)
        break
    except ImportError:
        pass
features = getattr(umath, "__cpu_features__", {{}})
names = [name for name in getattr(umath, "__cpu_dispatch__", ()) if features.get(name)]
facts["enabled"] = " ".join(names)
"""


class SimdSwitch:
    """All enabled dispatch targets disabled, against none of them."""

    name = "simd"
    summary = f"NumPy's runtime SIMD dispatch ({DISABLE})"
    arms = ("off", "on")
    control = False

    def __init__(self) -> None:
        self._names: dict[tuple[str, tuple[tuple[str, str], ...]], str] = {}

    def setup(
        self, arm: str, backend: Backend, options: Mapping[str, Any], target: Target
    ) -> ArmSetup:
        """The names of the target's own NumPy for off; the variable unset for on."""
        if arm not in self.arms:
            raise UsageError(f"switch 'simd' has the arms off and on, not {arm!r}")
        return ArmSetup(
            env={DISABLE: self._enabled(target) if arm == "off" else None, ENABLE: None}
        )

    def variables(self, backend: Backend, options: Mapping[str, Any]) -> Sequence[SwitchVariable]:
        """The one that differs. Its name is compiled into NumPy."""
        return (SwitchVariable(name=DISABLE, package="numpy"),)

    def observe(self) -> Mapping[str, str]:
        """Which dispatch targets the NumPy of this process uses; nothing if it has none."""
        umath = next((sys.modules[name] for name in UMATH if name in sys.modules), None)
        features = getattr(umath, "__cpu_features__", None)
        dispatch = getattr(umath, "__cpu_dispatch__", None)
        if features is None or dispatch is None:
            return {}
        version = str(getattr(sys.modules.get("numpy"), "__version__", ""))
        return {
            "numpy": version,
            "enabled": " ".join(name for name in dispatch if features.get(name)),
        }

    def prove(self, before: Mapping[str, str], after: Mapping[str, str]) -> Sequence[Note]:
        """Whether the off side used no dispatch target and the on side some."""
        from flagkit.model import Note

        untold = [
            f"the {side} side did not say what NumPy uses"
            for side, facts in (("before", before), ("after", after))
            if "enabled" not in facts
        ]
        if untold:
            return (Note(code="switch-failed", text="; ".join(untold)),)
        off, on = before["enabled"], after["enabled"]
        if off:
            text = f"NumPy still used {off} on the before side: the switch did not take"
        elif not on:
            text = "NumPy used no SIMD dispatch on the after side either: both sides are off"
        else:
            text = f"NumPy's SIMD dispatch: none before, {on} after"
            return (Note(code="switch-proof", text=text),)
        return (Note(code="switch-failed", text=text),)

    def options(self) -> Sequence[click.Option]:
        """None."""
        return ()

    def _enabled(self, target: Target) -> str:
        key = (str(target.python), tuple(sorted(target.environ.items())))
        if key not in self._names:
            self._names[key] = _ask(target)
        return self._names[key]


def _ask(target: Target) -> str:
    """The enabled dispatch targets of the target's NumPy, as the variable takes them."""
    import os

    from flagkit.probing import run_probe

    environ = {**os.environ, **target.environ}
    for name in (DISABLE, ENABLE):
        environ.pop(name, None)
    answer = run_probe(target.python, PROBE, environ=environ)
    if not answer.ok:
        raise UsageError(f"switch 'simd' cannot be used with {target.python}: {answer.reason}")
    names = answer.facts.get("enabled", "")
    if not names:
        raise UsageError(
            f"switch 'simd' has nothing to switch: numpy {answer.facts.get('numpy', '')} of "
            f"{target.python} has no SIMD dispatch enabled on this machine"
        )
    return names


@hookimpl
def flagkit_switch() -> Switch:
    """The switch ``simd``."""
    return SimdSwitch()
