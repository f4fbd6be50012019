"""Moore Threads' devices, through torch, torch_musa and Triton."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flagkit import hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import ModuleType

    import click

    from flagkit.interfaces import Availability, Backend, StaleGuard

VISIBLE = "MUSA_VISIBLE_DEVICES"

# torch_musa comes first: without it nothing else on the list matters. Its compatibility
# mode makes torch.cuda stand for MUSA, so torch.cuda is never asked.
PROBE = """
installed("torch_musa")
torch = need("torch")
need("torch_musa")
musa = getattr(torch, "musa", None)
if musa is None or not musa.is_available():
    visible = os.environ.get("MUSA_VISIBLE_DEVICES")
    empty = visible is not None and not visible.strip()
    why = "MUSA_VISIBLE_DEVICES is empty" if empty else "torch_musa " + facts["torch_musa"]
    stop("torch sees no MUSA device (" + why + ")")
need("triton")
from triton.runtime import driver
try:
    interface = driver.active.get_device_interface()
except Exception as error:
    stop("triton " + facts["triton"] + " gives no device interface: " + str(error))
facts["device interface"] = interface.__name__
facts["devices"] = musa.device_count()
for number in range(musa.device_count()):
    properties = musa.get_device_properties(number)
    uuid = getattr(properties, "uuid", None)
    facts["device %d" % number] = properties.name + (" (uuid %s)" % uuid if uuid else "")
version("flag_gems")
"""

MUSA_MARKERS: tuple[str, ...] = (
    "musa error assert",
    "musa error unknown",
    "device hang",
    "gpu hang",
    "gpu reset",
    "device lost",
)
"""What MUSA's runtime and driver say besides the words they share with CUDA's."""


class MusaBackend:
    """Moore Threads."""

    name = "musa"
    summary = "Moore Threads devices, through torch_musa and Triton"
    flagtree_prefix: str | None = "MUSA"
    gems_vendor: str | None = "mthreads"

    def probe(self, python: Path) -> Availability:
        """Whether torch_musa sees a device and Triton has an active driver for it."""
        from flagkit.probing import run_probe

        return run_probe(python, PROBE)

    def environ(self, device: int) -> Mapping[str, str]:
        """``MUSA_VISIBLE_DEVICES``, which *device* indexes where it is already set."""
        from flagkit.probing import visible_device

        return {VISIBLE: visible_device(VISIBLE, device)}

    def device_interface(self) -> ModuleType | None:
        """What Triton's active driver says, ``torch_musa`` or ``torch.musa``."""
        from triton.runtime import driver

        interface: ModuleType = driver.active.get_device_interface()
        return interface

    def is_fatal(self, exc: BaseException) -> bool:
        """Whether the text of *exc* says that the context is dead."""
        from flagkit.faults import FATAL_MARKERS, mentions

        return mentions(exc, FATAL_MARKERS + MUSA_MARKERS)

    def stale_guards(self) -> Sequence[StaleGuard]:
        """Guards that ask for CUDA though the operator runs on MUSA.

        Not here, since they are not stale: ``test_cutlass_scaled_mm.py`` needs vLLM, and
        ``test_grid_sample.py`` makes its inputs on a device spelt "cuda".
        """
        from flagkit.interfaces import StaleGuard

        no_device = "CUDA device required"
        return (
            StaleGuard(file="test_fft.py", reason="CUDA is not available", test="test_perf_fft"),
            StaleGuard(file="test_top_k_per_row_decode.py", reason=no_device),
            StaleGuard(file="test_top_k_per_row_prefill.py", reason=no_device),
        )

    def options(self) -> Sequence[click.Option]:
        """None."""
        return ()


@hookimpl
def flagkit_backend() -> Backend:
    """The backend ``musa``."""
    return MusaBackend()


@hookimpl
def flagkit_graph_class(backend: str, device_interface: ModuleType) -> type[Any] | None:
    """``MUSAGraph``, where the interface has one."""
    return getattr(device_interface, "MUSAGraph", None) if backend == MusaBackend.name else None
