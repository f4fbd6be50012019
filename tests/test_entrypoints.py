"""Entry points are those that importlib.metadata tells, from wherever it tells them."""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
import zipfile
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagkit import entrypoints
from flagkit.entrypoints import EntryPoint, NotPlainError, installed, on_path

GROUPS = ("flagkit.backends", "flagkit.parsers", "console_scripts", "flagkit")
NAMES = st.sampled_from(["acme", "Acme_Two", "acme-two", "acme.two", "acme__two", "other"])
LINES = st.sampled_from(
    [
        "[flagkit.backends]",
        "[flagkit.parsers]",
        "  [flagkit.backends]  ",
        "[console_scripts]",
        "# a = comment",
        "",
        "a = acme",
        "b=acme.sub",
        " c = acme : made.deep [extra, more]",
        "d = acme:made",
        "a = again",
    ]
)


@st.composite
def infos(draw: st.DrawFn) -> tuple[str, dict[str, str]]:
    """A folder's name and its files."""
    name, version = draw(NAMES), draw(st.sampled_from(["1.0", "2.0.dev1"]))
    kind = draw(st.sampled_from(["dist-info", "egg-info"]))
    folder = draw(st.sampled_from([f"{name}-{version}", f"{name}-{version}-py3.11", name]))
    header = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nName: of the readme\n"
    files = {draw(st.sampled_from(["METADATA", "PKG-INFO"])): header}
    if draw(st.booleans()):
        end = draw(st.sampled_from(["\n", "\r\n"]))
        files["entry_points.txt"] = end.join(draw(st.lists(LINES, max_size=8)))
    return f"{folder}.{kind}", files


def told(path: list[str]) -> list[EntryPoint]:
    """What importlib.metadata tells of *path*."""
    metadata.metadata("pytest")  # loads what it imports late, while that can be found
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", path)
        return sorted(entrypoints._told_by_metadata("flagkit."))


@given(st.lists(st.lists(infos(), max_size=4), min_size=1, max_size=3))
def test_the_same_as_importlib_metadata(sites: list[list[tuple[str, dict[str, str]]]]) -> None:
    with TemporaryDirectory() as root:
        path = []
        for number, site in enumerate(sites):
            folder = Path(root, str(number))
            folder.mkdir()
            path.append(str(folder))
            for name, files in site:
                with contextlib.suppress(FileExistsError):
                    (folder / name).mkdir()
                    for file, text in files.items():
                        (folder / name / file).write_text(text, newline="")
        path += [path[0], str(Path(root, "missing"))]
        importlib.invalidate_caches()
        found = sorted(on_path(path, "flagkit."))
        assert found == told(path)
        for point in found:
            same = metadata.EntryPoint(point.name, point.value, point.group)
            assert point.module == same.module


def test_the_same_in_this_environment() -> None:
    assert sorted(installed("flagkit.")) == sorted(entrypoints._told_by_metadata("flagkit."))
    assert sorted(installed("")) == sorted(entrypoints._told_by_metadata(""))


def test_a_file_of_metadata_offers_nothing(tmp_path: Path) -> None:
    (tmp_path / "old-1.0.egg-info").write_text("Name: old\nVersion: 1.0\n")
    assert list(on_path([str(tmp_path)], "flagkit.")) == []


def test_nothing_readable_is_an_error(tmp_path: Path) -> None:
    info = tmp_path / "acme-1.0.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_bytes(b"[flagkit.backends]\nno sign\n\xff = acme\n= \n")
    found = list(on_path([str(tmp_path)], "flagkit."))
    assert [(one.name, one.distribution, one.version) for one in found] == [
        ("\ufffd", "acme", "1.0"),
        ("", "acme", "1.0"),
    ]


def test_an_archive_is_left_to_importlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "acme.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("acme-1.0.dist-info/METADATA", "Name: acme\nVersion: 1.0\n")
        file.writestr("acme-1.0.dist-info/entry_points.txt", "[flagkit.backends]\nx = acme_x\n")
    with pytest.raises(NotPlainError):
        list(on_path([str(archive)], "flagkit."))
    monkeypatch.syspath_prepend(archive)
    wanted = EntryPoint("flagkit.backends", "x", "acme_x", "acme", "1.0")
    assert wanted in installed("flagkit.")


def test_another_finder_is_asked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    class Made(metadata.Distribution):
        def read_text(self, filename: str) -> str | None:
            return {
                "METADATA": "Name: made\nVersion: 3.0\n",
                "entry_points.txt": "[flagkit.tuners]\nx = made_x\n",
            }.get(filename)

        def locate_file(self, path: object) -> Path:
            return Path(str(path))

    class Finder:
        def find_spec(self, *args: object) -> None: ...

        def find_distributions(self, context: object = None) -> list[Made]:
            return [Made()]

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    assert EntryPoint("flagkit.tuners", "x", "made_x", "made", "3.0") in installed("flagkit.")


@pytest.mark.parametrize(
    "value", ["json:loads", "json : loads [extra]", "json:decoder.JSONDecoder"]
)
def test_an_object_is_loaded(value: str) -> None:
    point = EntryPoint("flagkit.backends", "x", value, "acme", "1.0")
    assert point.load() in (json.loads, json.decoder.JSONDecoder)
    assert point.load() is metadata.EntryPoint("x", value, "flagkit.backends").load()


def test_a_module_is_loaded() -> None:
    assert EntryPoint("flagkit.backends", "x", "json", "acme", "1.0").load() is json
