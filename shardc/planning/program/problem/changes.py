"""How a collective that the program itself spells out runs: from the layout that it says, to the one it says.

    %1 = sdy.all_reduce {"x"} %0 out_sharding=<@pod, [{}]> : tensor<8xf32>     // %0 is needed partial over x

The planner brings the operand there: a product contracted over x is made so, and is summed once.
"""

from __future__ import annotations

from typing import cast

from msgspec.structs import replace

from shardc.diagnostics import ShardcError
from shardc.forms.choice import Choice
from shardc.graph import Node
from shardc.layout import LayoutError, Sharding
from shardc.layout.difference import pieces, subtract
from shardc.ops import op_of
from shardc.ops.change_origins import origin
from shardc.ops.registry import rule_of
from shardc.planning.meshes import titled
from shardc.planning.program.problem.problem import Problem


def change(problem: Problem, node: Node) -> Choice:
    """The only choice of a collective of the global program. ShardcError if nothing can be its operand."""
    target = cast(Sharding, node.attrs["out_sharding"]).layout()
    try:
        source = origin(node.name, {**node.attrs, "out_sharding": target}, _kind(problem, node))
        if source is None:
            return Choice((_permuted(problem, node, target),), (target,))
    except LayoutError as error:
        raise ShardcError(f"{node.name}: {error}", node.loc) from None
    copies = problem.copies_summed.get(node.id, ())
    return Choice((replace(source, unreduced=subtract(source.unreduced, copies)),), (target,))


def _kind(problem: Problem, node: Node) -> str:
    """How the operand's partial results combine: as is said, else as its operation would have it."""
    if "reduction_op" in node.attrs:
        return str(node.attrs["reduction_op"])
    (operand,) = node.operands
    known = problem.layout(operand)
    made = problem.producer.get(operand)
    if known.unreduced or made is None:
        return known.kind
    rule = rule_of(op_of(problem.graph, made[0].node))
    return (rule.reduction if rule else None) or "sum"


def _permuted(problem: Problem, node: Node, target: Sharding) -> Sharding:
    """The operand's layout, whose blocks change places; LayoutError if they are not of the target's shape."""
    (operand,) = node.operands
    made = problem.producer.get(operand)
    settled = made is None or made[0].fixed
    source = problem.given(operand) if settled else problem.layout(operand)
    if source.mesh != target.mesh:
        raise LayoutError(
            f"its operand is on {titled(source.mesh)}, its result on {titled(target.mesh)}; "
            "a compiled program runs on one"
        )
    parts = [[dim.parts for dim in sharding.dims] for sharding in (source, target)]
    if parts[0] != parts[1] or source.unreduced != target.unreduced:
        raise LayoutError(f"the blocks of {source} are not those of {target} in other places")
    pieces(target.mesh, (*source.axes(), *target.axes()))
    return source
