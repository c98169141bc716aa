"""share-collectives: per-device code -> the same without collectives that repeat or complete an earlier one.

    %0 = "spmd.all_reduce"(%a) {axes = ["x"], kind = "max", shardc.reason = "…"}
    %1 = stablehlo.exponential %0
    %2 = "spmd.all_reduce"(%b) {axes = ["x"], kind = "max", shardc.reason = "…"}    // %b is made as %a is

becomes

    %0 = "spmd.all_reduce"(%a) {axes = ["x"], kind = "max", shardc.reason = "…"}
    %1 = stablehlo.exponential %0                                                   // and %2 is %0

Two softmaxes of one tensor need its maximum once. What only the second collective used goes with it.

    %0 = "spmd.collective_permute"(%a) {axes = ["x"], pairs = dense<[[0, 1]]>, shardc.masked = true}
    %1 = "spmd.collective_permute"(%a) {axes = ["x"], pairs = dense<[[1, 0]]>, shardc.masked = true}

becomes

    %0 = "spmd.collective_permute"(%a) {axes = ["x"], pairs = dense<[[0, 1], [1, 0]]>, shardc.masked = true}

and is %1 too: `shardc.masked` (forms/exchange.py) says that nobody looks at what a device has that nothing is
sent to. Both send at once what took two turns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.transforms.dead_code_elimination import region_dce

from shardc.dialects.convert import python_of
from shardc.dialects.dense import pairs_attr
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.stablehlo.control_flow import Fresh
from shardc.forms.exchange import MASKED
from shardc.ops import Trait, has
from shardc.passes.graph_pass import GraphPass
from shardc.rewrite.alike import Alike

REASON = "shardc.reason"


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


def _pairs(op: Operation) -> list[tuple[int, int]]:
    """Who sends to whom."""
    return [*cast("tuple[tuple[int, int], ...]", python_of(op.attributes["pairs"]))]


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
    masked: dict[Hashable, list[Operation]] = field(default_factory=dict[Hashable, "list[Operation]"])

    def block(self, block: Block) -> bool:
        """Share what the block repeats; whether it repeated anything."""
        shared = False
        for op in list(block.ops):
            for inner in (inner for region in op.regions for inner in region.blocks if op in self.around):
                known = dict(self.numbers), dict(self.made)
                shared |= _Sharer(self.around, self.holders, self.alike, *known).block(inner)
            if op in self.around and self.holders[op.name] == 1:
                continue  # nothing is like it, and its key would be as long as its body
            first = self._completed(op) or self.made.setdefault(self.alike.key(op, self.number), op)
            for result, other in zip(op.results, first.results, strict=True):
                self.numbers[result] = self.number(other)
            if first is not op and has(op.name, Trait.COLLECTIVE):
                Rewriter.replace_op(op, [], list(first.results))
                shared = True
        return shared

    def _completed(self, op: Operation) -> Operation | None:
        """The masked permute that sends for this one too, or itself; None if it is not masked."""
        if MASKED not in op.attributes:
            return None
        key = (op.name, self.number(op.operands[0]), op.attributes["axes"])
        for first in self.masked.setdefault(key, []):
            both = dict(_pairs(first)) | dict(_pairs(op))
            if both.items() == {*_pairs(first), *_pairs(op)} and len({*both.values()}) == len(both):
                if first is not op and len(both) > len(_pairs(first)):
                    first.attributes["pairs"] = pairs_attr(tuple(sorted(both.items())))
                    reasons = (cast(StringAttr, each.attributes[REASON]).data for each in (first, op))
                    first.attributes[REASON] = StringAttr("; ".join(reasons))
                return first
        self.masked[key].append(op)
        return op

    def number(self, value: SSAValue) -> Hashable:
        return self.numbers.setdefault(value, value)
