"""FlagTree's phased enhancement of RemoveLayoutConversions, off against on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from flagkit import hookimpl
from flagkit.errors import UsageError
from flagkit.interfaces import ArmSetup, SwitchVariable
from flagkit_rlc import trace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import click

    from flagkit.interfaces import Backend, Excerpt, Switch, Target
    from flagkit.model import Note

PACKAGE = "triton"
"""FlagTree is a fork of Triton and is installed under its name."""

_WORD = re.compile(r"[A-Z][A-Z0-9_]*")


class RlcSwitch:
    """``FLAGTREE_RLC_ENHANCE``, with the vendor's prefix before ``RLC`` where it has one.

    The phase mask, the policies and the trace are set alike on both sides, so that the
    master switch is all that differs. They mean nothing while it is off.
    """

    name = "rlc"
    summary = "FlagTree's enhanced RemoveLayoutConversions pass (FLAGTREE_[VENDOR_]RLC_ENHANCE)"
    arms = ("off", "on")
    control = False

    def setup(
        self, arm: str, backend: Backend, options: Mapping[str, Any], target: Target
    ) -> ArmSetup:
        """``0`` for off and ``1`` for on; never unset, since unset and 0 may hash unalike."""
        values = {"off": "0", "on": "1"}
        if arm not in values:
            raise UsageError(f"switch 'rlc' has the arms off and on, not {arm!r}")
        stem = _stem(backend, options)
        return ArmSetup(env={f"{stem}_ENHANCE": values[arm], **dict(_details(stem, options))})

    def variables(self, backend: Backend, options: Mapping[str, Any]) -> Sequence[SwitchVariable]:
        """The master first. A build need not have a trace: the report says if it printed none."""
        stem = _stem(backend, options)
        names = [f"{stem}_ENHANCE", *(name for name, _ in _details(stem, options))]
        return tuple(
            SwitchVariable(name=name, package="" if name == trace.VARIABLE else PACKAGE)
            for name in names
        )

    def observe(self) -> Mapping[str, str]:
        """Nothing: the agent watches the variables itself."""
        return {}

    def prove(self, before: Mapping[str, str], after: Mapping[str, str]) -> Sequence[Note]:
        """What the trace says. Compiled code is the proof, and it is compared elsewhere."""
        return trace.notes(before, after)

    def excerpt(self, lines: Iterable[bytes], options: Mapping[str, Any]) -> Excerpt | None:
        """The trace, where ``--rlc-trace`` asked for it."""
        return trace.excerpt(lines) if options.get("trace") else None

    def options(self) -> Sequence[click.Option]:
        """``--rlc-vendor``, ``--rlc-phase-mask``, ``--rlc-policy``, ``--rlc-trace``."""
        import click

        return (
            click.Option(
                ["--rlc-vendor"],
                metavar="PREFIX",
                help="Stands before RLC in the variables' names (MUSA, HCU ...; nvidia: none). "
                "By default the backend's own.",
            ),
            click.Option(
                ["--rlc-phase-mask"],
                type=click.IntRange(min=0),
                help="Which phases run, as a bit mask; set on both sides.",
            ),
            click.Option(
                ["--rlc-policy"],
                metavar="KEY=VALUE",
                multiple=True,
                help="FLAGTREE_[VENDOR_]RLC_KEY, set on both sides; repeatable.",
            ),
            click.Option(
                ["--rlc-trace"],
                is_flag=True,
                help=f"Collect what the pass rejects, where the build prints it ({trace.VARIABLE}); "
                "set on both sides.",
            ),
        )


def _stem(backend: Backend, options: Mapping[str, Any]) -> str:
    """``FLAGTREE_RLC`` or ``FLAGTREE_<PREFIX>_RLC``."""
    given = options.get("vendor")
    prefix = backend.flagtree_prefix if given is None else _prefix(str(given))
    if prefix is None:
        raise UsageError(
            f"backend {backend.name!r} has no FlagTree, so switch 'rlc' has no variable to set; "
            "name the vendor with --rlc-vendor"
        )
    return f"FLAGTREE_{prefix}_RLC" if prefix else "FLAGTREE_RLC"


def _prefix(given: str) -> str:
    upper = given.strip().upper()
    if upper in ("", "NVIDIA"):
        return ""
    if not _WORD.fullmatch(upper):
        raise UsageError(f"--rlc-vendor {given!r} is no prefix: letters, digits and _ make one")
    return upper


def _details(stem: str, options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What both sides get besides the master."""
    taken = {f"{stem}_ENHANCE"}
    mask = options.get("phase_mask")
    if mask is not None:
        if isinstance(mask, bool) or not isinstance(mask, int) or mask < 0:
            raise UsageError(f"--rlc-phase-mask needs a whole number of 0 or more, not {mask!r}")
        taken.add(f"{stem}_PHASE_MASK")
        yield f"{stem}_PHASE_MASK", str(mask)
    if options.get("trace"):
        taken.add(trace.VARIABLE)
        yield trace.VARIABLE, "1"
    for text in options.get("policy") or ():
        key, equals, value = str(text).partition("=")
        name = f"{stem}_{key.strip().upper()}"
        if not equals or not _WORD.fullmatch(key.strip().upper()) or "\0" in value:
            raise UsageError(f"--rlc-policy needs KEY=VALUE, not {text!r}")
        if name in taken:
            raise UsageError(f"--rlc-policy {text!r}: {name} is set already")
        taken.add(name)
        yield name, value


@hookimpl
def flagkit_switch() -> Switch:
    """The switch ``rlc``."""
    return RlcSwitch()
