"""Shardings as they would be if a program's data came before its state.

Arguments that a result of the same type replaces are state: weights and what an optimizer keeps of them. The
others are data. Where both are split over one axis, propagation may carry the split of either into the
activations, as chance has it. Here data goes first: the batch stays split, and weights that are stored split
are gathered (ZeRO-3, fully sharded data parallelism).
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from shardc.diagnostics import collecting
from shardc.graph import Function, Graph
from shardc.graph.types import TensorType
from shardc.layout import Sharding
from shardc.propagation import propagate


def data_first(graph: Graph) -> dict[int, Sharding]:
    """The layouts that values get if data has a higher priority than state; none if no axis splits both."""
    main = graph.main
    state = _state(graph, main)
    data = [value for value in main.body.args if value not in state]
    if not _axes(graph, state) & _axes(graph, data):
        return {}
    values = [replace(value, sharding=None) for value in graph.values]
    for value in main.body.args:
        known = graph.values[value].sharding
        values[value].sharding = _later(known) if known and value in state else known
    results = [_later(sharding) if sharding else None for sharding in main.result_shardings]
    functions = {**graph.functions, main.name: replace(main, result_shardings=results)}
    with collecting():
        found = propagate(replace(graph, values=values, functions=functions))
    known = {value: sharding for body in reversed(found.bodies) for value, sharding in body.shardings.items()}
    return {value: sharding.layout() for value, sharding in known.items() if sharding is not None}


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
