"""The documents are true: names, arguments, commands, keys and snippets are the code's."""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from flagkit import cli, errors, hookspecs, interfaces, model
from flagkit.compare.verdicts import EXIT_CODES
from flagkit.experiment.request import Request
from flagkit.plugins import Kind, contract_problem
from flagkit.reporters import csv, summary
from flagkit.reporters.json import JsonReporter
from flagkit.testing.reporters import some_report

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli", reason="reads pyproject.toml on Python 3.10")

ROOT = Path(__file__).resolve().parents[1]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


README = read("README.md")
ARCHITECTURE = read("docs/architecture.md")
PLUGINS = read("docs/plugins.md")
PAGES = sorted(
    p.relative_to(ROOT).as_posix() for p in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
)

TRY = ".venv/bin/flagkit ab --switch simd --backend cpu"
SET_UP = (
    f"python -m venv .venv && .venv/bin/pip install '.[cpu]' && {TRY}",
    "python -m venv .venv && .venv/bin/pip install -e '.[test]' && .venv/bin/pytest",
)
SNIPPET = re.compile(r"<!-- plug-in: (\w+) ([\w-]+) -->\n```python\n(.*?)```", re.DOTALL)
SNIPPETS = [(Kind(kind), name, code) for kind, name, code in SNIPPET.findall(README)]


def told(text: str) -> set[str]:
    """Everything in back quotes."""
    return set(re.findall(r"`([^`\n]+)`", text))


def arguments(function: object) -> str:
    """The names a caller gives, as the documents write them."""
    shown = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        shown.append(name)
    return ", ".join(shown)


@pytest.mark.parametrize("command", SET_UP)
def test_set_up_is_one_line_in_a_block_of_its_own(command):
    assert f"```sh\n{command}\n```" in README


@pytest.mark.parametrize("part", [SET_UP[1], TRY])
def test_ci_runs_the_set_up(part):
    assert part in read(".ci/run")


def test_every_command_is_in_the_readme():
    missing = [name for name in cli.COMMANDS if f"`flagkit {name}" not in README]
    assert not missing


def test_every_built_in_is_in_the_readme():
    groups = tomllib.loads(read("pyproject.toml"))["project"]["entry-points"]
    names = {name for group in groups.values() for name in group}
    assert not names - told(README)


def test_every_extra_is_in_the_readme():
    extras = tomllib.loads(read("pyproject.toml"))["project"]["optional-dependencies"]
    assert not set(extras) - told(README)


@pytest.mark.parametrize("page", [README, ARCHITECTURE])
def test_exit_codes(page):
    table = page.partition("Exit codes\n")[2]
    shown = {int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)}
    raised = {cls.exit_code for cls in vars(errors).values() if isinstance(cls, type)}
    assert shown == {0, *raised, *EXIT_CODES.values(), cli.INTERRUPTED}


def test_options_named_in_the_documents_exist():
    """Of flagkit's own commands; plug-ins' options carry their plug-in's name."""
    known = {"--help", "--env-set", "--fold-var", "--rlc-phase-mask", "--rlc-trace"}
    for name in cli.COMMANDS:
        known |= {option for p in cli.cli.get_command(None, name).params for option in p.opts}
    for text in told(README) | told(ARCHITECTURE) | told(PLUGINS) | told(read("CHANGELOG.md")):
        assert not {*re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]\b(?!-)", text)} - known, text


HOOKS = [f for name, f in vars(hookspecs).items() if name.startswith("flagkit_")]


@pytest.mark.parametrize("hook", HOOKS, ids=lambda f: f.__name__)
def test_every_hook_is_documented_with_its_arguments(hook):
    wanted = f"{hook.__name__}({arguments(hook)})"
    assert wanted in told(PLUGINS)
    assert wanted in told(ARCHITECTURE)


PROTOCOLS = ("Backend", "Switch", "LogParser", "Reporter", "TuningLog", "Tuner")


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_interface_is_documented_with_its_arguments(name):
    protocol = getattr(interfaces, name)
    start = PLUGINS.find("`log` is a `TuningLog`" if name == "TuningLog" else f"### {name}\n")
    section = told(re.split(r"\n##", PLUGINS[start + 4 :])[0])
    methods = {n: f for n, f in vars(protocol).items() if inspect.isfunction(f) and n[0] != "_"}
    wanted = {f"{n}({arguments(f)})" for n, f in methods.items()}
    assert not wanted - section
    assert not {n for n in protocol.__annotations__} - section


def test_every_kit_is_documented():
    import flagkit.testing

    assert not set(flagkit.testing.__all__) - told(PLUGINS)


def test_every_group_is_documented():
    assert {kind.group for kind in Kind} <= told(PLUGINS)


FREE = ("device", "environment", "facts", "identity", "modules", "versions")
"""Keys whose values are named by what was found, not by a schema."""


def nested(value: object) -> set[str]:
    """Every key of *value*, however deep, but for the names of found things."""
    if isinstance(value, dict):
        kept = (one for name, one in value.items() if name not in FREE)
        return {*value, *(key for one in kept for key in nested(one))}
    if isinstance(value, list):
        return {key for one in value for key in nested(one)}
    return set()


def test_every_key_of_the_json_report_is_documented():
    schema = ARCHITECTURE.partition("## JSON, schema 1\n")[2].partition("\n## ")[0]
    keys = nested(json.loads(JsonReporter().render([some_report()], {})))
    assert not keys - told(schema) - set(model.BUCKETS.values()) - {"before", "after", "paired"}


def test_every_reason_and_bucket_is_documented():
    section = ARCHITECTURE.partition("## Pairing and the ledger\n")[2].partition("\n## ")[0]
    assert not {*model.REASONS, *model.BUCKETS.values(), "paired"} - told(section)


def test_every_column_is_documented_in_order():
    section = ARCHITECTURE.partition("## CSV\n")[2].partition("\n## ")[0]
    for columns in (csv.COLUMNS, summary.COLUMNS):
        places = [section.find(f"`{column}`") for column in columns]
        assert -1 not in places
    assert [section.find(f"`{c}`") for c in csv.COLUMNS] == sorted(
        section.find(f"`{c}`") for c in csv.COLUMNS
    )


@pytest.mark.parametrize("fact", [model.Plan, model.Regime, model.Inputs, Request])
def test_every_field_kept_on_disk_is_documented(fact):
    assert not {field.name for field in fields(fact)} - told(ARCHITECTURE)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A real run of a small suite, for what is on disk."""
    folder = tmp_path_factory.mktemp("docs")
    (folder / "test_small.py").write_text(
        "import pytest\n"
        "@pytest.mark.small\n"
        "def test_small(flagkit_bench):\n"
        "    flagkit_bench(lambda: sum(range(1000)), dtype='int', size_detail='[[1000]]')\n",
        encoding="utf-8",
    )
    command = ["ab", "--switch", "aa", "--backend", "cpu", "--suite", str(folder / "test_small.py")]
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-m", "flagkit", *command, "--runs-dir", str(folder / "runs")],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return next((folder / "runs").iterdir())


def test_the_run_directory_is_as_described(run):
    for name in ("campaign.json", "campaign.log", "harness", "report.json", "report.md"):
        assert (run / name).exists()
        assert name in ARCHITECTURE
        assert name in README
    side = run / "small" / "before"
    for path in side.iterdir():
        assert path.name in ARCHITECTURE


@pytest.mark.parametrize("name", ["campaign.json", "small/after/agent.json"])
def test_every_key_on_disk_is_documented(run, name):
    data = json.loads((run / name).read_text(encoding="utf-8"))
    assert not nested(data) - told(ARCHITECTURE)


def test_every_key_of_a_receipt_is_documented(run):
    data = json.loads((run / "small/after/receipt.json").read_text(encoding="utf-8"))
    assert not ({*data, *data["host"]} - {"schema"}) - told(ARCHITECTURE)


def test_every_field_of_the_journal_is_documented(run):
    section = ARCHITECTURE.partition("## measurements.jsonl\n")[2].partition("\n## ")[0]
    kinds = set()
    for line in (run / "small/after/measurements.jsonl").read_text(encoding="utf-8").splitlines():
        data = json.loads(line)
        kinds.add(data["kind"])
        assert f"**{data['kind']}**" in section
        assert not nested(data) - told(section)
    assert {"start", "call", "test", "end"} <= kinds


JOURNALS = {
    "flagkit/agent/flaggems.py": "measurements.jsonl",
    "flagkit/agent/assembly.py": "measurements.jsonl",
    "flagkit/agent/session.py": "measurements.jsonl",
    "flagkit/agent/plugin.py": "measurements.jsonl",
    "flagkit/agent/tuning.py": "tuning.jsonl",
    "flagkit/agent/launches.py": "tuning.jsonl",
}


@pytest.mark.parametrize("source", JOURNALS)
def test_every_line_the_agent_writes_is_documented(source):
    """Every literal line: kinds and fields that the small run above does not show."""
    page = ARCHITECTURE.partition(f"## {JOURNALS[source]}\n")[2].partition("\n## ")[0]
    found = 0
    for node in ast.walk(ast.parse(read(source))):
        if not isinstance(node, ast.Dict):
            continue
        pairs = zip(node.keys, node.values, strict=True)
        keys = {k.value: v for k, v in pairs if isinstance(k, ast.Constant)}
        if "kind" in keys and isinstance(keys["kind"], ast.Constant):
            found += 1
            assert f"**{keys['kind'].value}**" in page
            assert not {*keys} - {"kind"} - told(page)
    assert found


def test_the_chinese_readme_shows_the_same():
    chinese = read("README_cn.md")
    for pattern in (r"^ *```\w*\n.*?^ *```$", r"^#+ ", r"^\| (\d+) \|", r"^\| `flagkit (\w+)"):
        flags = re.MULTILINE | re.DOTALL
        assert re.findall(pattern, chinese, flags) == re.findall(pattern, README, flags)
    assert set(SET_UP) <= {*chinese.splitlines()}


def test_there_is_a_snippet_of_each_kind():
    assert {kind for kind, _, _ in SNIPPETS} == {Kind.BACKEND, Kind.SWITCH, Kind.REPORTER}


@pytest.mark.parametrize(("kind", "name", "code"), SNIPPETS, ids=[s[1] for s in SNIPPETS])
def test_snippets_are_conformant(kind, name, code):
    namespace: dict[str, object] = {}
    exec(compile(code, f"README:{name}", "exec"), namespace)
    assert contract_problem(kind, name, namespace[kind.hook]()) == ""
    body = [line for line in code.splitlines() if line and not line.startswith(("import", "from"))]
    assert len(body) <= 12


def test_snippets_are_found_as_the_readme_says(tmp_path):
    """Installed by README's own pyproject lines, ``flagkit plugins`` shows each as ok."""
    toml = re.search(r"```toml\n(.*?)```", README, re.DOTALL)
    assert toml is not None
    groups = tomllib.loads(toml[1])["project"]["entry-points"]
    modules = {}
    for kind, name, code in SNIPPETS:
        modules[name] = groups[kind.group][name]
        (tmp_path / f"{modules[name]}.py").write_text(code, encoding="utf-8")
    info = tmp_path / "flagkit_readme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: flagkit-readme\nVersion: 1.0\n")
    lines = [f"[{g}]\n" + "".join(f"{n} = {m}\n" for n, m in p.items()) for g, p in groups.items()]
    (info / "entry_points.txt").write_text("\n".join(lines))
    paths = os.pathsep.join([str(tmp_path), *(path for path in sys.path if path)])
    done = subprocess.run(
        [sys.executable, "-m", "flagkit", "plugins", "--json"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
        timeout=120,
    )
    found = {p["name"]: p for p in json.loads(done.stdout)}
    for name in modules:
        assert found[name]["problem"] == ""
        assert found[name]["distribution"] == "flagkit-readme"


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    here = (ROOT / page).parent
    for target in re.findall(r"\]\(([^)\s]+)\)", read(page)):
        if target.startswith(("http:", "https:")):
            continue
        path, _, anchor = target.partition("#")
        goal = here / path if path else ROOT / page
        assert goal.exists(), f"{page}: {target}"
        if anchor:
            assert anchor in anchors(goal), f"{page}: {target}"


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
