"""Feeds spoilt logs to every parser for a given time: not collected by pytest.

``python tests/fuzz/fuzz_parsers.py --seconds 120 [--corpus DIR ...]``. The corpus is the
made logs of ``tests/data/synthetic``, what this script makes of every format, and the files
of any folder given. Each round takes one or two of them, cuts, glues, repeats and replaces
bytes, and checks that

- no parser raises, and every fact it yields can be built and numbered,
- the table parser gives the same facts with and without skipping,
- what is shown of any line is free of escapes.

It prints how many inputs it tried, and on a failure writes the input to ``crash-N.bin``.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from flagkit.compare.sizes import size_key
from flagkit.model import Row, number_rows
from flagkit.parsers import (
    flaggems_json,
    flaggems_record,
    flaggems_table,
    flagkit_journal,
    markdown,
)
from flagkit.parsers.dirt import shown
from flagkit.parsers.stream import Lines, utf8_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

PARSERS = [
    module.flagkit_parser()
    for module in (flaggems_json, flaggems_record, flaggems_table, flagkit_journal, markdown)
]
MADE = Path(__file__).parents[1] / "data" / "synthetic"
HEADER = (
    b"Status       Torch Latency (ms)    Gems Latency (ms)         Gems Speedup          "
    b"Size Detail\n" + b"-" * 95 + b"\n"
)
_KEPT = (9, 10, 13)
CONTROLS = bytes(
    32 if code == 127 or (code < 32 and code not in _KEPT) else code for code in range(256)
)
SNIPPETS = [
    b"SUCCESS               0.500000            0.250000               2.000          ",
    b"[torch.Size([4096, 4096])]\n",
    b"([torch.Size([16])], {'p': -inf})\n",
    b"\nOperator: gelu  Performance Test (dtype=torch.float16, mode=kernel,level=core)\n",
    b"test_x.py Operator mv Performance Test (torch.float16)\n",
    HEADER,
    b"Size        Torch Latency (ms)   Gems Latency (ms)\n" + b"-" * 50 + b"\n",
    b"1024                       0.5                0.25\n",
    b"[flagkit] regime: requested=graph resolved=graph cache=hot protocol=p op=gelu\n",
    b"BENCHMARK_DIRECT_NO_CUDAGRAPH op=gelu phase=capture reason=x\n",
    b"FAILED t.py::a - x\n",
    b"=== 1 failed, 2 passed in 1.0s ===\n",
    b'[INFO] {"op_name": "abs", "dtype": "torch.float16", "result": [{"latency": 1.0}]}\n',
    b'{\n  "abs": {\n    "details": [{"op_name": "abs", "result": [{"latency": NaN}]}]\n  }\n}\n',
    b'{"kind": "row", "id": "c1", "op": "gelu", "latency_ms": 0.5}\n',
    b'{"kind": "call", "id": "c1", "role": "row", "latency_ms": 0.5, "plan": null}\n',
    b"| op | Shape | Torch (ms) | Gems (us) |\n|---|---|---|---|\n| abs | [1] | 0.5 | 250 |\n",
    b"### `abs` float16 (us)\n",
    b"\x1b[32m",
    b"\x1b[K",
    b"\x1b[10C",
    b"\x1b[2;5H",
    b"\r",
    b"\b",
    b"\0",
    b"\n",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    "测试".encode("gbk"),
]


def corpus(folders: Sequence[Path]) -> list[bytes]:
    """The seeds: files of *folders*, the made logs and the snippets joined."""
    seeds = [b"".join(SNIPPETS), *SNIPPETS]
    for folder in (MADE, *folders):
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                seeds.append(path.read_bytes()[: 1 << 14])
    return seeds


def spoil(pick: random.Random, seeds: Sequence[bytes]) -> bytes:
    """One input: a seed after some accidents."""
    data = bytearray(pick.choice(seeds))
    for _ in range(pick.randint(0, 6)):
        at = pick.randint(0, len(data))
        length = min(int(pick.expovariate(0.05)), len(data) - at)
        accident = pick.randint(0, 6)
        if accident == 0:
            del data[at : at + length]
        elif accident == 1:
            data[at:at] = pick.choice(SNIPPETS)
        elif accident == 2:
            data[at:at] = pick.randbytes(pick.randint(1, 8))
        elif accident == 3 and data:
            data[min(at, len(data) - 1)] = pick.randrange(256)
        elif accident == 4:
            data[at:at] = data[at : at + length]
        elif accident == 5:
            del data[at:]
        else:
            other = pick.choice(seeds)
            start = pick.randint(0, len(other))
            data[at:at] = other[start : start + 400]
    return bytes(data[: 1 << 15])


def check(data: bytes, pick: random.Random) -> None:
    """Everything that has to hold for *data*; raises if something does not."""
    for parser in PARSERS:
        parser.claims(data, Path("x.log"))
        facts = list(parser.parse(data.splitlines(keepends=True), "x.log"))
        number_rows(fact for fact in facts if isinstance(fact, Row))
    whole = b"".join(utf8_blocks(data, lambda _: b""))
    size = pick.randint(1, 4096)
    table = flaggems_table.flagkit_parser()
    # A control character within a title hides it from the search. The rows below then belong
    # to nobody, which is allowed; to another table they must not.
    whole = whole.replace(b"\r\n", b"\n").translate(CONTROLS)
    lines = whole.split(b"\n")
    plain = [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    slow = list(table.parse(plain, "x.log"))
    blocks = [whole[at : at + size] for at in range(0, len(whole), size)]
    fast = list(table.parse(Lines(blocks), "x.log"))
    slow_rows = [repr(fact) for fact in slow if isinstance(fact, Row)]
    if slow_rows != [repr(fact) for fact in fast if isinstance(fact, Row)]:
        raise AssertionError("skipping changed the rows")
    for line in whole.split(b"\n")[:50]:
        for text in shown(line):
            if "\r" in text or "\b" in text:
                raise AssertionError("a control character is shown")
            size_key(text)


def main() -> int:
    """Fuzz until the time is up."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--corpus", type=Path, nargs="*", default=[])
    given = options.parse_args()
    pick = random.Random(given.seed)
    seeds = corpus(given.corpus)
    tried = failed = slowest = 0
    end = time.monotonic() + given.seconds
    while time.monotonic() < end:
        data = spoil(pick, seeds)
        start = time.monotonic()
        try:
            check(data, pick)
        except Exception:
            failed += 1
            Path(f"crash-{failed}.bin").write_bytes(data)
            traceback.print_exc()
            if failed >= 10:
                break
        slowest = max(slowest, time.monotonic() - start)
        tried += 1
    print(f"{len(seeds)} seeds, {tried} inputs, {failed} failures, slowest {slowest * 1e3:.0f} ms")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
