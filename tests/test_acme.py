"""A vendor's package works without a line changed in the core, from a fresh environment."""

from __future__ import annotations

import json
import os
import shutil
import site
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

import flagkit

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "flagkit-acme"

pytestmark = pytest.mark.skipif(os.name == "nt", reason="expects a POSIX virtual environment")


@pytest.fixture(scope="module")
def bin_folder(tmp_path_factory):
    """A throw-away environment with the example installed, without the network.

    What flagkit and the build need comes from the environment that runs the tests,
    through a path file.
    """
    pytest.importorskip("hatchling", reason="building the example needs hatchling")
    if not shutil.which("pip") and not _has("pip"):
        pytest.skip("needs pip")
    root = tmp_path_factory.mktemp("acme")
    source = root / "source"
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("__pycache__"))
    folder = root / "venv"
    venv.create(folder, symlinks=True, with_pip=False)
    python = folder / "bin" / "python"
    own = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", vars=own))
    # `site.addsitedir`, so that path files of an editable install are followed too.
    here = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *_flagkit_home()}
    lines = [f"import site; site.addsitedir({path!r})\n" for path in sorted(here)]
    (packages / "outer.pth").write_text("".join(lines))
    install = [
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--disable-pip-version-check",
        "--prefix",
        str(folder),
        str(source),
    ]
    done = subprocess.run(install, capture_output=True, text=True, env=_environ(), check=False)
    assert done.returncode == 0, done.stderr
    return folder / "bin"


def _has(module: str) -> bool:
    import importlib.util

    return importlib.util.find_spec(module) is not None


def _flagkit_home() -> set[str]:
    """Where flagkit is, if it is not among the installed packages."""
    home = str(Path(flagkit.__file__).resolve().parents[1])
    return {home} if home in sys.path else set()


def _environ() -> dict[str, str]:
    dropped = ("FLAGKIT", "PYTEST", "PYTHON", "ACME", "FLAGTREE", "VIRTUAL_ENV")
    return {k: v for k, v in os.environ.items() if not k.startswith(dropped)}


def run(bin_folder: Path, *args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(bin_folder / "python"), "-m", "flagkit", *args],
        capture_output=True,
        text=True,
        env={**_environ(), "COLUMNS": "200", "NO_COLOR": "1"},
        cwd=cwd,
        timeout=120,
        check=False,
    )


def test_it_is_listed(bin_folder, tmp_path):
    done = run(bin_folder, "plugins", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = json.dumps(json.loads(done.stdout))
    assert '"acme"' in text
    assert '"flagkit-acme"' in text
    plain = run(bin_folder, "plugins", cwd=tmp_path)
    (line,) = [line for line in plain.stdout.splitlines() if " acme " in f" {line} "]
    assert "flagkit-acme" in line
    assert "1.0" in line


def test_a_dry_run_names_its_variable(bin_folder, tmp_path):
    args = ("ab", "--switch", "rlc", "--backend", "acme", "--dry-run", "--ops", "softmax")
    done = run(bin_folder, *args, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stdout.splitlines() if "FLAGTREE_" in line]
    assert lines
    assert all("FLAGTREE_ACME_RLC_ENHANCE" in line for line in lines)
    values = " ".join(lines).replace("FLAGTREE_ACME_RLC_ENHANCE", " ")
    assert "0" in values
    assert "1" in values
    assert list(tmp_path.iterdir()) == []


def test_its_own_option_reaches_it(bin_folder, tmp_path):
    """The device is missing, so that ``doctor`` exits 1; it still says what it would set."""
    args = ("doctor", "--backend", "acme")
    assert "ACME_CLOCK_MHZ" not in run(bin_folder, *args, cwd=tmp_path).stdout
    done = run(bin_folder, *args, "--acme-clock", "900", cwd=tmp_path)
    assert "sets ACME_CLOCK_MHZ" in done.stdout
    assert "900" in done.stdout
    done = run(bin_folder, *args, "--acme-clock", "0", cwd=tmp_path)
    assert done.returncode == 2
    assert "--acme-clock" in done.stderr


def test_without_the_device_it_says_so(bin_folder, tmp_path):
    args = ("ab", "--switch", "rlc", "--backend", "acme", "--ops", "softmax", "--no-verify")
    gems = tmp_path / "FlagGems" / "benchmark"
    gems.mkdir(parents=True)
    (gems / "test_softmax.py").write_text("import pytest\n@pytest.mark.softmax\ndef test(): ...\n")
    done = run(bin_folder, *args, "--gems-root", str(gems.parent), cwd=tmp_path)
    assert done.returncode == 1
    assert "backend 'acme' cannot run here: " in done.stderr
    assert "is not installed" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["FlagGems"]


def test_it_keeps_the_contract(bin_folder, tmp_path):
    test = EXAMPLE / "test_flagkit_acme.py"
    copied = tmp_path / test.name
    shutil.copy2(test, copied)
    done = subprocess.run(
        [str(bin_folder / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", str(copied)],
        capture_output=True,
        text=True,
        env=_environ(),
        cwd=tmp_path,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_site_is_what_makes_the_environment(bin_folder):
    """The example is in the throw-away environment alone."""
    assert not any(list(Path(p).glob("flagkit_acme*")) for p in site.getsitepackages())
    assert list(bin_folder.parent.glob("lib/python*/site-packages/flagkit_acme.py"))
