"""A tuner that keeps winners in a database, and a dispatcher in front of it.

Small, but with the real one's habits: ``run`` is overridden, the database keeps values
only, candidates are looked up again for their pre-hook, the dispatcher asks once a key.
"""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import triton
from triton.runtime.autotuner import Autotuner


class ConfigCache:
    """One table of winners."""

    def __init__(self, database: sqlite3.Connection, table: str) -> None:
        self.database = database
        self.table = table
        database.execute(
            f"create table if not exists '{table}' (key text primary key, config text)"
        )

    def get(self, key):
        found = self.database.execute(
            f"select config from '{self.table}' where key = ?", (repr(key),)
        ).fetchone()
        return None if found is None else triton.Config(**json.loads(found[0]))

    def __contains__(self, key):
        return self.get(key) is not None

    def __getitem__(self, key):
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def __setitem__(self, key, config):
        values = {"kwargs": config.kwargs, "num_warps": config.num_warps}
        self.database.execute(
            f"insert or replace into '{self.table}' values (?, ?)", (repr(key), json.dumps(values))
        )
        self.database.commit()


def connect() -> sqlite3.Connection:
    """The database of this side."""
    folder = Path(os.environ["FLAGGEMS_CACHE_DIR"])
    folder.mkdir(parents=True, exist_ok=True)
    return sqlite3.connect(folder / "winners.db")


class LibTuner(Autotuner):
    """Chooses by a policy, from candidates that a mode may replace."""

    def __init__(self, fn, configs, key, do_bench, made=None, made_hook=None):
        super().__init__(fn, fn.arg_names, configs, key, None, None, do_bench=do_bench)
        self._made = made
        self._flagtune_pre_hook = made_hook
        self._flagtune_mode = "default" if made is None else "cost_model"
        self.cache = ConfigCache(connect(), f"{self.base_fn.__name__}_{len(configs)}")

    def policy(self, bench, configs):
        configs = [*configs, *([self._made] if self._made else [])]
        return min(configs, key=lambda config: bench(config)[0])

    def run(self, *args, **kwargs):
        self.nargs = dict(zip(self.arg_names, args, strict=False))
        if len(self.configs) > 1:
            key = tuple(self.nargs[name] for name in self.keys)
            if key not in self.cache:
                self.cache[key] = self.policy(
                    lambda config: self._bench(*args, config=config, **kwargs), self.configs
                )
            config = self.cache[key]
            if config.pre_hook is None:
                values = config.all_kwargs()
                same = [c for c in self.configs if c.all_kwargs() == values]
                config = same[0] if same else config
        else:
            config = self.configs[0]
        self.best_config = config
        if config.pre_hook is not None:
            config.pre_hook({**self.nargs, **kwargs, **config.all_kwargs()})
        return self.fn.run(*args, **kwargs, **config.all_kwargs())


class LibEntry(triton.KernelInterface):
    """Dispatches by argument types and integers; asks what it wraps once a key."""

    def __init__(self, fn):
        self.fn = fn
        self.arg_names = fn.arg_names
        self.kernel_cache = ({},)
        self.direct = 0
        while hasattr(fn, "configs"):
            fn = fn.fn
        self.jit_function = fn

    def key(self, args):
        return tuple(a.dtype if hasattr(a, "data_ptr") else a for a in args)

    def run(self, *args, grid, warmup=False, **kwargs):
        entry_key, cache = self.key(args), self.kernel_cache[0]
        if entry_key not in cache:
            self.fn.run(*args, grid=grid, warmup=warmup, **kwargs)
            cache[entry_key] = self.fn.best_config
            return
        self.direct += 1
        config = cache[entry_key]
        if config.pre_hook is not None:
            config.pre_hook(
                {**dict(zip(self.arg_names, args, strict=False)), **config.all_kwargs()}
            )
        self.jit_function.run(*args, grid=grid, warmup=warmup, **config.all_kwargs())
