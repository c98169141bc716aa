"""hoist-invariants: what a loop carries and never changes -> a value from outside the loop.

    %0:2 = stablehlo.while(%w = %arg0, %h = %x) … do {
      %1 = stablehlo.dot_general %h, %w, …
      stablehlo.return %w, %1
    }
    return %0#1, %0#0

becomes

    %0 = stablehlo.while(%h = %x) … do {
      %1 = stablehlo.dot_general %h, %arg0, …
      stablehlo.return %1
    }
    return %0, %arg0

Of values that begin and step alike, as the number of the turn that JAX's scan counts and the one that
fori_loop carries, one is left.

JAX's scan carries everything that its body reads. XLA does the same with such loops, but it forgets to drop
their shardings, so a module with shardings on its loops must not have them.
"""

from __future__ import annotations

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.dialects.sdy_attributes import ShardingPerValueAttr
from shardc.dialects.shardings import SHARDING
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.stablehlo.control_flow import WhileOp
from shardc.ops import hlo
from shardc.passes.graph_pass import GraphPass


class HoistInvariants(GraphPass):
    """Take invariant values out of every loop, outer loops first."""

    name = "hoist-invariants"

    def rewrite(self, shared: SharedGraph) -> bool:
        loops = [op for op in shared.snapshot().ops if isinstance(op, WhileOp)]
        return any([_hoist(loop) for loop in loops])


def _hoist(loop: WhileOp) -> bool:
    """Whether the loop had invariant values, or equal ones."""
    cond, body = (region.block for region in loop.regions)
    end = body.last_op
    assert end is not None
    invariant = [i for i, value in enumerate(end.operands) if value is body.args[i]]
    for index in invariant:
        outer = loop.operands[index]
        for value in (loop.results[index], cond.args[index], body.args[index]):
            value.replace_all_uses_with(outer)
    equal = _equal(loop, end)
    for index, first in equal.items():
        for values in (loop.results, cond.args, body.args):
            values[first].name_hint = values[index].name_hint or values[first].name_hint
            values[index].replace_all_uses_with(values[first])
    gone = sorted([*invariant, *equal])
    if not gone:
        return False
    kept = [i for i in range(len(loop.operands)) if i not in gone]
    end.operands = [end.operands[i] for i in kept]
    for block in (cond, body):
        for index in reversed(gone):
            block.erase_arg(block.args[index])
    _replace(loop, kept)
    return True


def _equal(loop: WhileOp, end: Operation) -> dict[int, int]:
    """Values that begin with the same constant, to which each turn adds the same: index -> the first such."""
    found: dict[int, int] = {}
    firsts: dict[tuple[Attribute, Attribute], int] = {}
    for index, start in enumerate(loop.operands):
        first, step = _constant(start), _step(end.operands[index], loop.regions[1].block.args[index])
        if first is not None and step is not None:
            known = firsts.setdefault((first, step), index)
            if known != index:
                found[index] = known
    return found


def _step(value: SSAValue, before: SSAValue) -> Attribute | None:
    """The constant that is added to what a loop carries; None if it becomes anything else."""
    if not isinstance(value.owner, Operation) or value.owner.name != hlo.add.name:
        return None
    others = [operand for operand in value.owner.operands if operand is not before]
    return _constant(others[0]) if len(others) == 1 else None


def _constant(value: SSAValue) -> Attribute | None:
    """The number, with its type."""
    owner = value.owner
    if not isinstance(owner, Operation) or owner.name != hlo.constant.name:
        return None
    return owner.properties["value"]


def _replace(loop: WhileOp, kept: list[int]) -> None:
    """Put a loop over the kept values in the place of `loop`, with its regions."""
    attributes = dict(loop.attributes)
    shardings = attributes.get(SHARDING)
    if isinstance(shardings, ShardingPerValueAttr):
        attributes[SHARDING] = ShardingPerValueAttr(tuple(shardings.data[i] for i in kept))
    made: Operation = WhileOp.create(
        operands=[loop.operands[i] for i in kept],
        result_types=[loop.results[i].type for i in kept],
        properties=loop.properties,
        attributes=attributes,
        regions=[loop.detach_region(region) for region in list(loop.regions)],
        location=loop.location,
    )
    Rewriter.insert_op(made, InsertPoint.before(loop))
    for index, result in zip(kept, made.results, strict=True):
        result.name_hint = loop.results[index].name_hint
        loop.results[index].replace_all_uses_with(result)
    Rewriter.erase_op(loop)
