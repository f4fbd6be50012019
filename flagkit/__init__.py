"""flagkit: A/B experiments on accelerator operators.

A plug-in needs one name from here, :data:`hookimpl`; everything else it needs
stands in :mod:`flagkit.interfaces` and :mod:`flagkit.model`.
"""

from pluggy import HookimplMarker

__version__ = "0.1.0"

hookimpl = HookimplMarker("flagkit")
