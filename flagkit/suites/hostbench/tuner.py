"""A small autotuner: how many elements to work on at once.

It knows nothing of flagkit, as a third party's would not.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence


def best_time(fn: Callable[[], object], repeats: int = 5) -> float:
    """Seconds of the fastest of *repeats* calls, after one that is not counted."""
    fn()
    fastest = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        fn()
        fastest = min(fastest, time.perf_counter() - start)
    return fastest


class ChunkTuner:
    """Picks the fastest of *candidates*, once a key.

    :param name: of the operator that is tuned.
    :param candidates: chunk sizes, in elements.
    :param bench: times a call.
    """

    def __init__(
        self,
        name: str,
        candidates: Sequence[int],
        bench: Callable[[Callable[[], object]], float] = best_time,
    ) -> None:
        self.name = name
        self.candidates = tuple(candidates)
        self.bench = bench
        self.cache: dict[Hashable, int] = {}

    def best(self, key: Hashable, run: Callable[[int], object]) -> int:
        """The chunk for *key*; *run* does the work with a chunk and is timed on a miss."""
        if key not in self.cache:
            self.cache[key] = self.tune(key, run)
        return self.cache[key]

    def tune(self, key: Hashable, run: Callable[[int], object]) -> int:
        """Time every candidate."""
        times = {chunk: self.bench(lambda c=chunk: run(c)) for chunk in self.candidates}  # type: ignore[misc]
        return min(times, key=times.__getitem__)
