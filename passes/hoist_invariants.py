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

Of values that are always equal, one is left (rewrite/equal_carried.py): the number of the turn that JAX's
scan counts and the one that fori_loop carries; a stack of results and the same one that is saved for the
backward pass.

JAX's scan carries everything that its body reads. XLA does the same with such loops, but it forgets to drop
their shardings, so a module with shardings on its loops must not have them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.dialects.sdy_attributes import ShardingPerValueAttr
from shardc.dialects.shardings import SHARDING
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.stablehlo.control_flow import WhileOp
from shardc.passes.graph_pass import GraphPass
from shardc.rewrite.equal_carried import equal_carried


class HoistInvariants(GraphPass):
    """Take invariant values out of every loop, outer loops first."""

    name = "hoist-invariants"

    def rewrite(self, shared: SharedGraph) -> bool:
        loops = [op for op in shared.ops() if type(op) is WhileOp]
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
    equal = {i: first for i, first in equal_carried(loop, _kinds(loop)).items() if i not in invariant}
    for index, first in equal.items():
        for values in (loop.results, cond.args, body.args):
            one = loop.operands[first] if first in invariant else values[first]
            if first not in invariant:
                one.name_hint = _named(one, values[index])
            values[index].replace_all_uses_with(one)
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


def _kinds(loop: WhileOp) -> Sequence[Hashable]:
    """The shardings that are stated of what a loop carries."""
    shardings = loop.attributes.get(SHARDING)
    if isinstance(shardings, ShardingPerValueAttr):
        return shardings.data
    return [None] * len(loop.operands)


def _named(first: SSAValue, other: SSAValue) -> str | None:
    """The name of two values that are one: that of the later, which a user's function carries inside of JAX's
    own, but not of what is only saved.
    """
    name = other.name_hint
    return first.name_hint if name is None or (name.startswith("saved_") and first.name_hint) else name


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
