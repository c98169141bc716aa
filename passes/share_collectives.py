"""share-collectives: per-device code -> the same without collectives that repeat or complete an earlier one.

    %0 = "spmd.all_reduce"(%a) {axes = ["x"], kind = "max", shardc.reason = "…"}
    %1 = stablehlo.exponential %0
    %2 = "spmd.all_reduce"(%b) {axes = ["x"], kind = "max", shardc.reason = "…"}    // %b is made as %a is

becomes

    %0 = "spmd.all_reduce"(%a) {axes = ["x"], kind = "max", shardc.reason = "…"}
    %1 = stablehlo.exponential %0                                                   // and %2 is %0

Two softmaxes of one tensor need its maximum once, and so do its maximum and the place of that
(rewrite/same_extremes.py). What only the second collective used goes with it.

    %0 = "spmd.collective_permute"(%a) {axes = ["x"], pairs = dense<[[0, 1]]>, shardc.masked = true}
    %1 = "spmd.collective_permute"(%a) {axes = ["x"], pairs = dense<[[1, 0]]>, shardc.masked = true}

becomes

    %0 = "spmd.collective_permute"(%a) {axes = ["x"], pairs = dense<[[0, 1], [1, 0]]>, shardc.masked = true}

and is %1 too: `shardc.masked` (forms/exchange.py) says that nobody looks at what a device has that nothing is
sent to. Both send at once what took two turns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Hashable, Mapping
from functools import partial
from typing import cast

from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from shardc.dialects.convert import python_of
from shardc.dialects.dense import pairs_attr
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.stablehlo.control_flow import Fresh
from shardc.forms.exchange import MASKED
from shardc.graph.marks import REASON
from shardc.ops import Trait, has, hlo, spmd
from shardc.ops.elementwise.kinds import kind
from shardc.passes.graph_pass import GraphPass
from shardc.rewrite.alike import Alike
from shardc.rewrite.folding.functions import slots_of
from shardc.rewrite.folding.numbers import is_number, rows_of
from shardc.rewrite.folding.places import FOLDED, FUNCTIONS_TOLD_APART, TOLD_APART, Slot, places_of
from shardc.rewrite.same_extremes import take_of_plain
from shardc.rewrite.unused import remove_unused


class ShareCollectives(GraphPass):
    """Drop collectives that repeat an earlier one in the same block or around it."""

    name = "share-collectives"

    def rewrite(self, shared: SharedGraph) -> bool:
        if changed := take_of_plain(shared):
            shared.drop()
        body = shared.module.body
        around = _around(body)
        blocks = [op.body.block for op in body.block.ops if isinstance(op, FuncOp) and op in around]
        holders, rows = Counter(op.name for op in around), _numbers(shared.module)
        folded = FOLDED in shared.module.attributes
        apart = [_Sharer(around, holders, _alike(_apart), False).block(block) for block in blocks if folded]
        own, equal = slots_of(shared.module), list[Operation]()
        alike = _alike(partial(_identity, rows, own))
        shared_pairs = [_Sharer(around, holders, alike, equal=equal).block(block) for block in blocks]
        if folded and shared_pairs != apart:
            shared.module.attributes[TOLD_APART] = UnitAttr()
        if folded and any(kind(op.name) is not None for op in equal):
            shared.module.attributes[FUNCTIONS_TOLD_APART] = UnitAttr()
        if any(shared_pairs):
            remove_unused(body)
        return changed or any(shared_pairs)


def _numbers(module: ModuleOp) -> dict[Slot, Hashable]:
    """For each slot of constants of which folded layers have their own: what is equal for equal ones; None
    where it is one number in all layers."""
    return {slot: tuple(row) if len(set(row)) > 1 else None for slot, row in rows_of(module).items()}


def _around(region: Region) -> set[Operation]:
    """The operations that have a collective inside."""
    found: set[Operation] = set()
    for op in region.walk():
        holder = op.parent_op() if has(op.name, Trait.COLLECTIVE) else None
        while holder is not None and holder not in found:
            found.add(holder)
            holder = holder.parent_op()
    return found


def _apart(op: Operation) -> Hashable:
    """What tells operations apart where no two constants that layers may have for themselves are equal."""
    return op if op.has_trait(Fresh) or is_number(op) else op.name


def _identity(numbers: Mapping[Slot, Hashable], functions: Container[Slot], op: Operation) -> Hashable:
    """What tells operations apart: a number is one in all layers, or that of its layer alone. Of `functions`
    some layer has another."""
    if op.has_trait(Fresh) or (functions and any(slot in functions for slot, _ in places_of(op))):
        return op
    if is_number(op):
        (slot, layer), *_ = places_of(op)
        own = numbers.get(slot)
        return op.name if own is None else (op.name, slot[0], own, layer)
    return op.name


def _is_same(op: Operation) -> bool:
    """Whether an operation broadcasts a tensor to what it is, as JAX does with initial values."""
    if op.name != hlo.broadcast_in_dim.name or op.operands[0].type != op.results[0].type:
        return False
    dims = cast("tuple[int, ...]", python_of(op.properties["broadcast_dimensions"]))
    return dims == tuple(range(len(dims)))


def _pairs(op: Operation) -> list[tuple[int, int]]:
    """Who sends to whom."""
    return [*cast("tuple[tuple[int, int], ...]", python_of(op.attributes["pairs"]))]


def _alike(named: Callable[[Operation], Hashable]) -> Alike:
    return Alike(ignored=lambda name: name.startswith("shardc."), named=named)


class _Sharer(Struct):
    """Equal values have equal numbers: value numbering, blind to shardc's notes.

    `around` are the operations with collectives inside; `holders` says how many of them have a name. Unless
    it `shares`, the block stays as it is. `equal` are the operations that do what an earlier one does.
    """

    around: set[Operation]
    holders: Counter[str]
    alike: Alike
    shares: bool = True
    numbers: dict[SSAValue, Hashable] = {}
    made: dict[Hashable, Operation] = {}
    masked: dict[Hashable, list[Operation]] = {}
    equal: list[Operation] = []

    def block(self, block: Block) -> list[tuple[Operation, Operation]]:
        """Share what the block repeats; each collective that did with the one that it repeated."""
        shared: list[tuple[Operation, Operation]] = []
        for op in list(block.ops):
            for inner in (inner for region in op.regions for inner in region.blocks if op in self.around):
                known = dict(self.numbers), dict(self.made)
                within = _Sharer(self.around, self.holders, self.alike, self.shares, *known, equal=self.equal)
                shared += within.block(inner)
            if op in self.around and self.holders[op.name] == 1:
                continue  # nothing is like it, and its key would be as long as its body
            if op.name == spmd.as_partial.name or _is_same(op):  # which says what its operand is
                self.numbers[op.results[0]] = self.number(op.operands[0])
                continue
            first = self._completed(op) or self.made.setdefault(self.alike.key(op, self.number), op)
            for result, other in zip(op.results, first.results, strict=True):
                self.numbers[result] = self.number(other)
            if first is not op:
                self.equal.append(op)
            if first is not op and has(op.name, Trait.COLLECTIVE):
                shared.append((op, first))
                if self.shares:
                    Rewriter.replace_op(op, [], list(first.results))
        return shared

    def _completed(self, op: Operation) -> Operation | None:
        """The masked permute that sends for this one too, or itself; None if it is not masked."""
        if MASKED not in op.attributes:
            return None
        key = (op.name, self.number(op.operands[0]), op.attributes["axes"])
        for first in self.masked.setdefault(key, []):
            if not self.shares:
                return first
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
