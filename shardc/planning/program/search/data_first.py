"""Shardings as they would be if a program's data came before its state.

Arguments that a result of the same type replaces are state: weights and what an optimizer keeps of them. The
others are data. Where both are split over one axis, propagation may carry the split of either into the
activations, as chance has it. Here data goes first: the batch stays split, and weights that are stored split
are gathered (ZeRO-3, fully sharded data parallelism).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager

from msgspec.structs import replace

from shardc.diagnostics import collecting
from shardc.graph import Function, Graph
from shardc.graph.types import TensorType
from shardc.layout import Sharding
from shardc.planning.program.problem.candidates import build, results_first, wishes
from shardc.planning.program.problem.problem import Problem
from shardc.propagation import propagate


@contextmanager
def data_before_state(problem: Problem) -> Generator[bool]:
    """Lay the program out so, and let each operation leave its results in these layouts, as far as its rule
    allows; whether there are any. Products stay as divided as they must be."""
    problem.layouts = data_first(problem.graph)
    for variable in problem.variables if problem.layouts else ():
        if variable.rule is None or not problem.open(variable):
            continue
        node = variable.node
        results = [problem.layout(value) for value in node.results]
        operands = [problem.layout(v) if v in problem.free else problem.given(v) for v in node.operands]
        order = results_first(len(operands), len(results))
        choice = build(problem, variable, wishes(problem, variable, (*operands, *results), order))
        if choice is not None and choice.parts >= variable.least_parts:
            variable.choice = choice
    yield bool(problem.layouts)
    problem.layouts = {}


def data_first(graph: Graph) -> dict[int, Sharding]:
    """The layouts that values get if data has a higher priority than state; none if no axis splits both, or
    they get those that they have."""
    if not splits_both(graph):
        return {}
    main, state = graph.main, _state(graph, graph.main)
    values = [replace(value, sharding=None) for value in graph.values]
    for value in main.body.args:
        known = graph.values[value].sharding
        values[value].sharding = _later(known) if known and value in state else known
    results = [_later(sharding) if sharding else None for sharding in main.result_shardings]
    functions = {**graph.functions, main.name: replace(main, result_shardings=results)}
    with collecting():
        found = propagate(replace(graph, values=values, functions=functions))
    known = {value: sharding for body in reversed(found.bodies) for value, sharding in body.shardings.items()}
    own = range(len(graph.values))  # propagation copies constants that several use, as new values
    layouts = {v: sharding.layout() for v, sharding in known.items() if sharding is not None and v in own}
    held = ((graph.values[value].sharding, layout) for value, layout in layouts.items())
    return {} if all(known is not None and known.layout() == layout for known, layout in held) else layouts


def splits_both(graph: Graph) -> bool:
    """Whether some axis splits both state and data."""
    state = _state(graph, graph.main)
    data = [value for value in graph.main.body.args if value not in state]
    return not _axes(graph, state).isdisjoint(_axes(graph, data))


def _state(graph: Graph, function: Function) -> set[int]:
    """The arguments that have a result of their type, as many as there are results of it."""
    left: dict[TensorType, int] = {}
    for type in graph.types(function.body.results):
        left[type] = left.get(type, 0) + 1
    found: set[int] = set()
    for value in function.body.args:
        type = graph.type(value)
        if left.get(type, 0):
            left[type] -= 1
            found.add(value)
    return found


def _axes(graph: Graph, values: Iterable[int]) -> set[str]:
    """The names of the axes that split some of the values."""
    shardings = [sharding for value in values if (sharding := graph.values[value].sharding)]
    return {axis.name for sharding in shardings for dim in sharding.dims for axis in dim.axes}


def _later(sharding: Sharding) -> Sharding:
    """The same with the lowest priority in use here."""
    dims = tuple(replace(dim, priority=1) if dim.axes or dim.open else dim for dim in sharding.dims)
    return replace(sharding, dims=dims)
