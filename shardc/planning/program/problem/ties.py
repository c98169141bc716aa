"""What tells equally quick ways to run an operation apart: a row of counts, each of which costs a picosecond.

A count is of what an operation's results or operands have under a choice; more of it is worse. None is worth
a nanosecond of work or communication, so each decides only where the model says that times are equal.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from shardc.forms.choice import Choice
from shardc.graph import Graph
from shardc.layout import Sharding
from shardc.ops import Trait, has
from shardc.planning.program.costs.rates import ONCE
from shardc.planning.program.problem.variables import Variable

Tie = Callable[[Graph, set[int], Variable, Choice], int]
"""A count: of the program, of the values that are made from constants for one user, of an operation, of how
it runs."""


def idle_splits(graph: Graph, free: set[int], variable: Variable, choice: Choice) -> int:
    """Results of which a dimension is split over more devices than it has elements."""
    results = zip(variable.node.results, choice.results, strict=True)
    return sum([_has_idle(graph.type(value).shape, layout) for value, layout in results])


def counted_alone(graph: Graph, free: set[int], variable: Variable, choice: Choice) -> int:
    """Operands made from constants that count on one device alone, where they are added to partial sums."""
    if free.isdisjoint(variable.node.operands) or not has(variable.node.name, Trait.ELEMENTWISE):
        return 0
    operands = zip(variable.node.operands, choice.operands, strict=True)
    return sum(value in free and bool(layout.unreduced) for value, layout in operands)


TIES: tuple[Tie, ...] = (idle_splits, counted_alone)


def ties(graph: Graph, free: set[int], variable: Variable, choice: Choice) -> int:
    """Ticks of all of them together."""
    return ONCE * sum([tie(graph, free, variable, choice) for tie in TIES])


@lru_cache(maxsize=65536)
def _has_idle(shape: tuple[int, ...], layout: Sharding) -> bool:
    return any(size < dim.parts for size, dim in zip(shape, layout.dims, strict=True))
