"""The host's own processor: no device interface, timed by the host's clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flagkit import hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import ModuleType

    import click

    from flagkit.interfaces import Availability, Backend, StaleGuard

# numpy is a fact and not a need: a suite of one's own may do without.
PROBE = 'version("numpy")\nfacts["machine"] = platform.machine()\n'


class CpuBackend:
    """Any machine."""

    name = "cpu"
    summary = "the host's processor, timed by the host's clock"
    flagtree_prefix: str | None = None
    gems_vendor: str | None = None

    def probe(self, python: Path) -> Availability:
        """Only pytest has to be there."""
        from flagkit.probing import run_probe

        return run_probe(python, PROBE)

    def environ(self, device: int) -> Mapping[str, str]:
        """Nothing: there is one host."""
        return {}

    def device_interface(self) -> ModuleType | None:
        """None: the host is timed."""
        return None

    def is_fatal(self, exc: BaseException) -> bool:
        """Never: the host has no context to lose."""
        return False

    def stale_guards(self) -> Sequence[StaleGuard]:
        """None."""
        return ()

    def options(self) -> Sequence[click.Option]:
        """None."""
        return ()


@hookimpl
def flagkit_backend() -> Backend:
    """The backend ``cpu``."""
    return CpuBackend()
