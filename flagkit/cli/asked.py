"""What ``ab`` and ``run`` are asked: their shared options, and the request these make."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flagkit import errors
from flagkit.cli.options import PluginName, belonging, registry
from flagkit.experiment.request import Request
from flagkit.plugins import Kind

if TYPE_CHECKING:
    from flagkit.experiment.rundir import RunDir


def measuring_options(command: Any) -> Any:
    """What ``ab`` and ``run`` share: what is measured, and how."""
    for option in (
        click.option(
            "--timeout",
            "timeout_s",
            type=click.FloatRange(min=0, min_open=True),
            metavar="S",
            help="End one side after S seconds.",
        ),
        click.option(
            "--bench-arg",
            "bench_args",
            multiple=True,
            metavar="ARG",
            help="A further argument for the benchmark's pytest, on both sides; repeatable.",
        ),
        click.option("--seed", type=int, default=0, show_default=True, help="Of every test."),
        click.option(
            "--device", type=click.IntRange(0), default=0, show_default=True, help="Device number."
        ),
        click.option(
            "--control",
            type=click.Choice(["none", "torch"]),
            default="none",
            show_default=True,
            help="Keep FlagGems' torch column: the same code on both sides.",
        ),
        click.option(
            "--timing",
            type=click.Choice(["graph", "event"]),
            default="graph",
            show_default=True,
            help="Replay captured graphs, or launch between events as do_bench does.",
        ),
        click.option(
            "--dtype", "dtypes", multiple=True, metavar="DTYPE", help="FlagGems dtype; repeatable."
        ),
        click.option(
            "--level",
            type=click.Choice(["core", "comprehensive"]),
            default="core",
            show_default=True,
            help="FlagGems' shapes.",
        ),
        click.option(
            "--python",
            type=click.Path(path_type=Path),
            help="The benchmark's Python; nothing is installed there.  [default: this one]",
        ),
        click.option(
            "--suite",
            type=click.Path(path_type=Path),
            help="A file or folder of pytest benchmarks, instead of FlagGems'.",
        ),
        click.option(
            "--gems-root",
            type=click.Path(path_type=Path),
            envvar="FLAGKIT_GEMS_ROOT",
            show_envvar=True,
            help="A FlagGems checkout; the variable is for backends that benchmark FlagGems.",
        ),
        click.option(
            "--ops",
            metavar='"OP OP:FILE ..."',
            help="Operators, by pytest mark.  [default: all; FlagGems needs them named]",
        ),
        click.option(
            "--runs-dir",
            type=click.Path(path_type=Path),
            default=Path("runs"),
            show_default=True,
            help="Where run directories go.",
        ),
        click.option("--backend", type=PluginName(Kind.BACKEND), help="The device."),
    ):
        command = option(command)
    return command


def request_from(given: dict[str, Any], *required: str) -> Request:
    """The request that the options make; *required* names the ones it cannot do without."""
    for name in required:
        if not given[name]:
            raise errors.UsageError(f"missing option --{name}; see `flagkit plugins` for its names")
    if given["timeout_s"] is not None and not math.isfinite(given["timeout_s"]):
        raise errors.UsageError(f"--timeout {given['timeout_s']}: not a number of seconds")
    python = given["python"]
    return Request(
        switch=given["switch"],
        backend=given["backend"],
        python=interpreter(python),
        ops=tuple((given["ops"] or "").split()),
        suite=_absolute(given["suite"]),
        gems_root=_absolute(_gems_root(given)),
        level=given["level"],
        dtypes=given["dtypes"],
        timing=given["timing"],
        control=given["control"],
        device=given["device"],
        rounds=given.get("rounds", 1),
        seed=given["seed"],
        timeout_s=given["timeout_s"],
        bench_args=given["bench_args"],
        verify=given.get("verify", True),
        check=given.get("check", False),
        allow_diff=given.get("allow_diff", ()),
        switch_options=belonging(given["switch"], given) if given["switch"] else {},
        backend_options=belonging(given["backend"], given),
    )


def _gems_root(given: dict[str, Any]) -> Path | None:
    """The checkout that was named. One that only the environment names is for backends that
    benchmark FlagGems: it must not take the bundled suite's place, nor stand beside another."""
    root: Path | None = given["gems_root"]
    ctx = click.get_current_context()
    source = ctx.get_parameter_source("gems_root")
    if root is None or source is not click.core.ParameterSource.ENVIRONMENT:
        return root
    backend = registry(ctx).backend(given["backend"])
    return None if given["suite"] or backend.gems_vendor is None else root


def interpreter(path: Path | None) -> Path:
    """The benchmark's Python, absolute but with links kept: a virtual environment's
    interpreter is a link, and its target would not see the environment's packages."""
    if path is None:
        return Path(sys.executable)
    if not path.exists():
        raise errors.UsageError(f"--python {path}: no such file")
    if path.is_dir():
        raise errors.UsageError(f"--python {path}: a directory; name the interpreter in it")
    return path.absolute()


def _absolute(path: Path | None) -> Path | None:
    return path.absolute() if path else None


def stored_request(rundir: RunDir) -> Request:
    """What an earlier `flagkit ab` was asked; raises :class:`flagkit.errors.InputError`."""
    try:
        request = Request.from_json(rundir.campaign()["request"])
    except (KeyError, TypeError, ValueError) as error:
        raise errors.InputError(
            f"{rundir.root}: its campaign.json holds no request this version can go on with"
        ) from error
    if not request.switch:
        raise errors.UsageError(
            f"{rundir.root} is a single run of `flagkit run`, which has no second side: run it "
            "again with `flagkit run`"
        )
    return request


def refuse_beside_resume(ctx: click.Context, allowed: set[str]) -> None:
    """A resumed campaign is what it was: an option that would change it is an error."""
    for param in ctx.command.get_params(ctx):
        source = ctx.get_parameter_source(param.name or "")
        if param.name not in allowed and source is click.core.ParameterSource.COMMANDLINE:
            raise errors.UsageError(
                f"{param.opts[0]} cannot be given with --resume: the campaign keeps what it was "
                "asked; start a new one to ask otherwise"
            )
