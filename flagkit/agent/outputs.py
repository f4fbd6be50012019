"""``--check``: what a call gives, kept for the host to compare between the sides.

The call runs twice on the inputs that the first measured call will get, with the same
generators: the second run tells an operator that does not repeat itself from a wrong one.
Afterwards inputs, gradients and generators are as before.
"""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flagkit.agent.arrays import layout
from flagkit.agent.copies import Copies, Uncopied
from flagkit.agent.outcomes import only_refused, told
from flagkit.agent.values import Unreadable, is_value, values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from flagkit.agent.values import Values

FOLDER = "outputs"

MOST_OUTPUTS, MOST_DEPTH = 32, 8
"""Of one call; what lies beyond is left out, with a reason."""

MOST_NODES = 4096
"""Of an autograd graph, looked through for the tensors that gradients end in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """One output of one run, read. ``written``: the run changed it (for an input)."""

    name: str
    written: bool = True
    dtype: str = ""
    shape: tuple[int, ...] = ()
    size: int = 0
    sha256: str = ""
    covered: int = 0
    data: bytes = b""
    runs: int = 0
    run: int = 0
    reason: str = ""


class OutputCheck:
    """Runs calls for their outputs.

    :param directory: the side's; samples go to ``outputs/<call>.bin`` in it.
    :param interface: gives the device's module, None without a device.
    :param is_fatal: whether an exception says that the device is dead; it is raised then.
    """

    def __init__(
        self,
        directory: Path,
        *,
        interface: Callable[[], Any] = lambda: None,
        is_fatal: Callable[[BaseException], bool] = lambda error: False,
    ) -> None:
        self._folder = directory / FOLDER
        self._interface = interface
        self._is_fatal = is_fatal

    def run(
        self,
        call: str,
        fn: Callable[[], Any],
        arrays: Sequence[Any],
        *,
        grads: Sequence[Any] = (),
        reset: Callable[[], None] = lambda: None,
    ) -> dict[str, Any]:
        """``outputs`` and ``reason`` of a journal's line.

        :param arrays: what *fn* works on; put back after each run.
        :param grads: tensors that get a gradient.
        :param reset: puts the generators back.
        """
        try:
            return {"outputs": self._kept(call, fn, arrays, grads, reset), "reason": ""}
        except Uncopied as error:
            reason = str(error)
        except OSError as error:
            reason = f"its outputs were not written: {error.strerror or error}"
        except Exception as error:
            # What is kept beside the call may leave it too little memory; measured alone it has it.
            if self._is_fatal(error) and not only_refused(error, self._interface()):
                raise
            reason = told(error)
        return {"outputs": [], "reason": reason}

    def _kept(
        self,
        call: str,
        fn: Callable[[], Any],
        arrays: Sequence[Any],
        grads: Sequence[Any],
        reset: Callable[[], None],
    ) -> list[dict[str, Any]]:
        copies = Copies(arrays, self._interface())
        ends = _leaves((*grads, *arrays))
        first = self._once(fn, arrays, copies, ends, reset)
        second = {each.name: each for each in self._once(fn, arrays, copies, ends, reset)}
        self._folder.mkdir(exist_ok=True)
        lines = []
        with (self._folder / f"{call}.bin").open("wb") as file:
            for output in first:
                line = {**_line(output), **_sample(output, file)}
                again = second.get(output.name)
                if again is None or again.sha256 != output.sha256:
                    same = again is not None and again.shape == output.shape
                    line["again"] = _sample(again, file) if again is not None and same else {}
                lines.append(line)
        return lines

    def _once(
        self,
        fn: Callable[[], Any],
        arrays: Sequence[Any],
        copies: Copies,
        ends: Sequence[Any],
        reset: Callable[[], None],
    ) -> list[Output]:
        """The outputs of one run, after which everything is as before."""
        kept = [end.grad for end in ends]
        for end in ends:
            end.grad = None
        try:
            result = fn()
            synchronize = getattr(self._interface(), "synchronize", None)
            if synchronize is not None:
                synchronize()
            found = _collected(result, arrays, copies, ends)
        except BaseException:
            with contextlib.suppress(Exception):
                _put_back(copies, ends, kept, reset)
            raise
        _put_back(copies, ends, kept, reset)
        return found


def _put_back(
    copies: Copies, ends: Sequence[Any], kept: Sequence[Any], reset: Callable[[], None]
) -> None:
    for end, grad in zip(ends, kept, strict=True):
        end.grad = grad
    reset()
    copies.restore()


def _collected(
    result: Any, arrays: Sequence[Any], copies: Copies, ends: Sequence[Any]
) -> list[Output]:
    """Returned values, new gradients, and inputs that were written.

    A call that returns nothing may have written what its input held already, on one side
    alone: then every input is kept, and the host rules.
    """
    found = [*_returned(result, "returned")]
    found += [(f"grad[{n}]", end.grad) for n, end in enumerate(ends) if end.grad is not None]
    written, places = copies.written(), {_place(value) for _, value in found}
    candidates = written if found else range(len(arrays))
    inputs = [(n, arrays[n]) for n in candidates if _place(arrays[n]) not in places]
    outputs = [_read(name, value) for name, value in found[:MOST_OUTPUTS]]
    outputs += [_read(f"input[{n}]", value, n in written) for n, value in inputs[:MOST_OUTPUTS]]
    if len(found) > MOST_OUTPUTS or len(inputs) > MOST_OUTPUTS:
        reason = f"only {MOST_OUTPUTS} outputs of a kind are compared"
        outputs.append(Output(name="others", reason=reason))
    return outputs


def _returned(value: Any, name: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    if is_value(value):
        yield name, value
    elif depth < MOST_DEPTH and issubclass(type(value), (list, tuple)):
        for n, item in enumerate(value):
            yield from _returned(item, f"{name}[{n}]", depth + 1)
    elif depth < MOST_DEPTH and issubclass(type(value), dict):
        for key, item in dict.items(value):
            yield from _returned(item, f"{name}[{str(key)[:40]!r}]", depth + 1)


def _place(value: Any) -> Any:
    """What two views of the same elements have in common."""
    with contextlib.suppress(Exception):
        described = layout(value)
        if described.kind == "numpy":
            address = value.__array_interface__["data"][0]
        else:
            address = value.data_ptr()
        return (described.kind, address, described.dtype, described.shape, described.strides)
    return id(value)


def _read(name: str, value: Any, written: bool = True) -> Output:
    try:
        readable: Values = values(value)
        digest, covered = readable.digest()
        data, runs, run = readable.sample()
    except Unreadable as error:
        return Output(name=name, written=written, reason=str(error))
    return Output(
        name=name,
        written=written,
        dtype=readable.dtype,
        shape=readable.shape,
        size=readable.count * readable.itemsize,
        sha256=digest,
        covered=covered,
        data=data,
        runs=runs,
        run=run,
    )


def _line(output: Output) -> dict[str, Any]:
    return {
        "name": output.name,
        "dtype": output.dtype,
        "shape": list(output.shape),
        "bytes": output.size,
        "digested": output.covered,
        "written": output.written,
        "reason": output.reason,
    }


def _sample(output: Output, file: Any) -> dict[str, Any]:
    place = {"offset": file.tell(), "bytes": len(output.data)}
    file.write(output.data)
    return {"sha256": output.sha256, "sample": {**place, "runs": output.runs, "run": output.run}}


def _leaves(tensors: Sequence[Any]) -> list[Any]:
    """The tensors that a backward call leaves gradients in: given, or behind the given ones."""
    torch = sys.modules.get("torch")
    if torch is None:
        return []
    ends: dict[int, Any] = {}
    nodes: list[Any] = []
    for tensor in tensors:
        if isinstance(tensor, torch.Tensor) and tensor.requires_grad:
            if tensor.is_leaf or tensor.retains_grad:
                ends[id(tensor)] = tensor
            nodes.append(tensor.grad_fn)
    seen: set[Any] = set()
    while nodes and len(seen) < MOST_NODES:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)
        if isinstance(variable, torch.Tensor):
            ends[id(variable)] = variable
        nodes += [following for following, _ in getattr(node, "next_functions", ())]
    return list(ends.values())
