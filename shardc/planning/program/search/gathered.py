"""The plan whose tensors are whole over some mesh axes, and else as propagation lays them out.

What is sent over these axes is sent where tensors come in and leave: gathers that wait for nothing, and so
become one on a machine with latency. A search that prices collectives one by one does not come to it.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from shardc.forms.choice import Choice, replicated_choice
from shardc.layout import Axis, Sharding, shared
from shardc.ops import Trait, has
from shardc.planning.program.problem.candidates import build, made, results_first, wishes
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.problem.variables import Variable


def gather(problem: Problem, axes: Collection[str]) -> None:
    """Take that plan. Loops carry such tensors."""
    for slot in problem.slots:
        problem.carry(slot, _whole(slot.loop.choice.operands[slot.index], axes))
    for variable in problem.variables:
        if problem.open(variable):
            found = _choice(problem, variable, axes)
            variable.choice = found or replicated_choice(variable.op, problem.mesh)


def _choice(problem: Problem, variable: Variable, axes: Collection[str]) -> Choice | None:
    """How an operation runs on its operands as they come and leaves its results as propagation has them, all
    of them whole over the axes; None if its rule does not allow it, or it has none."""
    node = variable.node
    operands, results = map(problem.given, node.operands), map(problem.layout, node.results)
    layouts = [_whole(layout, axes) for layout in (*operands, *results)]
    if has(node.name, Trait.SOURCE):
        return made(layouts[-1])
    if variable.rule is None:
        return None
    order = results_first(len(node.operands), len(node.results))
    return build(problem, variable, wishes(problem, variable, layouts, order))


def _whole(layout: Sharding, axes: Collection[str]) -> Sharding:
    """A layout without some axes."""

    def left(of: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return tuple(axis for axis in of if axis.name not in axes)

    dims = tuple(replace(dim, axes=left(dim.axes)) for dim in layout.dims)
    return shared(replace(layout, dims=dims, unreduced=left(layout.unreduced)))
