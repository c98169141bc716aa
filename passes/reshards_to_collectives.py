"""reshards-to-collectives: each reshard -> the cheapest sequence of collectives.

    %1 = sdy.reshard %0 <[{}, {"model"}]> : tensor<32x64xf32>      // %0 is [{}, {}] unreduced={model}

becomes

    %1 = sdy.reduce_scatter [{}, {"model"}] %0 out_sharding=<[{}, {"model"}]> : tensor<32x64xf32>

The sequence is planned by planning/reshard.py. Types stay global; each step states the sharding it leaves.
With `memory-limit` no step takes more bytes on a device, operand and result together; where nothing fits:

    prog.shard:3:10: error: changing a from [x] to [y] takes 24 bytes on a device, and 23 are allowed
    note: allow 24 (--memory-limit), or annotate what a is used for so that it stays split
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from shardc.dialects.build import IRBuilder
from shardc.dialects.snapshot import snapshot
from shardc.explain.diagnostics import ShardcError
from shardc.graph import Location, Node, walk
from shardc.graph.manual import NONE, manual_axes
from shardc.graph.stated import stated
from shardc.layout import Sharding, replicated
from shardc.planning.reshard import Plan, TooLittleMemory, least_memory, program_plan


@dataclass(frozen=True)
class ReshardsToCollectives(ModulePass):
    """Plan and expand every sdy.reshard, with no more than `memory_limit` bytes on a device if given."""

    name = "reshards-to-collectives"
    memory_limit: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        snap = snapshot(op)
        shardings, manual, builder = stated(snap.graph), manual_axes(snap.graph), IRBuilder(op)
        for function in snap.graph.functions.values():
            for node in walk(function.body):
                if node.name == "sdy.reshard":
                    target = cast(Sharding, node.attrs["sharding"]).layout()
                    type = snap.graph.type(node.operands[0])
                    known = shardings.get(node.operands[0])
                    source = known.layout() if known else replicated(target.mesh, type.rank)
                    value = node.operands[0]
                    try:
                        way = program_plan(type, source, target, manual.get(value, NONE), self.memory_limit)
                    except TooLittleMemory:
                        least = least_memory(type, source, target, manual.get(value, NONE))
                        raise self._error(node, snap.graph.values[value].loc, source, least) from None
                    _expand(builder, node, snap.ops[node.id], way, source)

    def _error(self, node: Node, loc: Location, source: Sharding, least: int) -> ShardcError:
        what = loc.name or "a tensor"
        target = cast(Sharding, node.attrs["sharding"]).layout()
        return ShardcError(
            f"changing {what} from {source} to {target} takes {least} bytes on a device, "
            f"and {self.memory_limit} are allowed",
            node.loc,
            f"allow {least} (--memory-limit), or annotate what {what} is used for so that it stays split",
        )


def _expand(builder: IRBuilder, node: Node, op: Operation, way: Plan, source: Sharding) -> None:
    """Put the steps of a plan in the place of a reshard, with its location and its notes."""
    made = op.operands[0]
    notes = {key: value for key, value in node.attrs.items() if key.startswith("shardc.")}
    builder.before(op)
    with builder.at(node.loc), builder.tagged(notes):
        for step in way.steps:
            attrs: Mapping[str, Any] = step.attributes(source)
            made = builder.one(f"sdy.{step.kind}", made, out_sharding=step.result, **attrs)
            source = step.result
    Rewriter.replace_op(op, [], [made])
