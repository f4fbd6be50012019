"""Reads pytest marks off a benchmark's source, without importing it."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings

BUILTIN_MARKS = frozenset(
    {
        "asyncio",
        "filterwarnings",
        "parametrize",
        "skip",
        "skipif",
        "timeout",
        "tryfirst",
        "trylast",
        "usefixtures",
        "xfail",
    }
)
"""Marks of pytest and its common plug-ins: they name no operator."""

_ATTRIBUTE = re.compile(r"\bmark\s*\.\s*([A-Za-z_]\w*)")


def marks_in(source: bytes) -> frozenset[str]:
    """Every mark used in *source*: on tests, classes, parameters and the whole module.

    Source that is no Python is searched as text instead, which may find marks in its
    comments too.
    """
    text = _decoded(source)
    try:
        with warnings.catch_warnings():
            # An invalid escape in the benchmark is none of our business.
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
        found = _from_tree(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        found = set(_ATTRIBUTE.findall(text))
    return frozenset(found - BUILTIN_MARKS)


def may_hold(source: bytes, mark: str) -> bool:
    """Whether *mark* stands in *source* as a word at all. Cheap."""
    return re.search(rb"\b" + re.escape(mark.encode()) + rb"\b", source) is not None


def _decoded(source: bytes) -> str:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        return source.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError):
        return source.decode("utf-8", "replace")


def _from_tree(tree: ast.Module) -> set[str]:
    modules, marks = _aliases(tree)
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _is_mark(node.value, modules, marks):
            found.add(node.attr)
    return found


def _aliases(tree: ast.Module) -> tuple[set[str], set[str]]:
    """The names that stand for ``pytest`` and for ``pytest.mark``."""
    modules, marks = {"pytest"}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {a.asname for a in node.names if a.name == "pytest" and a.asname}
        elif isinstance(node, ast.ImportFrom) and node.module == "pytest":
            marks |= {a.asname or a.name for a in node.names if a.name == "mark"}
    return modules, marks


def _is_mark(node: ast.expr, modules: set[str], marks: set[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in marks
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "mark"
        and isinstance(node.value, ast.Name)
        and node.value.id in modules
    )
