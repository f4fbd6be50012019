"""The command. A subcommand's module is imported when it is used, and not before."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

from flagkit import __version__
from flagkit.errors import FlagkitError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

COMMANDS = {
    "ab": "Run operators with a switch off, then on, and report the range.",
    "compare": "Compare logs, or directories of runs, of any known format.",
    "doctor": "Say what is installed, what would be used, what is missing.",
    "plugins": "List backends, switches, parsers, reporters and tuners.",
    "report": "Render a finished run again, without a device.",
    "run": "Run one side: record it, or replay another.",
    "summarize": "Turn a directory of runs into one CSV.",
    "verify": "Check a run against its receipts.",
}
INTERRUPTED = 130


class LazyGroup(click.Group):
    """Knows its commands' names and one-line help without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command's name."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module; None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        with uncollected():
            command: click.Command = importlib.import_module(f"flagkit.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table above."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, naming what a misspelt command may have meant."""
        name = str(args[0]) if args else ""
        if name and name not in COMMANDS and not name.startswith("-"):
            import difflib

            close = difflib.get_close_matches(name, COMMANDS, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            ctx.fail(f"no such command {name!r}{hint}; there are: {', '.join(sorted(COMMANDS))}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="flagkit")
def cli() -> None:
    """A/B experiments on accelerator operators.

    Each operator's benchmark runs with a switch off while its autotuners and measurement
    plans are recorded, then with it on while they are replayed: the two sides differ by
    that switch alone. Rows are paired by operator, dtype and size, and the range of
    speedups is reported.
    """


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Do not look for cycles where much is made and stays: modules, a log's facts.

    The collector would walk all of it again and again, to find nothing.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def program() -> NoReturn:
    """The installed command: :func:`main`, then out without tidying up.

    Taking the facts of two large logs apart one by one is a tenth of comparing them, and
    the system does it at once.
    """
    code: object = 1
    try:
        main()
    except SystemExit as end:
        code = end.code
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code if isinstance(code, int) else 1)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command and exit. The one place that turns an error into an exit code."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        # A benchmark has a process group of its own: it must not outlive its terminal.
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)
    sys.exit(_run(args))


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _run(args: Sequence[str] | None) -> int:
    try:
        code: Any = cli.main(args, prog_name="flagkit", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        click.echo(f"flagkit: {_message(error)}", err=True)
        return error.exit_code
    except FlagkitError as error:
        click.echo(f"flagkit: {one_line(str(error))}", err=True)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("flagkit: interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone (``| head``); a second flush at exit must not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        click.echo(f"flagkit: {one_line(f'{where}{error.strerror or error}')}", err=True)
        return 1
    return code if isinstance(code, int) else 0


def _message(error: click.ClickException) -> str:
    text = one_line(error.format_message()).rstrip(".")
    ctx = getattr(error, "ctx", None)
    return text if ctx is None else f"{text}; see `{ctx.command_path} --help`"


def one_line(text: str) -> str:
    """*text* on one line, with no control character that a terminal would obey."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
