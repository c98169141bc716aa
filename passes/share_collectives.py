"""share-collectives: per-device code -> the same without collectives that repeat an earlier one.

    %0 = "spmd.all_reduce"(%a) {axes = ["x"], kind = "max", shardc.reason = "…"}
    %1 = stablehlo.exponential %0
    %2 = "spmd.all_reduce"(%b) {axes = ["x"], kind = "max", shardc.reason = "…"}    // %b is made as %a is

becomes

    %0 = "spmd.all_reduce"(%a) {axes = ["x"], kind = "max", shardc.reason = "…"}
    %1 = stablehlo.exponential %0                                                   // and %2 is %0

Two softmaxes of one tensor need its maximum once. What only the second collective used goes with it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.transforms.dead_code_elimination import region_dce

from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.stablehlo.control_flow import Fresh
from shardc.ops import Trait, has
from shardc.passes.graph_pass import GraphPass


@dataclass(frozen=True)
class ShareCollectives(GraphPass):
    """Drop collectives that repeat an earlier one in the same block or around it."""

    name = "share-collectives"

    def rewrite(self, shared: SharedGraph) -> bool:
        body = shared.module.body
        changed = any([_Sharer().block(f.body.block) for f in body.block.ops if isinstance(f, FuncOp)])
        if changed:
            region_dce(body)
        return changed


@dataclass
class _Sharer:
    """Equal values have equal numbers: value numbering, blind to shardc's notes."""

    numbers: dict[SSAValue, Hashable] = field(default_factory=dict[SSAValue, Hashable])
    made: dict[Hashable, Operation] = field(default_factory=dict[Hashable, Operation])

    def block(self, block: Block) -> bool:
        """Share what the block repeats; whether it repeated anything."""
        shared = False
        for op in list(block.ops):
            for region in op.regions:
                for inner in region.blocks:
                    shared |= _Sharer(dict(self.numbers), dict(self.made)).block(inner)
            key = self.key(op, {})
            first = self.made.setdefault(key, op)
            for result, other in zip(op.results, first.results, strict=True):
                self.numbers[result] = self.number(other)
            if first is not op and has(op.name, Trait.COLLECTIVE):
                Rewriter.replace_op(op, [], list(first.results))
                shared = True
        return shared

    def number(self, value: SSAValue) -> Hashable:
        return self.numbers.setdefault(value, value)

    def key(self, op: Operation, inside: dict[SSAValue, Hashable]) -> Hashable:
        """Equal for operations that compute the same. `inside` numbers what the regions around it make."""
        return (
            op if op.has_trait(Fresh) else op.name,
            tuple(inside[v] if v in inside else self.number(v) for v in op.operands),
            tuple(op.result_types),
            frozenset(op.properties.items()),
            frozenset((key, attr) for key, attr in op.attributes.items() if not key.startswith("shardc.")),
            tuple(self._region(region, inside) for region in op.regions),
        )

    def _region(self, region: Region, inside: dict[SSAValue, Hashable]) -> Hashable:
        inside = dict(inside)
        keys: list[Hashable] = []
        for block in region.blocks:
            for value in block.args:
                inside[value] = ("inside", len(inside))
            keys.append(tuple(block.arg_types))
            for op in block.ops:
                keys.append(self.key(op, inside))
                for result in op.results:
                    inside[result] = ("inside", len(inside))
        return tuple(keys)
