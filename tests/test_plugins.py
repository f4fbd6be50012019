"""The registry: names cost nothing, a broken plug-in breaks only itself, and says whose it is."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from flagkit import errors
from flagkit.entrypoints import on_path
from flagkit.plugins import Kind, Registry, contract_problem

GOOD = """
from flagkit import hookimpl

class Backend:
    name, summary, flagtree_prefix, gems_vendor = {name!r}, "made for a test", "ACME", None
    def probe(self, python): ...
    def environ(self, device): return {{}}
    def device_interface(self): ...
    def is_fatal(self, exc): return False
    def stale_guards(self): return ()
    def options(self): return ()

@hookimpl
def flagkit_backend():
    return Backend()
"""


class Site:
    """A folder on the path into which distributions are put."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(
        self,
        dist: str,
        version: str,
        points: dict[str, str],
        modules: dict[str, str] | None = None,
        group: str = "flagkit.backends",
    ) -> None:
        info = self.folder / f"{dist.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {dist}\nVersion: {version}\n")
        lines = "".join(f"{name} = {module}\n" for name, module in points.items())
        (info / "entry_points.txt").write_text(f"[{group}]\n{lines}")
        for module, text in (modules or {}).items():
            (self.folder / f"{module}.py").write_text(text)
        importlib.invalidate_caches()

    def registry(self, blocked=()) -> Registry:
        """Of what is installed in this folder alone."""
        return Registry(on_path([str(self.folder)], "flagkit."), blocked=blocked)


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield Site(tmp_path)
    for name in set(sys.modules) - before:
        path = getattr(sys.modules[name], "__file__", None)
        if path and Path(path).parent == tmp_path:
            del sys.modules[name]


def test_the_built_ins_are_all_there():
    registry = Registry(blocked=())
    assert {"cpu", "cuda", "musa"} <= set(registry.names(Kind.BACKEND))
    assert {"aa", "build", "env", "fold", "rlc", "simd"} <= set(registry.names(Kind.SWITCH))
    assert registry.backend("cpu").name == "cpu"
    assert registry.switch("rlc").arms == ("off", "on")
    assert registry.provider(Kind.SWITCH, "rlc").distribution == "flagkit"


def test_a_third_party_is_found_by_the_same_road(site):
    site.add("flagkit-acme", "1.0", {"acme": "acme_ok"}, {"acme_ok": GOOD.format(name="acme")})
    registry = site.registry()
    assert registry.names(Kind.BACKEND) == ["acme"]
    assert registry.backend("acme").flagtree_prefix == "ACME"
    assert registry.backend("acme") is registry.backend("acme")
    assert str(registry.provider(Kind.BACKEND, "acme")) == "flagkit-acme 1.0"


def test_listing_names_imports_no_plug_in(site):
    site.add("flagkit-acme", "1.0", {"acme": "acme_lazy"}, {"acme_lazy": "raise SystemExit(9)"})
    registry = site.registry()
    assert registry.names(Kind.BACKEND) == ["acme"]
    assert registry.provider(Kind.BACKEND, "acme").module == "acme_lazy"
    with pytest.raises(errors.UnknownPluginError):
        registry.backend("acne")
    assert "acme_lazy" not in sys.modules


def test_listing_the_built_ins_imports_none_of_them():
    code = (
        "import sys\n"
        "from flagkit.plugins import Kind, Registry\n"
        "registry = Registry()\n"
        "assert all(registry.names(kind) for kind in (Kind.BACKEND, Kind.SWITCH))\n"
        "print([m for m in sys.modules if m.startswith(('flagkit_', 'flagkit.parsers.',\n"
        "    'flagkit.reporters.', 'flagkit.tuners.', 'click', 'rich', 'numpy', 'torch'))])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_unknown():
    registry = Registry([], blocked=())
    with pytest.raises(errors.UnknownPluginError) as raised:
        registry.backend("muse")
    assert str(raised.value) == "unknown backend 'muse'; installed: none"
    assert raised.value.exit_code == 2


def test_unknown_with_a_close_name(site):
    points = {"cpu": "m", "cuda": "m", "musa": "m"}
    site.add("flagkit", "0.1.0", points)
    with pytest.raises(errors.UnknownPluginError) as raised:
        site.registry().backend("muse")
    assert str(raised.value) == (
        "unknown backend 'muse' (did you mean 'musa'?); installed: cpu, cuda, musa"
    )


def test_broken(site):
    site.add("flagkit-acme", "1.0", {"acme": "acme_broken"}, {"acme_broken": "import acme_rt"})
    with pytest.raises(errors.PluginLoadError) as raised:
        site.registry().backend("acme")
    assert str(raised.value) == (
        "backend 'acme' from flagkit-acme 1.0 failed to load: "
        "ModuleNotFoundError: No module named 'acme_rt'"
    )
    assert raised.value.exit_code == 1


@pytest.mark.parametrize("text", ["raise SystemExit(3)", "def f(:", "1 / 0"])
def test_broken_in_any_way(site, text):
    site.add("flagkit-acme", "1.0", {"acme": "acme_worse"}, {"acme_worse": text})
    with pytest.raises(errors.PluginLoadError, match=r"^backend 'acme' from flagkit-acme 1\.0 "):
        site.registry().backend("acme")


def test_a_broken_one_breaks_only_itself(site):
    site.add("flagkit-bad", "1.0", {"bad": "bad_module"}, {"bad_module": "1 / 0"})
    site.add("flagkit-acme", "1.0", {"acme": "acme_two"}, {"acme_two": GOOD.format(name="acme")})
    registry = site.registry()
    states = {s.provider.name: s for s in registry.check([Kind.BACKEND])}
    assert states["acme"].problem == ""
    assert states["acme"].summary == "made for a test"
    assert "ZeroDivisionError" in states["bad"].problem
    assert registry.backend("acme").name == "acme"


def test_offered_twice(site):
    one, two = GOOD.format(name="rlc"), "1 / 0"
    site.add("other", "2.0", {"rlc": "rlc_one"}, {"rlc_one": one})
    site.add("flagkit", "0.1.0", {"rlc": "rlc_two"}, {"rlc_two": two})
    with pytest.raises(errors.PluginConflictError) as raised:
        site.registry().backend("rlc")
    assert str(raised.value) == (
        "backend 'rlc' is offered by 2 distributions: flagkit 0.1.0, other 2.0; "
        "uninstall one, or set FLAGKIT_BLOCK=<distribution>"
    )
    assert {"rlc_one", "rlc_two"}.isdisjoint(sys.modules)
    assert site.registry(blocked=["FlagKit"]).backend("rlc").name == "rlc"


def test_both_of_a_conflict_are_listed(site):
    for dist in ("one", "two"):
        site.add(dist, "1.0", {"x": f"{dist}_x"}, {f"{dist}_x": GOOD.format(name="x")})
    states = list(site.registry().check([Kind.BACKEND]))
    assert sorted(s.provider.distribution for s in states) == ["one", "two"]
    assert all("offered by 2 distributions" in s.problem for s in states)


def test_one_distribution_twice_on_the_path_is_one(tmp_path, monkeypatch):
    folders = []
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        Site(folder).add("flagkit-acme", "1.0", {"acme": "acme_same"})
        folders.append(str(folder))
    points = [point for folder in folders for point in on_path([folder], "flagkit.")]
    assert len(points) == 2
    registry = Registry(points, blocked=())
    assert registry.provider(Kind.BACKEND, "acme").version == "1.0"


def test_block_by_environment(site, monkeypatch):
    site.add("Flagkit_Acme", "1.0", {"acme": "acme_blocked"})
    monkeypatch.setenv("FLAGKIT_BLOCK", " other , flagkit-acme ,")
    assert site.registry(blocked=None).names(Kind.BACKEND) == []
    monkeypatch.setenv("FLAGKIT_BLOCK", "")
    assert site.registry(blocked=None).names(Kind.BACKEND) == ["acme"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "flagkit_backend() returned nothing"),
        (GOOD.format(name="other"), "it is named 'other' but its entry point 'acme'"),
        (
            GOOD.format(name="acme").replace("def is_fatal", "def is_mortal"),
            "Backend lacks is_fatal",
        ),
        (
            GOOD.format(name="acme").replace("return Backend()", "raise ValueError('no')"),
            "flagkit_backend() raised ValueError: no",
        ),
        (
            GOOD.format(name="acme").replace("return Backend()", "return None"),
            "flagkit_backend() returned nothing",
        ),
    ],
)
def test_contract(site, text, problem):
    site.add("flagkit-acme", "1.0", {"acme": "acme_contract"}, {"acme_contract": text})
    with pytest.raises(errors.PluginContractError) as raised:
        site.registry().backend("acme")
    assert str(raised.value) == (
        f"backend 'acme' from flagkit-acme 1.0 breaks its contract: {problem}"
    )


def test_a_misspelt_hook_is_named(site):
    text = GOOD.format(name="acme").replace("def flagkit_backend()", "def flagkit_backed()")
    site.add("flagkit-acme", "1.0", {"acme": "acme_typo"}, {"acme_typo": text})
    with pytest.raises(errors.PluginContractError, match="flagkit_backed"):
        site.registry().backend("acme")


def test_a_wrong_argument_of_a_hook_is_named(site):
    text = GOOD.format(name="acme").replace("def flagkit_backend()", "def flagkit_backend(card)")
    site.add("flagkit-acme", "1.0", {"acme": "acme_arg"}, {"acme_arg": text})
    with pytest.raises(errors.PluginContractError, match="card") as raised:
        site.registry().backend("acme")
    assert "\n" not in str(raised.value)


def test_unavailable():
    error = errors.UnavailableError("backend", "musa", "torch_musa is not installed")
    assert str(error) == "backend 'musa' cannot run here: torch_musa is not installed"
    assert error.exit_code == 1


def test_contract_problem_of_nothing():
    assert contract_problem(Kind.SWITCH, "x", None) == "flagkit_switch() returned nothing"


@pytest.mark.parametrize("kind", list(Kind))
def test_groups_are_those_of_the_packaging(kind):
    groups = {p.group for p in metadata.distribution("flagkit").entry_points}
    assert kind.group in groups or os.environ.get("FLAGKIT_BLOCK")
