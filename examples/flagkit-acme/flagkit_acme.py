"""Acme's devices, a made vendor: everything flagkit needs to know of a backend."""

from __future__ import annotations

from dataclasses import dataclass, replace

from flagkit import hookimpl
from flagkit.faults import FATAL_MARKERS, mentions
from flagkit.probing import run_probe, visible_device

# Runs in the benchmark's Python. `need` says what is missing, `stop` why it is no use.
PROBE = """
torch = need("torch")
need("torch_acme")
if not torch.acme.is_available():
    stop("torch sees no Acme device")
need("triton")
facts["devices"] = torch.acme.device_count()
"""


@dataclass(frozen=True)
class AcmeBackend:
    clock: int | None = None  # MHz, of --acme-clock

    name = "acme"
    summary = "Acme devices, through torch_acme and Triton"
    flagtree_prefix = "ACME"  # hence FLAGTREE_ACME_RLC_ENHANCE
    gems_vendor = "acme"

    def probe(self, python):
        return run_probe(python, PROBE)

    def environ(self, device):
        environ = {"ACME_VISIBLE_DEVICES": visible_device("ACME_VISIBLE_DEVICES", device)}
        return environ | ({} if self.clock is None else {"ACME_CLOCK_MHZ": str(self.clock)})

    # From here on: called in the benchmark's process, where torch is there already.

    def device_interface(self):
        from triton.runtime import driver

        return driver.active.get_device_interface()

    def is_fatal(self, exc):
        return mentions(exc, (*FATAL_MARKERS, "acme core stopped"))

    def stale_guards(self):
        return ()

    def options(self):
        import click

        text = "Hold the core clock there, on both sides."
        return [click.Option(["--acme-clock"], type=click.IntRange(1), metavar="MHZ", help=text)]

    def configured(self, options):
        return replace(self, clock=options.get("clock"))


@hookimpl
def flagkit_backend():
    return AcmeBackend()


@hookimpl
def flagkit_graph_class(backend, device_interface):
    return getattr(device_interface, "ACMEGraph", None) if backend == "acme" else None
