"""From a propagated function to its planning problem, with the choices that propagation's shardings suggest.

What binds stays fixed: arguments, results, constraints, what a loop carries, and regions written per device.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import cast

from msgspec.structs import replace

from shardc.analysis.loops import Constants, counted
from shardc.analysis.manual import NO_AXES, AxisNames, inside, is_complete, own_axes
from shardc.analysis.summed_copies import summed_copies
from shardc.forms.choice import Choice, replicated_choice
from shardc.graph import Function, Graph, Node, Op, Region
from shardc.graph.marks import TIMES
from shardc.layout import KINDS, Axis, Sharding, replicated, shared
from shardc.ops import Trait, has, hlo, op_of, sdy
from shardc.ops.registry import rule_of
from shardc.ops.rule import FactorRule, Kind
from shardc.planning.program.costs.fusion import traffic
from shardc.planning.program.costs.rates import Rates
from shardc.planning.program.costs.work import OpWork
from shardc.planning.program.problem.begun import contexts_of
from shardc.planning.program.problem.candidates import build, made, results_first, wishes
from shardc.planning.program.problem.changes import change
from shardc.planning.program.problem.layers import run_alike, with_bodies
from shardc.planning.program.problem.menu import menu_of
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.problem.variables import Slot, Variable


def setup(
    graph: Graph, function: Function, rates: Rates, alike: Mapping[int, Hashable] | None = None
) -> Problem:
    """The planning problem of one function without calls, on a machine. Where no layers have been taken out
    of it, those operations run alike which are `alike`."""
    menu, summed = menu_of(rates.mesh), summed_copies(graph)
    problem = Problem(graph, rates.mesh, rates, menu=menu, copies_summed=summed)
    problem.alike = with_bodies(function.body.nodes, run_alike(graph) or alike or {})
    problem.contexts = contexts_of(function, rates)
    constants = Constants(graph)
    times = _times(function)
    for value in function.body.args:
        layout = _border(problem, value, graph.values[value].sharding)
        problem.arguments[value] = (layout, times.get(value, 1))
    results = tuple(
        _border(problem, v, s) for s, v in zip(function.result_shardings, function.body.results, strict=True)
    )
    _region(problem, constants, function.body, 1, results)
    _mark_free(problem)
    count_work(problem)
    return problem


def _times(function: Function) -> dict[int, int]:
    """How many arguments those stand for whose first use stands for several operations."""
    found: dict[int, int] = {}
    for node in function.body.nodes:
        for value in node.operands:
            found.setdefault(value, cast("int", node.attrs.get(TIMES, 1)))
    return found


def _border(problem: Problem, value: int, sharding: Sharding | None) -> Sharding:
    """The layout of an argument or result of main: an open dimension is split evenly or not at all.

    JAX has no uneven arrays at the border of a program, so a result that is split unevenly would be gathered
    anyway. An argument without annotation is replicated, and each device takes its block.
    """
    if sharding is None:
        return problem.layout(value)
    sizes = zip(sharding.dims, problem.graph.type(value).shape, strict=True)
    dims = tuple(replace(dim, axes=_dividing(dim.axes, size)) if dim.open else dim for dim, size in sizes)
    return shared(replace(sharding, dims=dims).layout())


def _dividing(axes: tuple[Axis, ...], size: int) -> tuple[Axis, ...]:
    """The axes up to the first that does not divide what is left of the size."""
    for place, axis in enumerate(axes):
        if size % axis.size:
            return axes[:place]
        size //= axis.size
    return axes


def _mark_free(problem: Problem) -> None:
    """What is made from constants for one user is made in its layout: each device makes its own block.

    So is all that it is made of, or that is a source or a scalar. What several users have is made as one of
    them needs it, and of what is summed a device needs more than the block says.
    """
    derived, free = made_from_constants(problem), problem.free
    for value, (variable, _) in problem.producer.items():
        sums = variable.rule is not None and any(f.kind is Kind.REDUCTION for f in variable.rule.factors)
        if value in derived and len(problem.consumers.get(value, [])) == 1 and not sums:
            if all(operand in free or _anywhere(problem, operand) for operand in variable.node.operands):
                free.add(value)


def _anywhere(problem: Problem, value: int) -> bool:
    """Whether a value made from constants is at hand in any layout."""
    return not problem.graph.type(value).shape or has(problem.producer[value][0].node.name, Trait.SOURCE)


def count_work(problem: Problem) -> None:
    """What the operations take that run in one way or another; what is made for one alone counts there."""
    program = [(variable.node, variable.op) for variable in problem.variables]
    users = {value: [user.node for user, _ in uses] for value, uses in problem.consumers.items()}
    found = traffic(program, users, problem.rates.machine.fuses)
    known: dict[object, OpWork | None] = {}
    seconds = dict[int, float]()  # of what is made for one alone, in all its runs
    turns = _turns(problem)
    for variable in problem.variables:
        node, free = variable.node, problem.free.issuperset(variable.node.results)
        if variable.fixed and not free:
            continue
        trips = max(1, variable.trips)
        made = tuple((i, seconds[v] / trips) for i, v in enumerate(node.operands) if v in seconds)
        key = variable.op.key(), found[node.id], made, turns.get(id(variable.region), 1)
        if key not in known:
            known[key] = problem.rates.work_of(variable.op, *key[1:])
        work = known[key]
        if free and work is not None:
            alone = trips * work.seconds(problem.rates.machine)
            seconds.update(dict.fromkeys(node.results, alone))
            continue
        variable.work = work
        if found[node.id].fused and not problem.rates.free:
            problem.fused.update(node.results)


def _turns(problem: Problem) -> dict[int, int]:
    """How often loops run their regions, by the ids of these."""
    holders, turns = dict[int, Variable](), dict[int, int]()
    for variable in problem.variables:
        holders.update((id(region), variable) for region in variable.node.regions)
        holder = holders.get(id(variable.region))
        if holder is not None:
            around = turns.get(id(holder.region), 1)
            turns.setdefault(id(variable.region), around * max(1, variable.trips) // max(1, holder.trips))
    return turns


def _region(
    problem: Problem,
    constants: Constants,
    region: Region,
    around: int,
    results: tuple[Sharding, ...],
    manual: AxisNames = NO_AXES,
) -> None:
    """The operations of a region that runs `around` times and is written per device of the `manual` axes."""
    for node in region.nodes[:-1]:
        if node.name == sdy.sharding_group.name:
            continue  # has done its work in propagation, and needs no layout
        trips = around * cast("int", node.attrs.get(TIMES, 1))
        _add(problem, node, trips, region)
        if node.name == sdy.manual_computation.name:
            _per_device(problem, constants, node, trips, manual)
        elif has(node.name, Trait.REGION):
            _inner(problem, constants, node, trips, manual)
    end = region.nodes[-1]
    _variable(problem, end, Choice(results, ()), around, region)


def _per_device(problem: Problem, constants: Constants, node: Node, trips: int, manual: AxisNames) -> None:
    """The body of a manual computation, if it leaves axes to the compiler: its borders are given."""
    (region,) = node.regions
    names = manual | own_axes(node)
    if is_complete(problem.mesh, names):
        return
    ins, outs = (
        tuple(inside(s, names).layout() for s in cast("tuple[Sharding, ...]", node.attrs[key]))
        for key in ("in_shardings", "out_shardings")
    )
    for value, layout in zip(region.args, ins, strict=True):
        problem.arguments[value] = (layout, trips)
    _region(problem, constants, region, trips, outs, names)


def _inner(problem: Problem, constants: Constants, node: Node, trips: int, manual: AxisNames) -> None:
    """The bodies of a loop or branch: what is carried keeps the layout of the results."""
    carried = tuple(map(problem.layout, node.results))
    loop_variable = problem.variables[-1]
    loop = counted(node, constants) if node.name == hlo.while_.name else None
    for index, region in enumerate(node.regions):
        times = trips * (loop.trips if loop else 1)
        for value, layout in zip(region.args, carried, strict=False):
            problem.arguments[value] = (layout, times)
        is_cond = node.name == hlo.while_.name and index == 0
        results = (replicated(problem.mesh, 0),) if is_cond else carried
        _region(problem, constants, region, times, results, manual)
    if node.name == hlo.while_.name:
        cond, body = node.regions
        for index, args in enumerate(zip(cond.args, body.args, strict=True)):
            problem.slots.append(Slot(loop_variable, index, args, problem.variables[-1]))


def _add(problem: Problem, node: Node, trips: int, region: Region) -> None:
    fixed = _fixed(problem, node)
    if fixed:
        _variable(problem, node, fixed, trips, region)
        return
    op = op_of(problem.graph, node)
    rule = rule_of(op)
    if has(node.name, Trait.SOURCE):
        _variable(problem, node, made(problem.layout(node.results[0])), trips, region, (op, rule))
        return
    free = None if rule is None else (op, rule)
    variable = _variable(problem, node, replicated_choice(op, problem.mesh), trips, region, free)
    if rule is not None:
        results = [problem.layout(v) for v in node.results]
        operands = [problem.given(v) for v in node.operands]
        order = results_first(len(operands), len(results))
        pairs = wishes(problem, variable, (*operands, *results), order)
        variable.choice = build(problem, variable, pairs) or variable.choice
        _as_divided(problem, variable, results, order)


def _as_divided(
    problem: Problem, variable: Variable, results: list[Sharding], order: tuple[int, ...]
) -> None:
    """Divide work as propagation does, also where an operand does not come as that says. A product stays so
    divided where collectives have no latency; where they have, one that each device computes whole may be
    quicker, and time decides.
    """
    operands = [problem.layout(v) for v in variable.node.operands]
    built = build(problem, variable, wishes(problem, variable, (*operands, *results), order))
    product, free = has(variable.node.name, Trait.PRODUCT), problem.rates.free
    further = built is not None and built.parts > variable.choice.parts
    if further and (product or not free):
        variable.choice = built or variable.choice
    variable.stated = built if further else variable.choice
    if product and not problem.rates.machine.has_latency:
        variable.least_parts = variable.choice.parts


def _fixed(problem: Problem, node: Node) -> Choice | None:
    """The only choice of a node whose layouts are given, or None."""
    results = tuple(map(problem.layout, node.results))
    if node.name in (sdy.sharding_constraint.name, sdy.reshard.name):
        target = cast(Sharding, node.attrs["sharding"]).layout()
        return Choice((target,), (target,))
    if node.name == sdy.manual_computation.name:
        ins = cast(tuple[Sharding, ...], node.attrs["in_shardings"])
        outs = cast(tuple[Sharding, ...], node.attrs["out_shardings"])
        return Choice(tuple(s.layout() for s in ins), tuple(s.layout() for s in outs))
    if has(node.name, Trait.GLOBAL_COLLECTIVE):
        return change(problem, node)
    if has(node.name, Trait.SAME_LAYOUT):
        return Choice(results, results)
    if has(node.name, Trait.REGION):
        selector = tuple(replicated(problem.mesh, problem.graph.type(v).rank) for v in node.operands)
        return Choice(selector, results)
    return None


def _variable(
    problem: Problem,
    node: Node,
    choice: Choice,
    trips: int,
    region: Region,
    free: tuple[Op, FactorRule | None] | None = None,
) -> Variable:
    """The variable of a node; `free`: with its rule, where its layouts are not given."""
    op, rule = free or (op_of(problem.graph, node), None)
    variable = Variable(node, op, rule, choice, free is None, trips, region)
    if variable.rule is not None:
        variable.signature = problem.menu.signature(op, variable.rule, problem.mesh)
        variable.ways = problem.menu.ways[variable.signature]
        variable.flows = tuple((kind, group) for kind in KINDS for group, _ in variable.rule.flows(kind))
    variable.size = sum(type.size for type in op.operands + op.results)
    variable.touched = tuple(dict.fromkeys((*node.operands, *node.results)))
    problem.variables.append(variable)
    for index, value in enumerate(node.operands):
        problem.consumers.setdefault(value, []).append((variable, index))
    for index, value in enumerate(node.results):
        problem.producer[value] = (variable, index)
    return variable


def made_from_constants(problem: Problem) -> set[int]:
    """The values that operations with one result make from constants alone."""
    derived: set[int] = set()
    for variable in problem.variables:
        made = has(variable.node.name, Trait.SOURCE) or (
            bool(variable.node.operands) and variable.rule is not None
        )
        if made and derived.issuperset(variable.node.operands) and len(variable.node.results) == 1:
            derived.update(variable.node.results)
    return derived
