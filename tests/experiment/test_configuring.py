"""A backend gets its own options, and an older one goes on as it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from flagkit.agent.config import Plugin
from flagkit.agent.loading import Plugins
from flagkit.errors import PluginContractError, UsageError
from flagkit.experiment.configuring import configured, plain
from flagkit.testing.switches import SomeBackend

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import click


class WithOptions(SomeBackend):
    def options(self) -> Sequence[click.Option]:
        import click

        return [click.Option(["--some-mode"])]


@dataclass(frozen=True)
class Taking(WithOptions):
    given: Any = None

    def configured(self, options: Mapping[str, Any]) -> Any:
        if options.get("mode") == "wrong":
            raise UsageError("--some-mode: no such mode")
        if options.get("mode") == "broken":
            raise KeyError("mode")
        return object() if options.get("mode") == "other" else replace(self, given=dict(options))


class MadeRegistry:
    def __init__(self, backend: Any) -> None:
        self.found = backend

    def backend(self, name: str) -> Any:
        return self.found

    def provider(self, kind: object, name: str) -> str:
        return "flagkit-some 1.0"


def take(backend: Any, **options: Any) -> Any:
    return configured(MadeRegistry(backend), "some", options)  # type: ignore[arg-type]


def test_a_backend_without_options_is_left_alone() -> None:
    backend = SomeBackend()
    assert take(backend) is backend


def test_options_arrive_as_json_keeps_them() -> None:
    backend = Taking()
    found = take(backend, mode="a", path=Path("/x"), several=(1, 2), flag=True, none=None)
    kept = {"mode": "a", "path": "/x", "several": [1, 2], "flag": True, "none": None}
    assert found.given == kept
    assert backend.given is None
    assert plain(found.given) == found.given


def test_options_that_nobody_takes_are_refused_by_name() -> None:
    with pytest.raises(PluginContractError, match=r"flagkit-some 1\.0.*no configured\(options\)"):
        take(WithOptions())


def test_a_wrong_value_is_the_backend_s_to_refuse() -> None:
    with pytest.raises(UsageError, match="no such mode"):
        take(Taking(), mode="wrong")


@pytest.mark.parametrize(
    ("mode", "said"), [("broken", "configured.. raised KeyError"), ("other", "object lacks")]
)
def test_a_broken_one_is_named(mode: str, said: str) -> None:
    with pytest.raises(
        PluginContractError, match=rf"backend 'some' from flagkit-some 1\.0.*{said}"
    ):
        take(Taking(), mode=mode)


def test_the_agent_gives_them_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "made_backend.py").write_text(
        "from flagkit import hookimpl\n"
        "class Made:\n"
        "    given = None\n"
        "    def configured(self, options):\n"
        "        made = Made()\n"
        "        made.given = options\n"
        "        return made\n"
        "@hookimpl\n"
        "def flagkit_backend(): return Made()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    plugin = Plugin(name="made", module="made_backend", options={"mode": "a"})
    assert Plugins().load("backend", plugin).given == {"mode": "a"}
    assert Plugins().load("backend", Plugin(name="x", module="flagkit_cpu")).name == "cpu"
