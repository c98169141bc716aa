"""Results of main whose sharding is still open after propagation.

Propagation may stop on the way to a result, for example where two dimensions compete for one axis. Such a
result is replicated, or split over fewer axes than it could be. Its *partner* is an argument of the same
type: where as many results as arguments have one type, they are paired in order, so a gradient is paired with
its weight. If the partner is split further and fewer bytes are sent that way, the result leaves main in the
partner's layout.
"""

from __future__ import annotations

from msgspec.structs import replace

from shardc.graph.types import TensorType
from shardc.layout import Sharding, replicated
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.problem.variables import Variable


def open_results(problem: Problem) -> dict[int, int]:
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


def argument_layouts(problem: Problem) -> dict[int, Sharding]:
    """For the open results that are not split as their partners are, by number, the partners' layouts."""
    if not problem.total()[0]:
        return {}
    now = _ending(problem).choice.operands
    layouts = {index: _layout(problem, partner) for index, partner in open_results(problem).items()}
    return {index: layout for index, layout in layouts.items() if layout != now[index]}


def split_results(problem: Problem, layouts: dict[int, Sharding]) -> None:
    """Change the layouts in which results leave main."""
    end = _ending(problem)
    operands = tuple(layouts.get(i, layout) for i, layout in enumerate(end.choice.operands))
    end.choice = replace(end.choice, operands=operands)


def split_as_arguments(problem: Problem) -> None:
    """Let all open results leave main as their partners enter it."""
    split_results(problem, {i: _layout(problem, v) for i, v in open_results(problem).items()})


def split_like_arguments(problem: Problem) -> dict[int, Sharding]:
    """The open results that leave main as their partners enter it, by number, with their layouts."""
    layouts = _ending(problem).choice.operands
    partners = {index: _layout(problem, partner) for index, partner in open_results(problem).items()}
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
