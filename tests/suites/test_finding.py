"""An operator's benchmark: the usual file, the only file, or a clear error."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flagkit.errors import InputError, UsageError
from flagkit.suites import OpSpec, parse_op, resolve
from flagkit.suites.flaggems import flaggems_args, flaggems_suite
from flagkit.suites.folder import folder_suite


def bench(*marks: str) -> str:
    tests = [f"@pytest.mark.{mark}\ndef test_{mark}(): ...\n" for mark in marks]
    return "import pytest\n\n" + "\n".join(tests)


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "FlagGems" / "benchmark"
    for name, marks in {
        "test_softmax.py": ["softmax", "softmax_backward"],
        "test_mul.py": ["mul"],
        "test_blas.py": ["mul", "mm", "addr"],
        "test_perf_sort.py": ["sort"],
        "test_other.py": ["addr"],
        "FLA/test_delta.py": ["delta"],
        "helpers.py": ["hidden"],
        "__pycache__/test_cached.py": ["cached"],
        ".git/test_git.py": ["git"],
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(bench(*marks))
    (folder / "test_broken.py").write_text("@pytest.mark.broken\ndef test(:\n")
    return folder.parent


@pytest.fixture
def suite(root):
    return flaggems_suite(root)


class TestParse:
    @pytest.mark.parametrize(
        ("text", "op", "file"),
        [
            ("softmax", "softmax", None),
            ("_reshape_alias", "_reshape_alias", None),
            ("sort:perf_sort", "sort", "perf_sort"),
            ("topk:benchmark/test_topk.py", "topk", "benchmark/test_topk.py"),
            ("index_reduce_.amax", "index_reduce_.amax", None),
        ],
    )
    def test_good(self, text, op, file):
        assert parse_op(text) == OpSpec(op=op, file=file)

    @pytest.mark.parametrize(
        "text",
        ["", ":x", "a/b", "../x", "a..b", ".x", "a b", "-m", "x\n", "a\\b", "ä", "x" * 101, "\0"],
    )
    def test_no_operator(self, text):
        with pytest.raises(UsageError, match="names no operator"):
            parse_op(text)

    @pytest.mark.parametrize("text", ["a:", "a: ", "a:x\n", "a:\0"])
    def test_no_file(self, text):
        with pytest.raises(UsageError, match="names no file"):
            parse_op(text)


class TestByMark:
    @pytest.mark.parametrize(
        ("op", "file"),
        [
            ("softmax", "test_softmax.py"),
            ("softmax_backward", "test_softmax.py"),
            ("mul", "test_mul.py"),
            ("mm", "test_blas.py"),
            ("delta", "FLA/test_delta.py"),
            ("broken", "test_broken.py"),
        ],
    )
    def test_found(self, suite, root, op, file):
        target = resolve(parse_op(op), suite=suite)
        assert target.path == root / "benchmark" / file
        assert target.args == ("-m", op)
        assert target.cwd == root
        assert target.op == op
        assert not target.in_package

    def test_several(self, suite):
        with pytest.raises(UsageError) as raised:
            resolve(parse_op("addr"), suite=suite)
        assert str(raised.value) == (
            "operator 'addr' has benchmarks in 2 files: "
            f"{Path('benchmark/test_blas.py')}, {Path('benchmark/test_other.py')}; "
            "say which, e.g. addr:blas"
        )

    def test_unknown(self, suite, root):
        with pytest.raises(UsageError) as raised:
            resolve(parse_op("sofmax"), suite=suite)
        assert str(raised.value) == (
            f"no benchmark of FlagGems in {root} has the mark 'sofmax' (did you mean 'softmax'?)"
        )

    @pytest.mark.parametrize("op", ["hidden", "cached", "git"])
    def test_files_that_pytest_would_not_collect(self, suite, op):
        with pytest.raises(UsageError, match="has the mark"):
            resolve(parse_op(op), suite=suite)

    def test_operators(self, suite):
        assert suite.operators() == [
            "addr",
            "broken",
            "delta",
            "mm",
            "mul",
            "softmax",
            "softmax_backward",
            "sort",
        ]


class TestByFile:
    @pytest.mark.parametrize(
        ("text", "file"),
        [
            ("sort:perf_sort", "test_perf_sort.py"),
            ("sort:test_perf_sort", "test_perf_sort.py"),
            ("sort:test_perf_sort.py", "test_perf_sort.py"),
            ("sort:benchmark/test_perf_sort.py", "test_perf_sort.py"),
            ("mul:blas", "test_blas.py"),
            ("addr:other", "test_other.py"),
        ],
    )
    def test_found(self, suite, root, text, file):
        assert resolve(parse_op(text), suite=suite).path == root / "benchmark" / file

    def test_a_path_of_ones_own(self, suite, tmp_path, monkeypatch):
        own = tmp_path / "my_bench.py"
        own.write_text(bench("mine"))
        assert resolve(parse_op(f"mine:{own}"), suite=suite).path == own
        monkeypatch.chdir(tmp_path)
        assert resolve(parse_op("mine:my_bench.py"), suite=suite).path == own

    def test_no_such_file(self, suite, root):
        with pytest.raises(UsageError) as raised:
            resolve(parse_op("sort:perf_srt"), suite=suite)
        assert str(raised.value).startswith(
            f"FlagGems in {root} has no benchmark file 'perf_srt' (did you mean 'perf_sort'"
        )

    def test_the_mark_is_not_in_it(self, suite):
        with pytest.raises(UsageError) as raised:
            resolve(parse_op("softmax:mul"), suite=suite)
        assert str(raised.value) == (
            f"{Path('benchmark/test_mul.py')} has no test marked 'softmax'; its marks: mul"
        )

    def test_a_mark_made_at_run_time_is_believed(self, suite, root):
        made = root / "benchmark" / "test_made.py"
        made.write_text("import pytest\nmark = getattr(pytest.mark, 'made_op')\n")
        again = flaggems_suite(root)
        assert resolve(parse_op("made_op:made"), suite=again).path == made

    def test_a_name_in_two_folders(self, root):
        (root / "benchmark" / "FLA" / "test_mul.py").write_text(bench("mul"))
        with pytest.raises(UsageError, match=r"could be any of .*give its path"):
            resolve(parse_op("mul:mul"), suite=flaggems_suite(root))


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="root reads everything")
class TestUnreadable:
    def test_a_file(self, root):
        path = root / "benchmark" / "test_other.py"
        path.chmod(0)
        suite = flaggems_suite(root)
        assert resolve(parse_op("addr"), suite=suite).path.name == "test_blas.py"
        with pytest.raises(InputError, match="cannot be read"):
            resolve(parse_op("addr:other"), suite=suite)

    def test_the_folder(self, root):
        (root / "benchmark").chmod(0)
        try:
            with pytest.raises(InputError, match="cannot be read"):
                flaggems_suite(root)
        finally:
            (root / "benchmark").chmod(0o755)


class TestRoots:
    def test_no_such_root(self, tmp_path):
        with pytest.raises(InputError, match=r"is no folder; .*--gems-root"):
            flaggems_suite(tmp_path / "none")

    def test_no_checkout(self, tmp_path):
        with pytest.raises(InputError, match="has no folder benchmark"):
            flaggems_suite(tmp_path)

    def test_nothing_in_it(self, tmp_path):
        (tmp_path / "benchmark").mkdir()
        with pytest.raises(InputError, match="holds no benchmark"):
            flaggems_suite(tmp_path)


class TestFolder:
    def test_a_folder(self, tmp_path):
        (tmp_path / "test_x.py").write_text(bench("x"))
        (tmp_path / "y_test.py").write_text(bench("y"))
        suite = folder_suite(tmp_path)
        assert suite.operators() == ["x", "y"]
        assert resolve(parse_op("y"), suite=suite).cwd == tmp_path
        whole = resolve(None, suite=suite)
        assert (whole.path, whole.args) == (tmp_path, ())

    def test_a_file(self, tmp_path):
        path = tmp_path / "test_x.py"
        path.write_text(bench("x", "z"))
        suite = folder_suite(path)
        assert suite.operators() == ["x", "z"]
        whole = resolve(None, suite=suite)
        assert (whole.op, whole.path, whole.cwd) == ("x", path, tmp_path)

    def test_a_name_that_makes_no_operator(self, tmp_path):
        path = tmp_path / "test_9.py"
        path.write_text(bench("x"))
        assert resolve(None, suite=folder_suite(path)).op == "all"

    def test_neither(self, tmp_path):
        with pytest.raises(InputError, match="neither a folder nor a file"):
            folder_suite(tmp_path / "none")
        (tmp_path / "x.txt").touch()
        with pytest.raises(InputError, match="no Python file"):
            folder_suite(tmp_path / "x.txt")


class TestArgs:
    def test_core(self):
        assert flaggems_args("core", ["torch.float16", "bfloat16"], "none", "nvidia") == (
            "--level",
            "core",
            "--dtypes",
            "float16",
            "--dtypes",
            "bfloat16",
            "--metrics",
            "latency",
            "--mode",
            "kernel",
        )

    def test_the_torch_column_is_kept_where_it_is_needed(self):
        assert "--metrics" not in flaggems_args("comprehensive", (), "none", "mthreads")
        assert "--metrics" not in flaggems_args("core", (), "torch", "mthreads")

    def test_kunlunxin(self):
        assert flaggems_args("core", (), "none", "kunlunxin")[-2:] == ("--fg_mode", "kernel")

    @pytest.mark.parametrize(
        "args", [("deep", (), "none"), ("core", ["--x"], "none"), ("core", (), "cuda")]
    )
    def test_wrong(self, args):
        with pytest.raises(UsageError):
            flaggems_args(*args, None)
