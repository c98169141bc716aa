"""How much work a folded program is, noted on it: what else is to be known of the whole one is no less.

    shardc.work = 1804000       on the module, from the passes between fold-layers and the first that makes
                                functions on; it is kept with what these passes made (kept.py)

The same whatever numbers the program has, as what passes make of it is (numbers.py).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

import numpy as np
from msgspec import Struct
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64

from shardc.dialects.snapshot import snapshot
from shardc.graph import Dense, Graph, walk
from shardc.rewrite.folding.numbers import is_number

WORK = "shardc.work"

Weigh = Callable[[Graph, Graph], int]
"""Takes a global program and the per-device one."""


class Weight(Struct):
    """Who is to say how much work programs are, and what was said of a folded one."""

    weigh: Weigh
    found: int | None = None


@contextmanager
def weighed(module: ModuleOp, weigh: Weigh | None) -> Generator[None]:
    """Note of a folded program how much work it and what is made of it meanwhile are."""
    whole = None if weigh is None else _graph(module)
    yield
    if weigh is not None and whole is not None:
        module.attributes[WORK] = IntegerAttr(weigh(whole, _graph(module)), i64)


def work_of(module: ModuleOp) -> int | None:
    """What is noted, which is taken off; None of a program that was not folded."""
    noted = module.attributes.pop(WORK, None)
    return noted.value.data if isinstance(noted, IntegerAttr) else None


def _graph(module: ModuleOp) -> Graph:
    """A program whose numbers are all the same."""
    found = snapshot(module)
    for function in found.graph.functions.values():
        for node in walk(function.body):
            held = node.attrs.get("value")
            if isinstance(held, Dense) and is_number(found.ops[node.id]):
                node.attrs = {"value": Dense(np.zeros_like(held.data), held.shape)}
    return found.graph
