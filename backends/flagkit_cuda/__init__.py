"""NVIDIA's devices, through torch and Triton."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flagkit import hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import ModuleType

    import click

    from flagkit.interfaces import Availability, Backend, StaleGuard

VISIBLE = "CUDA_VISIBLE_DEVICES"

# Triton is asked for its active driver, since that is what times and launches.
PROBE = """
torch = need("torch")
if not torch.cuda.is_available():
    built = torch.version.cuda
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if built is None:
        why = "torch " + torch.__version__ + " is built without CUDA"
    elif visible is not None and not visible.strip():
        why = "CUDA_VISIBLE_DEVICES is empty"
    else:
        why = "torch " + torch.__version__ + ", built for CUDA " + built
    stop("torch sees no CUDA device (" + why + ")")
facts["cuda"] = torch.version.cuda
need("triton")
from triton.runtime import driver
try:
    interface = driver.active.get_device_interface()
except Exception as error:
    stop("triton " + facts["triton"] + " gives no device interface: " + str(error))
facts["device interface"] = interface.__name__
facts["devices"] = interface.device_count()
for number in range(interface.device_count()):
    properties = interface.get_device_properties(number)
    uuid = getattr(properties, "uuid", None)
    facts["device %d" % number] = properties.name + (" (uuid %s)" % uuid if uuid else "")
version("flag_gems")
"""


class CudaBackend:
    """NVIDIA."""

    name = "cuda"
    summary = "NVIDIA devices, through torch and Triton"
    flagtree_prefix: str | None = ""
    gems_vendor: str | None = "nvidia"

    def probe(self, python: Path) -> Availability:
        """Whether torch sees a device and Triton has an active driver for it."""
        from flagkit.probing import run_probe

        return run_probe(python, PROBE)

    def environ(self, device: int) -> Mapping[str, str]:
        """``CUDA_VISIBLE_DEVICES``, which *device* indexes where it is already set."""
        from flagkit.probing import visible_device

        return {VISIBLE: visible_device(VISIBLE, device)}

    def device_interface(self) -> ModuleType | None:
        """What Triton's active driver says, ``torch.cuda`` as a rule."""
        from triton.runtime import driver

        interface: ModuleType = driver.active.get_device_interface()
        return interface

    def is_fatal(self, exc: BaseException) -> bool:
        """Whether the text of *exc* is one of the sticky errors of CUDA."""
        from flagkit.faults import mentions

        return mentions(exc)

    def stale_guards(self) -> Sequence[StaleGuard]:
        """None: FlagGems' guards are written for CUDA."""
        return ()

    def options(self) -> Sequence[click.Option]:
        """None."""
        return ()


@hookimpl
def flagkit_backend() -> Backend:
    """The backend ``cuda``."""
    return CudaBackend()


@hookimpl
def flagkit_graph_class(backend: str, device_interface: ModuleType) -> type[Any] | None:
    """``CUDAGraph``, where the interface has one."""
    return getattr(device_interface, "CUDAGraph", None) if backend == CudaBackend.name else None
