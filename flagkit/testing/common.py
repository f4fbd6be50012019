"""What every plug-in has to be, whatever its kind."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any, ClassVar

import pluggy
import pytest

from flagkit import hookspecs
from flagkit.plugins import Kind, contract_problem

if TYPE_CHECKING:
    from collections.abc import Mapping

HEAVY = ("click", "rich", "torch", "triton", "torch_musa", "flag_gems", "numpy")
"""What importing a plug-in must not import: the benchmark's Python may lack the first two,
and the host never loads the others."""

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_LOOK = """
import json, sys
def heavy():
    return {{name for name in sys.modules if name.partition(".")[0] in {heavy!r}}}
before = heavy()
import importlib
plugin = getattr(importlib.import_module({module!r}), {hook!r})()
for attribute in ("name", "summary"):
    getattr(plugin, attribute)
print(json.dumps(sorted({{name.partition(".")[0] for name in heavy() - before}})))
"""


class PluginContract:
    """Fixture ``module``: the name of the plug-in's module, as its entry point gives it."""

    kind: ClassVar[Kind]

    @pytest.fixture
    def module(self) -> str:
        """Given by the subclass."""
        raise NotImplementedError("give the fixture `module`: the name of your plug-in's module")

    @pytest.fixture
    def plugin(self, module: str) -> Any:
        """What the module's hook returns, asked for as flagkit does."""
        manager = pluggy.PluginManager("flagkit")
        manager.add_hookspecs(hookspecs)
        manager.register(importlib.import_module(module))
        manager.check_pending()
        return getattr(manager.hook, self.kind.hook)()

    def test_interface(self, plugin: Any) -> None:
        """It has every attribute its kind needs."""
        assert contract_problem(self.kind, getattr(plugin, "name", "?"), plugin) == ""

    def test_name(self, plugin: Any) -> None:
        """People type it: small letters, digits and hyphens."""
        assert NAME.fullmatch(plugin.name), plugin.name

    def test_summary(self, plugin: Any) -> None:
        """It stands on one line of a list."""
        assert plugin.summary.strip() == plugin.summary != ""
        assert plugin.summary.isprintable()
        assert len(plugin.summary) <= 100

    def test_importing_it_is_cheap(self, module: str) -> None:
        """Neither what the benchmark's Python may lack, nor what the host never loads."""
        code = _LOOK.format(heavy=HEAVY, module=module, hook=self.kind.hook)
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env=environ,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        loaded = json.loads(done.stdout.splitlines()[-1])
        assert loaded == [], f"importing {module} imports {', '.join(loaded)}"


class OptionsContract(PluginContract):
    """Options of kinds that have some."""

    @pytest.fixture
    def options(self, plugin: Any) -> Mapping[str, Any]:
        """What the plug-in gets where none is given on the command line."""
        return default_options(plugin)

    def test_options(self, plugin: Any) -> None:
        """Each is a click option, starts with the plug-in's name and says what it does."""
        import click

        start = f"--{plugin.name}-"
        for option in plugin.options():
            assert isinstance(option, click.Option)
            spellings = [*option.opts, *option.secondary_opts]
            strays = [s for s in spellings if not s.startswith((start, f"--no-{plugin.name}-"))]
            assert not strays, f"{strays} must start with {start}"
            assert option.name.startswith(start[2:].replace("-", "_"))
            assert option.help, f"{option.opts} has no help"

    def test_options_are_new_each_time(self, plugin: Any) -> None:
        """A command line may change them; the next one must not see that."""
        first, second = plugin.options(), plugin.options()
        assert [o.opts for o in first] == [o.opts for o in second]
        assert not {id(o) for o in first} & {id(o) for o in second}


def default_options(plugin: Any) -> dict[str, Any]:
    """The defaults of a plug-in's options, keyed as it gets them: without its prefix."""
    import click

    params = list(plugin.options())
    for param in params:
        param.required = False
    command = click.Command(plugin.name, params=params)
    parsed = command.make_context(plugin.name, []).params
    start = f"{plugin.name.replace('-', '_')}_"
    return {name.removeprefix(start): value for name, value in parsed.items()}
