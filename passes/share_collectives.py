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

from collections import Counter
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
from shardc.rewrite.alike import Alike


class ShareCollectives(GraphPass):
    """Drop collectives that repeat an earlier one in the same block or around it."""

    name = "share-collectives"

    def rewrite(self, shared: SharedGraph) -> bool:
        body = shared.module.body
        around = _around(body)
        functions = [op for op in body.block.ops if isinstance(op, FuncOp) and op in around]
        holders = Counter(op.name for op in around)
        changed = any([_Sharer(around, holders).block(function.body.block) for function in functions])
        if changed:
            region_dce(body)
        return changed


def _around(region: Region) -> set[Operation]:
    """The operations that have a collective inside."""
    found: set[Operation] = set()
    for op in region.walk():
        holder = op.parent_op() if has(op.name, Trait.COLLECTIVE) else None
        while holder is not None and holder not in found:
            found.add(holder)
            holder = holder.parent_op()
    return found


def _identity(op: Operation) -> Hashable:
    return op if op.has_trait(Fresh) else op.name


def _alike() -> Alike:
    return Alike(ignored=lambda name: name.startswith("shardc."), named=_identity)


@dataclass
class _Sharer:
    """Equal values have equal numbers: value numbering, blind to shardc's notes.

    `around` are the operations with collectives inside; `holders` says how many of them have a name.
    """

    around: set[Operation]
    holders: Counter[str]
    alike: Alike = field(default_factory=_alike)
    numbers: dict[SSAValue, Hashable] = field(default_factory=dict[SSAValue, Hashable])
    made: dict[Hashable, Operation] = field(default_factory=dict[Hashable, Operation])

    def block(self, block: Block) -> bool:
        """Share what the block repeats; whether it repeated anything."""
        shared = False
        for op in list(block.ops):
            for inner in (inner for region in op.regions for inner in region.blocks if op in self.around):
                known = dict(self.numbers), dict(self.made)
                shared |= _Sharer(self.around, self.holders, self.alike, *known).block(inner)
            if op in self.around and self.holders[op.name] == 1:
                continue  # nothing is like it, and its key would be as long as its body
            first = self.made.setdefault(self.alike.key(op, self.number), op)
            for result, other in zip(op.results, first.results, strict=True):
                self.numbers[result] = self.number(other)
            if first is not op and has(op.name, Trait.COLLECTIVE):
                Rewriter.replace_op(op, [], list(first.results))
                shared = True
        return shared

    def number(self, value: SSAValue) -> Hashable:
        return self.numbers.setdefault(value, value)
