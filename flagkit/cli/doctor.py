"""``flagkit doctor``: whether a backend can run, and what it would use."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

import flagkit
from flagkit.cli import one_line
from flagkit.cli.asked import interpreter
from flagkit.cli.options import ComposedCommand, PluginName, belonging, registry
from flagkit.errors import calling
from flagkit.experiment.configuring import configured
from flagkit.plugins import Kind


@click.command(name="doctor", cls=ComposedCommand)
@click.option("--backend", type=PluginName(Kind.BACKEND), required=True, help="The device.")
@click.option("--python", type=click.Path(path_type=Path), help="The benchmark's Python.")
@click.option(
    "--device", type=click.IntRange(0), default=0, show_default=True, help="Device number."
)
@click.pass_context
def command(
    ctx: click.Context, /, backend: str, python: Path | None, device: int, **given: Any
) -> int:
    """Say what is installed, what would be used and what is missing.

    Exits 1 if the backend cannot run here. The backend may add options of its own.
    """
    found = registry(ctx)
    plugin, target = configured(found, backend, belonging(backend, given)), interpreter(python)
    with calling("backend", backend, "probe"):
        answer = plugin.probe(target)
    with calling("backend", backend, "environ"):
        sets = dict(plugin.environ(device))
    facts = {
        "flagkit": flagkit.__version__,
        "backend": f"{backend} from {found.provider(Kind.BACKEND, backend)}",
        "interpreter": str(target),
        **answer.facts,
        "FlagGems vendor": plugin.gems_vendor or "none",
        "FlagTree prefix": "none"
        if plugin.flagtree_prefix is None
        else plugin.flagtree_prefix or "(empty)",
        **{f"sets {name}": value for name, value in sets.items()},
        **{
            f"{name} is set": os.environ[name]
            for name in ("PYTEST_ADDOPTS", "FLAGGEMS_DB_URL", "TRITON_CACHE_DIR", "PYTHONPATH")
            if name in os.environ
        },
    }
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        click.echo(f"{name.ljust(width)}  {one_line(str(value))}")
    verdict = "can run here" if answer.ok else f"cannot run here: {answer.reason}"
    click.echo(f"{'verdict'.ljust(width)}  backend {backend!r} {one_line(verdict)}")
    return 0 if answer.ok else 1
