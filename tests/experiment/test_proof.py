"""Whether a package reads a variable: searched in made packages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flagkit.experiment.proof import find_variable

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "triton"
    (folder / "_C").mkdir(parents=True)
    (folder / "__pycache__").mkdir()
    (folder / "__init__.py").write_text("import os\nos.environ.get('TRITON_INTERPRET')\n")
    (folder / "empty.py").write_text("")
    (folder / "notes.txt").write_text("TRITON_ONLY_IN_A_TEXT")
    (folder / "__pycache__" / "old.py").write_text("TRITON_LONG_GONE")
    inside = b"\x7fELF\0FLAGTREE_MUSA_RLC_ENHANCE\0FLAGTREE_MUSA_RLC_PHASE_MASK\0xFOLD_x\0"
    (folder / "_C" / "libtriton.so").write_bytes(inside + b"GEMS_CONST_FOLD\0")
    (folder / "_C" / "libother.so.1.2").write_bytes(b"SOMETHING_ELSE\0")
    return folder


@pytest.mark.parametrize(
    "name", ["TRITON_INTERPRET", "FLAGTREE_MUSA_RLC_ENHANCE", "SOMETHING_ELSE"]
)
def test_found_in_sources_and_shared_objects(package: Path, name: str) -> None:
    assert find_variable(name, [package]) is None


def test_another_vendor_s_name_lists_what_is_there(package: Path) -> None:
    assert find_variable("FLAGTREE_RLC_ENHANCE", [package]) == (
        "FLAGTREE_MUSA_RLC_ENHANCE",
        "FLAGTREE_MUSA_RLC_PHASE_MASK",
    )


def test_misspelt(package: Path) -> None:
    similar = find_variable("FLAGTREE_MUSA_RLC_ENHNACE", [package])
    assert similar and similar[0] == "FLAGTREE_MUSA_RLC_ENHANCE"
    assert find_variable("FLAGGEMS_FOLD", [package]) == ("GEMS_CONST_FOLD",)


@pytest.mark.parametrize("name", ["RLC_ENHANCE", "INTERPRET", "FLAGTREE_MUSA_RLC"])
def test_part_of_a_name_is_not_the_name(package: Path, name: str) -> None:
    assert find_variable(name, [package]) is not None


@pytest.mark.parametrize("name", ["TRITON_ONLY_IN_A_TEXT", "TRITON_LONG_GONE", "QQQ_ZZZ"])
def test_nothing_there(package: Path, name: str) -> None:
    assert name not in (find_variable(name, [package]) or ())
    assert find_variable(name, [package]) is not None


def test_a_single_file_and_no_folder(package: Path) -> None:
    assert find_variable("TRITON_INTERPRET", [package / "__init__.py"]) is None
    assert find_variable("TRITON_INTERPRET", [package / "gone"]) == ()
    assert find_variable("TRITON_INTERPRET", []) == ()


def test_linked_folders_are_searched_and_a_loop_ends(package: Path, tmp_path: Path) -> None:
    vendor = tmp_path / "third_party" / "acme"
    vendor.mkdir(parents=True)
    (vendor / "compiler.py").write_text("os.environ.get('ACME_RLC')\n")
    (package / "backends").mkdir()
    (package / "backends" / "acme").symlink_to(vendor)
    (vendor / "again").symlink_to(package)
    (package / "backends" / "gone").symlink_to(tmp_path / "nowhere")
    assert find_variable("ACME_RLC", [package]) is None
    assert find_variable("TRITON_INTERPRET", [package, package]) is None
    assert "ACME_RLC" in (find_variable("ACME_RLC_NO", [package]) or ())
