"""Results of main that propagation says nothing of.

Propagation may stop on the way to a result, as where two dimensions compete for one axis. The result is whole
on every device then, or split over fewer axes. If its partner, an argument of its type, is split further, the
result is left split as that argument is, if that saves bytes. There are partners where there are as many
results of a type as arguments, and they are taken in order: so a gradient is split as what it is of.
"""

from __future__ import annotations

from dataclasses import replace

from shardc.graph.types import TensorType
from shardc.layout import Sharding, replicated
from shardc.planning.problem import Problem, Variable


def unsaid(problem: Problem) -> dict[int, int]:
    """The results that could be split further as their partners are, by number, with their partners."""
    main, values = problem.graph.main, problem.graph.values
    stated = zip(main.body.results, main.result_shardings, strict=True)
    found = [values[value].sharding if sharding is None else sharding for value, sharding in stated]
    return {
        index: partner
        for index, partner in _partners(problem).items()
        if goes_on(found[index], _layout(problem, partner))
    }


def goes_on(found: Sharding | None, layout: Sharding) -> bool:
    """Whether a layout splits further what propagation found, in dimensions that it left open."""
    if found is None:
        return any(layout.axes())
    dims = list(zip(found.dims, layout.dims, strict=True))
    more = [dim.axes != other.axes for dim, other in dims]
    fits = all(dim.axes == other.axes[: len(dim.axes)] for dim, other in dims)
    return any(more) and fits and all(dim.open for (dim, _), new in zip(dims, more, strict=True) if new)


def like_arguments(problem: Problem) -> dict[int, Sharding]:
    """For the unsaid results that are not split as their partners are, by number, the partners' layouts."""
    if not problem.total()[0]:
        return {}
    return {index: _layout(problem, partner) for index, partner in unsaid(problem).items()}


def give(problem: Problem, layouts: dict[int, Sharding]) -> None:
    """Let results leave main in these layouts."""
    end = _ending(problem)
    operands = tuple(layouts.get(i, layout) for i, layout in enumerate(end.choice.operands))
    end.choice = replace(end.choice, operands=operands)


def left_split(problem: Problem) -> dict[int, Sharding]:
    """The unsaid results that leave main as their partners enter it, by number, with their layouts."""
    layouts = _ending(problem).choice.operands
    partners = {index: _layout(problem, partner) for index, partner in unsaid(problem).items()}
    return {index: layout for index, layout in partners.items() if layouts[index] == layout}


def _layout(problem: Problem, argument: int) -> Sharding:
    known = problem.graph.values[argument].sharding
    return known.layout() if known else replicated(problem.mesh, problem.graph.type(argument).rank)


def _ending(problem: Problem) -> Variable:
    """The return of main."""
    end = problem.graph.main.body.nodes[-1]
    return next(variable for variable in reversed(problem.variables) if variable.node.id == end.id)


def _partners(problem: Problem) -> dict[int, int]:
    """Results and the arguments of their types, in order, where there are as many of both."""
    body = problem.graph.main.body
    results: dict[TensorType, list[int]] = {}
    arguments: dict[TensorType, list[int]] = {}
    for index, type in enumerate(problem.graph.types(body.results)):
        results.setdefault(type, []).append(index)
    for value in body.args:
        arguments.setdefault(problem.graph.type(value), []).append(value)
    return {
        index: value
        for type, indices in results.items()
        if len(arguments.get(type, [])) == len(indices)
        for index, value in zip(indices, arguments[type], strict=True)
    }
