"""Results of main that propagation says nothing of.

Propagation may stop on the way to a result, as where two dimensions compete for one axis. The result is whole
on every device then. If that costs a collective, and its partner, an argument of its type, is split, the
result is left split as that argument is, if that saves bytes. There are partners where there are as many
results of a type as arguments, and they are taken in order: so a gradient is split as what it is of.
"""

from __future__ import annotations

from dataclasses import replace

from shardc.graph.types import TensorType
from shardc.layout import Sharding, replicated
from shardc.planning.problem import Problem, Variable


def unsaid(problem: Problem) -> dict[int, int]:
    """The results that neither an annotation nor propagation splits, by number, with their split partners."""
    main, values = problem.graph.main, problem.graph.values
    silent = {
        index
        for index, (value, stated) in enumerate(zip(main.body.results, main.result_shardings, strict=True))
        if stated is None and values[value].sharding is None
    }
    partners = _partners(problem)
    return {
        index: partners[index]
        for index in sorted(silent & partners.keys())
        if any(_layout(problem, partners[index]).axes())
    }


def like_arguments(problem: Problem) -> dict[int, Sharding]:
    """For the unsaid results that are sent to be whole, by their number, the layouts of their partners."""
    end = _ending(problem)
    found: dict[int, Sharding] = {}
    for index, partner in unsaid(problem).items():
        if problem.given(end.node.operands[index]) != end.choice.operands[index]:
            found[index] = _layout(problem, partner)
    return found


def give(problem: Problem, layouts: dict[int, Sharding]) -> None:
    """Let results leave main in these layouts."""
    end = _ending(problem)
    operands = tuple(layouts.get(i, layout) for i, layout in enumerate(end.choice.operands))
    end.choice = replace(end.choice, operands=operands)


def left_split(problem: Problem) -> dict[int, Sharding]:
    """The layouts of the unsaid results that leave main split, by their number."""
    layouts = _ending(problem).choice.operands
    return {index: layouts[index] for index in unsaid(problem) if any(layouts[index].axes())}


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
