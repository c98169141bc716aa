"""Not a pass: what `overlap` makes of one collective and the products that it goes on with.

The loop of forms/overlap.py stands where the first of the products stood; what the others need is moved
before it. Names, reasons, places and calls of the source are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, OpResult, SSAValue

from shardc.check.flow import PARTIAL_KIND, PARTIAL_OVER
from shardc.check.state import axis_named
from shardc.dialects.build import IRBuilder
from shardc.dialects.convert import attribute_of
from shardc.dialects.locations import locate
from shardc.dialects.snapshot import Snapshot
from shardc.forms.overlap import Cut, Gathered, Scattered, Traveller, gathered, scattered
from shardc.forms.ring import Ring
from shardc.graph import LETTERS, Node
from shardc.graph.program import own_attrs
from shardc.graph.types import UNKNOWN
from shardc.layout import Axis, Mesh, text_of
from shardc.planning.overlap import Candidate, Gather, Path, Scatter, Unsuitable, axes_of

CALL, GLOBAL, REASON = "shardc.call", "shardc.global", "shardc.reason"


class Rewriter:
    """Rewrites the operations of `snap`, whose axes are those of `mesh`."""

    def __init__(self, snap: Snapshot, mesh: Mesh, unroll: int) -> None:
        self.graph, self.ops, self.mesh, self.unroll = snap.graph, snap.ops, mesh, unroll
        self.builder = IRBuilder(snap.module)
        self.loc = UNKNOWN

    def rewrite(self, candidate: Candidate) -> None:
        """Unsuitable, and nothing changed, where one of the products needs another."""
        first = self._start(candidate)
        block = first.parent_block()
        assert block is not None
        self.loc = candidate.paths[0].product.loc
        with (
            self.builder.inside(block, first),
            self.builder.at(self.loc.named(None)),
            self.builder.tagged(self._call(candidate)),
        ):
            if isinstance(candidate, Gather):
                self._gather(candidate)
            else:
                self._scatter(candidate)
        self._erase(candidate)

    # ---- where

    def _start(self, candidate: Candidate) -> Operation:
        """The first product, with everything that any of them needs before it."""
        products = [self.ops[path.product.id] for path in candidate.paths]
        block = products[0].parent_block()
        assert block is not None
        order = {op: number for number, op in enumerate(block.ops)}
        first = min(products, key=order.__getitem__)
        inside = {self.ops[node.id] for path in candidate.paths for node in path.nodes}
        needed: set[Operation] = set()
        if isinstance(candidate, Gather):
            pending = [self._other(op, side) for op, side in zip(products, candidate.sides, strict=True)]
        else:
            pending = []
        while pending:
            owner = pending.pop().owner
            while isinstance(owner, Operation) and owner.parent_block() is not block:
                owner = owner.parent_op()
            if not isinstance(owner, Operation) or order[owner] < order[first] or owner in needed:
                continue
            if owner in products or owner in inside:
                raise Unsuitable("one of its products needs the result of another")
            needed.add(owner)
            pending += [value for op in owner.walk() for value in op.operands]
        for op in sorted(needed, key=order.__getitem__):
            op.detach()
            block.insert_op_before(op, first)
        return first

    @staticmethod
    def _other(product: Operation, side: int) -> SSAValue:
        return product.operands[1 - side]

    def _call(self, candidate: Candidate) -> dict[str, object]:
        """The call that all of it came from."""
        nodes = [candidate.node, *(path.product for path in candidate.paths)]
        paths = [str(node.attrs.get(CALL, "")).split("/") for node in nodes]
        common = [steps[0] for steps in zip(*paths, strict=False) if len(set(steps)) == 1]
        return {CALL: "/".join(common)} if any(common) else {}

    # ---- what

    def _gather(self, candidate: Gather) -> None:
        node = candidate.node
        op, ring = self.ops[node.id], self._ring(node)
        (block,) = op.operands
        name = self._name(node.operands[0]) or "block"
        axes = self._axes_text(ring.axes)
        reason = f"{name} goes around {axes} while it is multiplied, in place of an all-gather"
        traveller = Traveller(ring, name, self._reason(node, reason), f"the next block of {name}")
        size = self.builder.type_of(block).shape[candidate.paths[0].dims[0]]
        pairs = list(zip(candidate.paths, candidate.sides, strict=True))
        results = gathered(block, [self._gathered(ring, path, side, size) for path, side in pairs], traveller)
        for path, result in zip(candidate.paths, results, strict=True):
            type = self.graph.type(path.product.results[0])
            rounded = self.builder.type_of(result) != type
            self._replace(
                path.product,
                self.builder.one("stablehlo.convert", result, result=type) if rounded else result,
            )

    def _gathered(self, ring: Ring, path: Path, side: int, size: int) -> Gathered:
        """Narrow products are added up in f32, as they are within one product."""
        product, type = self.ops[path.product.id], self.graph.type(path.product.results[0])
        other_dim = path.operands[1 - side]
        if path.result is None and type.dtype in ("bf16", "f16"):
            type = type.with_dtype("f32")

        def multiply(block: SSAValue, other: SSAValue) -> SSAValue:
            for node, dim in zip(path.nodes, path.dims[1:], strict=True):
                block = self._replay(ring, node, [block], dim, size)
            operands = [block, other] if side == 0 else [other, block]
            return self._replay(ring, path.product, operands, path.result, size, type.dtype)

        return Gathered(
            multiply,
            self._other(product, side),
            type,
            None if other_dim is None else Cut(other_dim, size),
            None if path.result is None else Cut(path.result, size),
            self._name(path.product.results[0]) or "product",
        )

    def _scatter(self, candidate: Scatter) -> None:
        node, path = candidate.node, candidate.path
        product, ring = self.ops[path.product.id], self._ring(node)
        name = self._name(node.results[0]) or self._name(path.product.results[0]) or "total"
        axes = self._axes_text(ring.axes)
        reason = f"sums for {name} go around {axes} as they are made, in place of a reduce-scatter"
        traveller = Traveller(ring, name, self._reason(node, reason), f"sums for {name}")
        size = self.graph.type(node.results[0]).shape[path.dims[-1]]

        def multiply(lhs: SSAValue, rhs: SSAValue) -> SSAValue:
            value = self._replay(ring, path.product, [lhs, rhs], path.result, size)
            for step, dim in zip(path.nodes, path.dims[1:], strict=True):
                value = self._replay(ring, step, [value], dim, size)
            return value

        lhs, rhs = product.operands
        cuts = [None if dim is None else Cut(dim, size) for dim in path.operands]
        total = scattered(Scattered(multiply, (lhs, rhs), (cuts[0], cuts[1])), traveller)
        self._replace(node, total)

    def _replay(
        self,
        ring: Ring,
        node: Node,
        operands: Sequence[SSAValue],
        dim: int | None,
        size: int,
        dtype: str | None = None,
    ) -> SSAValue:
        """An operation on a block of `size` elements along a dimension of its result."""
        type = self.graph.type(node.results[0])
        type = type.with_dtype(dtype or type.dtype)
        shape = tuple(size if d == dim else n for d, n in enumerate(type.shape))
        letters = {LETTERS: node.attrs[LETTERS]} if LETTERS in node.attrs else {}
        attrs = {**own_attrs(node), **letters, **self._partial(node, ring)}
        return self.builder.one(node.name, *operands, result=type.with_shape(shape), **attrs)

    def _partial(self, node: Node, ring: Ring) -> dict[str, object]:
        """What an operation's results are partial over, but for the ring's axes."""
        texts = cast("Sequence[str]", node.attrs.get(PARTIAL_OVER, ()))
        axes = [(text, axis_named(text, self.mesh)) for text in texts]
        over = tuple(text for text, axis in axes if not any(axis.overlaps(a) for a in ring.axes))
        kinds = {PARTIAL_KIND: node.attrs[PARTIAL_KIND]} if PARTIAL_KIND in node.attrs else {}
        return {PARTIAL_OVER: over, **kinds} if over else {}

    def _ring(self, node: Node) -> Ring:
        return Ring(self.builder, axes_of(node), self.unroll, self._label)

    def _axes_text(self, axes: Sequence[Axis]) -> str:
        return ", ".join(text_of(axis, self.mesh) for axis in axes)

    # ---- notes

    def _name(self, value: int) -> str | None:
        name = self.graph.values[value].loc.name
        return name if name and name.isidentifier() else None

    def _reason(self, node: Node, text: str) -> str:
        held = node.attrs.get(REASON)
        return f"{text}: {held}" if held else text

    def _label(self, value: Any, name: str, reason: str | None = None) -> None:
        if not isinstance(value, OpResult):
            return
        if SSAValue.is_valid_name(name):
            value.name_hint = name
        locate(value.op, self.loc.named(name))
        if reason:
            value.op.attributes[REASON] = StringAttr(reason)

    def _replace(self, node: Node, result: SSAValue) -> None:
        """Use `result` in place of a node's."""
        old = self.ops[node.id].results[0]
        name = self._name(node.results[0])
        if name:
            self._label(result, name)
        if isinstance(result, OpResult) and GLOBAL in node.attrs:
            result.op.attributes[GLOBAL] = attribute_of(GLOBAL, node.attrs[GLOBAL])
        old.replace_all_uses_with(result)

    def _erase(self, candidate: Candidate) -> None:
        """Drop what has been replaced, from the end."""
        nodes = [candidate.node, *(node for path in candidate.paths for node in (path.product, *path.nodes))]
        for node in sorted({node.id: node for node in nodes}.values(), key=lambda node: -node.id):
            op = self.ops[node.id]
            op.detach()
            op.erase()
