"""Finding the arrays that a call will work on, from the function object alone."""

from __future__ import annotations

import contextlib
import functools
import sys
import types
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flagkit.agent.arrays import is_array

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_DEPTH, MAX_OBJECTS, MAX_ARRAYS = 8, 4096, 128
"""How far the walk goes; what lies beyond counts as unseen."""

_OPAQUE = ("torch", "numpy", "triton")
"""Libraries whose own objects (dtypes, devices, operators, kernels) hold no inputs."""

_WALKED = ("torch.nn",)

_ATOMS = (
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    type,
    range,
    slice,
    types.ModuleType,
    types.BuiltinFunctionType,
    types.MethodWrapperType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.CodeType,
    type(Ellipsis),
    type(NotImplemented),
)

_STANDARD_WALKED = ("types", "dataclasses", "functools")


@dataclass(slots=True, kw_only=True)
class Reached:
    """The arrays in the order they were met, each once, and how much was not looked into."""

    arrays: list[Any] = field(default_factory=list)
    unseen: int = 0


def reach(fn: Any) -> Reached:
    """Walk *fn*: closures, defaults, partials, bound objects, containers and attributes.

    Module-level names that *fn* uses are followed in its own module alone. Nothing is
    called and no property is read.
    """
    found, met = Reached(), {id(fn)}
    root = getattr(fn, "__globals__", None)
    waiting: deque[tuple[Any, int]] = deque([(fn, 0)])
    while waiting:
        value, depth = waiting.popleft()
        if is_array(value):
            if len(found.arrays) < MAX_ARRAYS:
                found.arrays.append(value)
            else:
                found.unseen += 1
            continue
        parts = None
        with contextlib.suppress(Exception):
            parts = _parts(value, root)
        if parts is None or not _follow(parts, depth + 1, met, waiting):
            found.unseen += 1
    return found


def _follow(
    parts: Iterable[Any], depth: int, met: set[int], waiting: deque[tuple[Any, int]]
) -> bool:
    """Queue what was not met yet; False where something had to be left out."""
    for part in parts:
        if issubclass(type(part), _ATOMS) or id(part) in met:
            continue
        if depth > MAX_DEPTH or len(met) >= MAX_OBJECTS:
            return False
        met.add(id(part))
        waiting.append((part, depth))
    return True


def _parts(value: Any, root: Any) -> Iterable[Any] | None:
    """What *value* holds; None where that cannot be known."""
    kind = type(value)  # isinstance would ask the object itself, which may answer anything
    if issubclass(kind, dict):
        return [*dict.values(value)]
    if issubclass(kind, (list, tuple, deque, set, frozenset)):
        return [*value]
    if issubclass(kind, types.MethodType):
        return (value.__self__, value.__func__)
    if issubclass(kind, types.FunctionType):
        return [*_of_function(value, root)]
    if issubclass(kind, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    return _of_object(value)


def _of_function(fn: types.FunctionType, root: Any) -> Iterator[Any]:
    for cell in fn.__closure__ or ():
        with contextlib.suppress(ValueError):  # a cell not filled yet
            yield cell.cell_contents
    yield from fn.__defaults__ or ()
    yield from (fn.__kwdefaults__ or {}).values()
    if fn.__globals__ is root:
        for name in _names(fn.__code__):
            if name in fn.__globals__:
                yield fn.__globals__[name]


def _names(code: types.CodeType) -> Iterator[str]:
    """Global names of *code* and of the functions and comprehensions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _of_object(value: Any) -> Iterable[Any] | None:
    kind = type(value)
    home = str(getattr(kind, "__module__", "") or "")
    top = home.partition(".")[0]
    if hasattr(kind, "__dlpack__"):  # another library's tensor
        return None
    if top in _OPAQUE and not home.startswith(_WALKED):
        return ()
    if top in sys.stdlib_module_names and top not in _STANDARD_WALKED:
        return None if top in ("builtins", "itertools", "array") else ()
    slots = [*_slots(kind)]
    if not kind.__dictoffset__ and not slots:
        return None
    held = [*object.__getattribute__(value, "__dict__").values()] if kind.__dictoffset__ else []
    for slot in slots:
        with contextlib.suppress(AttributeError):  # a slot not filled yet
            held.append(slot.__get__(value, kind))
    return held


def _slots(kind: type) -> Iterator[types.MemberDescriptorType]:
    for each in kind.__mro__:
        for member in vars(each).values():
            if type(member) is types.MemberDescriptorType:
                yield member
