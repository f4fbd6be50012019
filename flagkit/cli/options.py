"""Options that commands share, and options that the selected plug-ins add."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flagkit.errors import PluginContractError, UsageError
from flagkit.plugins import Kind, Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from click.shell_completion import CompletionItem

    TextType = click.ParamType[str]
else:
    TextType = click.ParamType  # not generic before click 8.4

_ADDED = "flagkit.cli.options.added"


def registry(ctx: click.Context) -> Registry:
    """The command line's one registry; a test gives its own as ``obj``."""
    return ctx.find_root().ensure_object(Registry)


class PluginName(TextType):
    """A plug-in's name, checked against metadata alone."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.name = kind.value

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuse a name that nothing installed offers, and one offered twice."""
        if ctx is not None and not ctx.resilient_parsing:
            registry(ctx).provider(self.kind, str(value))
        return str(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The installed names that start so."""
        from click.shell_completion import CompletionItem

        names = registry(ctx).names(self.kind)
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


class ComposedCommand(click.Command):
    """A command that also takes the options of the plug-ins its own options select."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Find the selected plug-ins first, then parse with their options."""
        ctx.meta[_ADDED] = list(self._added(ctx, args))
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The command's own parameters, the plug-ins', then ``--help``."""
        rest = super().get_params(ctx)[len(self.params) :]
        return [*self.params, *ctx.meta.get(_ADDED, ()), *rest]

    def _added(self, ctx: click.Context, args: Sequence[str]) -> Iterable[click.Option]:
        selectors = [p for p in self.params if isinstance(p.type, PluginName)]
        peek = click.Command(
            self.name,
            params=list(selectors),
            add_help_option=False,
            context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
        )
        seen = peek.make_context(self.name, list(args), parent=ctx.parent, resilient_parsing=True)
        for selector in selectors:
            kind = selector.type.kind  # type: ignore[attr-defined]
            name = seen.params.get(selector.name or "")
            # A kind whose interface has no options (parsers) adds none.
            if hasattr(kind.interface, "options") and name in registry(ctx).names(kind):
                yield from _plugin_options(registry(ctx), kind, name)


def _plugin_options(found: Registry, kind: Kind, name: str) -> Iterable[click.Option]:
    plugin: Any = found.get(kind, name)
    try:
        options = list(plugin.options())
    except Exception as error:
        provider = str(found.provider(kind, name))
        problem = f"options() raised {type(error).__name__}: {error}"
        raise PluginContractError(kind.value, name, provider, problem) from error
    for option in options:
        if not all(spelling.startswith(f"--{name}-") for spelling in option.opts):
            problem = f"option {'/'.join(option.opts)} must start with '--{name}-'"
            raise PluginContractError(kind.value, name, str(found.provider(kind, name)), problem)
        yield option


def belonging(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The values given for one plug-in's options, with its prefix taken off."""
    start = f"{name.replace('-', '_')}_"
    return {key.removeprefix(start): v for key, v in given.items() if key.startswith(start)}


def reporter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--reporter``, ``-o``, ``--force`` and ``--fail-on``."""
    for option in (
        click.option(
            "--fail-on",
            "fail_on",
            multiple=True,
            metavar="WHAT",
            help="Exit 3 for `regression` or `regression:PERCENT`, 4 for `incomplete`.",
        ),
        click.option("--force", is_flag=True, help="Overwrite the file given with -o."),
        click.option(
            "-o",
            "--output",
            type=click.Path(path_type=Path, dir_okay=False),
            help="Write the report to a file instead of stdout.",
        ),
        click.option(
            "--reporter",
            type=PluginName(Kind.REPORTER),
            default="terminal",
            show_default=True,
            help="How to show the result.",
        ),
    ):
        command = option(command)
    return command


def check_output(path: Path | None, force: bool) -> None:
    """Refuse an output that exists or cannot be made, before anything is done."""
    if path is None:
        return
    if path.exists() and not force:
        raise UsageError(f"{path} exists; choose another name, or overwrite it with --force")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise UsageError(f"{path}: its folder does not exist")
    if not path.exists() and not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"{path}: its folder cannot be written to; choose another place")
