"""One collective and the products beside it -> a loop of products around a ring, for the pass overlap.

The loop of forms/overlap.py stands where the first of the products stood; what the others need is moved
before it. Names, reasons, places and calls of the source are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, OpResult, SSAValue

from shardc.dialects.build import IRBuilder
from shardc.dialects.convert import attribute_of
from shardc.dialects.locations import locate
from shardc.dialects.snapshot import Snapshot
from shardc.forms.overlap import Cut, Product, RingTransfer, gathered, scattered
from shardc.forms.ring import Ring
from shardc.graph import LETTERS, Node, walk
from shardc.graph.marks import CALL, GLOBAL, PARTIAL_KIND, PARTIAL_OVER, REASON
from shardc.graph.program import own_attrs
from shardc.graph.types import UNKNOWN, TensorType, is_narrow
from shardc.layout import Mesh, axis_named, text_of
from shardc.ops import hlo
from shardc.planning.overlap.candidates import BlockOp, Candidate, Unsuitable, axes_of

RELAYOUTS = (hlo.reshape.name, hlo.transpose.name)
"""Done once, before a block goes around."""


class RingRewriter:
    """Rewrites the operations of `snap`, whose axes are those of `mesh`."""

    def __init__(self, snap: Snapshot, mesh: Mesh, unroll: int) -> None:
        self.graph, self.ops, self.mesh, self.unroll = snap.graph, snap.ops, mesh, unroll
        self.builder = IRBuilder(snap.module)
        nodes = [node for function in snap.graph.functions.values() for node in walk(function.body)]
        self.arguments = {arg for node in nodes for region in node.regions for arg in region.args}
        self.loc = UNKNOWN

    def rewrite(self, candidate: Candidate) -> None:
        """Unsuitable, and nothing changed, where one of the products needs another."""
        first = self._start(candidate)
        block = first.parent_block()
        assert block is not None
        self.loc = candidate.products[0].node.loc
        with (
            self.builder.inside(block, first),
            self.builder.at(self.loc.named(None)),
            self.builder.tagged(self._call(candidate)),
        ):
            if candidate.is_gather:
                self._gather(candidate)
            else:
                self._scatter(candidate)
        self._erase(candidate)

    # ---- where

    def _start(self, candidate: Candidate) -> Operation:
        """The first of the operations, with everything that others need before it; a scatter where it is."""
        if not candidate.is_gather:
            return self.ops[candidate.node.id]
        steps = [self.ops[step.node.id] for step in candidate.steps]
        block = steps[0].parent_block()
        assert block is not None
        order = {op: number for number, op in enumerate(block.ops)}
        first = min(steps, key=order.__getitem__)
        later = {op for op in order if order[op] >= order[first]}
        needed = self._needed(candidate, steps, later)
        if any(op in steps for op in needed):
            raise Unsuitable("one of its products needs the result of another")
        for op in sorted(needed, key=order.__getitem__):
            op.detach()
            block.insert_op_before(op, first)
        return first

    def _needed(
        self, candidate: Candidate, steps: Sequence[Operation], later: set[Operation]
    ) -> set[Operation]:
        """Those of the `later` operations whose results the steps need, but for what goes between steps."""
        source = self.ops[(candidate.layer or candidate.node).id]
        passed = [step.node for step in candidate.steps if not step.is_product]
        inside = {*source.results, *(value for node in passed for value in self.ops[node.id].results)}
        pending = [value for op in steps for value in op.operands if value not in inside]
        block, needed = steps[0].parent_block(), set[Operation]()
        while pending:
            owner = pending.pop().owner
            while isinstance(owner, Operation) and owner.parent_block() is not block:
                owner = owner.parent_op()
            if owner in later and owner not in needed:
                assert isinstance(owner, Operation)
                needed.add(owner)
                pending += [value for op in owner.walk() for value in op.operands]
        return needed

    def _call(self, candidate: Candidate) -> dict[str, object]:
        """The call that all of it came from."""
        nodes = [candidate.node, *(step.node for step in candidate.steps)]
        paths = [str(node.attrs.get(CALL, "")).split("/") for node in nodes]
        common = [steps[0] for steps in zip(*paths, strict=False) if len(set(steps)) == 1]
        return {CALL: "/".join(common)} if any(common) else {}

    # ---- what

    def _gather(self, candidate: Candidate) -> None:
        node, value = candidate.node, (candidate.layer or candidate.node).results[0]
        block, dim, steps = self._block(candidate), candidate.dim, candidate.steps
        ring = self._ring(node)
        while steps[0].node.name in RELAYOUTS and not _used(value, steps[1:]):
            size = self.builder.type_of(block).shape[dim]
            block = self._made(steps[0], [block], size, ring)
            value, dim, steps = steps[0].node.results[0], cast(int, steps[0].result), steps[1:]
        size = self.builder.type_of(block).shape[dim]
        name = self._word(value) or self._word(node.operands[0])
        if name and block not in self.ops[node.id].operands:
            self._label(block, name)
        what = name or "the operand"
        reason = f"{what} goes around {{}} while it is multiplied, in place of an all-gather"
        transfer = self._transfer(ring, node, name or "block", reason, f"the next block of {what}")

        def multiply(block: SSAValue, position: SSAValue) -> list[SSAValue]:
            made = self._replay(ring, steps, {value: block}, position, size)
            return [made[step.node.results[0]] for step in candidate.products]

        products = [self._product(step, size) for step in candidate.products]
        results = gathered(block, products, multiply, transfer)
        for step, result in zip(candidate.products, results, strict=True):
            self._replace(step.node, result)

    def _block(self, candidate: Candidate) -> SSAValue:
        """The device's own block, of the layer if there is one."""
        (block,) = self.ops[candidate.node.id].operands
        if candidate.layer is None:
            return block
        places = self.ops[candidate.layer.id].operands[1:]
        sizes = (1, *self.builder.type_of(block).shape[1:])
        return self.builder.one(hlo.dynamic_slice.name, block, *places, slice_sizes=sizes)

    def _product(self, step: BlockOp, size: int) -> Product:
        name = self._name(step.node.results[0]) or "product"
        return Product(self._type(step, None), None if step.result is None else Cut(step.result, size), name)

    def _scatter(self, candidate: Candidate) -> None:
        node, (value,) = candidate.node, candidate.node.operands
        name = self._word(node.results[0]) or self._word(value)
        size = self.graph.type(node.results[0]).shape[candidate.dim]
        what = f"sums for {name}" if name else "sums"
        reason = f"{what} go around {{}} as they are made, in place of a reduce-scatter"
        transfer = self._transfer(self._ring(node), node, name or "total", reason, what)
        for term in candidate.terms:
            self._unmark(term, transfer.ring)

        def part(position: SSAValue) -> SSAValue:
            return self._replay(transfer.ring, candidate.steps, {}, position, size)[value]

        self._replace(node, scattered(part, transfer))

    def _ring(self, node: Node) -> Ring:
        return Ring(self.builder, axes_of(node), self.unroll, self._label)

    def _transfer(self, ring: Ring, node: Node, name: str, reason: str, next: str) -> RingTransfer:
        held = f": {node.attrs[REASON]}" if REASON in node.attrs else ""
        said = reason.format(", ".join(text_of(axis, self.mesh) for axis in ring.axes)) + held
        return RingTransfer(ring, name, said, next)

    def _replay(
        self, ring: Ring, steps: Sequence[BlockOp], made: dict[int, SSAValue], position: SSAValue, size: int
    ) -> dict[int, SSAValue]:
        """What the steps make of the blocks of a position, of `size` elements; `made` is there already."""
        made = dict(made)
        for step in steps:
            operands = [
                made[value]
                if value in made
                else held
                if dim is None
                else Cut(dim, size).take(ring, held, position)
                for value, held, dim in zip(
                    step.node.operands, self.ops[step.node.id].operands, step.operands, strict=True
                )
            ]
            made[step.node.results[0]] = self._made(step, operands, size, ring)
        return made

    def _made(self, step: BlockOp, operands: Sequence[SSAValue], size: int, ring: Ring) -> SSAValue:
        """A step's operation on blocks."""
        letters = {LETTERS: step.node.attrs[LETTERS]} if LETTERS in step.node.attrs else {}
        attrs = {**own_attrs(step.node), **letters, **self._partial(step.node, ring)}
        return self.builder.one(step.node.name, *operands, result=self._type(step, size), **attrs)

    def _type(self, step: BlockOp, size: int | None) -> TensorType:
        """Of the result, or of a block of it. Narrow products are added up in f32, as within one product."""
        type = self.graph.type(step.node.results[0])
        if step.result is None and is_narrow(type.dtype):
            type = type.with_dtype("f32")
        shape = (size if size and dim == step.result else n for dim, n in enumerate(type.shape))
        return type.with_shape(tuple(shape))

    def _partial(self, node: Node, ring: Ring) -> dict[str, object]:
        """What an operation's results are partial over, but for the ring's axes."""
        texts = cast("Sequence[str]", node.attrs.get(PARTIAL_OVER, ()))
        axes = [(text, axis_named(text, self.mesh)) for text in texts]
        over = tuple(text for text, axis in axes if not any(axis.overlaps(a) for a in ring.axes))
        kinds = {PARTIAL_KIND: node.attrs[PARTIAL_KIND]} if PARTIAL_KIND in node.attrs else {}
        return {PARTIAL_OVER: over, **kinds} if over else {}

    def _unmark(self, term: Node, ring: Ring) -> None:
        """Let a result be partial over other axes only."""
        op, kept = self.ops[term.id], self._partial(term, ring)
        for key in (PARTIAL_OVER, PARTIAL_KIND):
            op.attributes.pop(key, None)
        op.attributes.update({key: attribute_of(key, value) for key, value in kept.items()})

    # ---- notes

    def _name(self, value: int) -> str | None:
        name = self.graph.values[value].loc.name
        return name if name and name.isidentifier() else None

    def _word(self, value: int) -> str | None:
        """The name that a person gave; JAX calls results after its primitives."""
        loc = self.graph.values[value].loc
        by_person = value in self.arguments or (loc.file or "").endswith(".shard")
        return self._name(value) if by_person else None

    def _label(self, value: Any, name: str, reason: str | None = None) -> None:
        if not isinstance(value, OpResult):
            return
        if SSAValue.is_valid_name(name):
            value.name_hint = name
        locate(value.op, self.loc.named(name))
        if reason:
            value.op.attributes[REASON] = StringAttr(reason)

    def _replace(self, node: Node, result: SSAValue) -> None:
        """Use `result` in place of a node's, in the same dtype."""
        type = self.graph.type(node.results[0])
        if self.builder.type_of(result) != type:
            result = self.builder.one(hlo.convert.name, result, result=type)
        name = self._name(node.results[0])
        if name:
            self._label(result, name)
        if isinstance(result, OpResult) and GLOBAL in node.attrs:
            result.op.attributes[GLOBAL] = attribute_of(GLOBAL, node.attrs[GLOBAL])
        self.ops[node.id].results[0].replace_all_uses_with(result)

    def _erase(self, candidate: Candidate) -> None:
        """Drop what has been replaced, from the end."""
        nodes = [candidate.node, *(step.node for step in candidate.steps)]
        nodes += [candidate.layer] if candidate.layer else []
        for node in sorted(nodes, key=lambda node: -node.id):
            op = self.ops[node.id]
            op.detach()
            op.erase()


def _used(value: int, steps: Sequence[BlockOp]) -> bool:
    return any(value in step.node.operands for step in steps)
