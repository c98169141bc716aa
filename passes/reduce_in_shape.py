"""reduce-in-shape: a reduction of a flattened tensor -> a reduction of the tensor over all its dimensions.

    %0 = stablehlo.reshape %x : (tensor<16x64xf32>) -> tensor<1024xf32>       // %x is [-, x]
    %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [0]

becomes

    %1 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0, 1]

Flattening would collect what is split along any but the first dimension, or exchange it. Numbers of elements,
as argmax without an axis reduces, are made in the tensor's shape. Reductions that depend on the order of the
elements stay.
"""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from shardc.dialects.build import IRBuilder
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.snapshot import Snapshot
from shardc.graph import Dense, Node, TensorType, walk
from shardc.ops import hlo, op_of
from shardc.passes.graph_pass import GraphPass

ORDERLESS = ("sum", "prod", "max", "min", "argmax", "argmin")


class ReduceInShape(GraphPass):
    """Reduce flattened tensors in the shape they had, where they are split."""

    name = "reduce-in-shape"

    def rewrite(self, shared: SharedGraph) -> bool:
        snap, builder = shared.snapshot(), IRBuilder(shared.module)
        changed = False
        nodes = [node for f in snap.graph.functions.values() for node in walk(f.body)]
        producer = {value: node for node in nodes for value in node.results}
        for node in nodes:
            if node.name == hlo.reduce.name and op_of(snap.graph, node).combiner in ORDERLESS:
                changed |= _reduce(snap, builder, producer, node)
        return changed


def _reduce(snap: Snapshot, builder: IRBuilder, producer: dict[int, Node], node: Node) -> bool:
    """Give a reduction of flattened tensors the tensors themselves; False if not all are known."""
    makers = [producer.get(value) for value in node.operands[: len(node.results)]]
    flattened = [m for m in makers if m and m.name == hlo.reshape.name and _splits(snap, m)]
    if not flattened or snap.graph.type(node.operands[0]).rank != 1:
        return False
    shape = snap.graph.type(flattened[0].operands[0]).shape
    if not all(m and (m.name == hlo.iota.name or _shape(snap, m) == shape) for m in makers):
        return False
    op = snap.ops[node.id]
    builder.before(op)
    for index, maker in enumerate(makers):
        assert maker is not None
        with builder.at(maker.loc):
            if maker.name == hlo.iota.name:
                dtype = snap.graph.type(maker.results[0]).dtype
                op.operands[index] = _numbers(builder, TensorType(shape, dtype))
            else:
                op.operands[index] = snap.ssa[maker.operands[0]]
    op.properties["dimensions"] = DenseArrayBase.from_list(i64, list(range(len(shape))))
    for maker in {maker.id: maker for maker in makers if maker}.values():
        if not any(result.uses for result in snap.ops[maker.id].results):
            Rewriter.erase_op(snap.ops[maker.id])
    return True


def _splits(snap: Snapshot, node: Node) -> bool:
    """Whether what is flattened is split along a dimension that is not the first."""
    sharding = snap.graph.values[node.operands[0]].sharding
    return sharding is not None and any(dim.axes for dim in sharding.dims[1:])


def _shape(snap: Snapshot, node: Node) -> tuple[int, ...] | None:
    return snap.graph.type(node.operands[0]).shape if node.name == hlo.reshape.name else None


def _numbers(builder: IRBuilder, type: TensorType) -> SSAValue:
    """The elements' numbers in row-major order."""
    total: SSAValue | None = None
    for dim, size in enumerate(type.shape):
        if size == 1 and total is not None:
            continue
        stride = prod(type.shape[dim + 1 :])
        term = builder.one(hlo.iota.name, result=type, iota_dimension=dim)
        if stride > 1:
            value = Dense(np.asarray(stride).astype(type.numpy), type.shape)
            factor = builder.one(hlo.constant.name, result=type, value=value)
            term = builder.one(hlo.multiply.name, term, factor)
        total = term if total is None else builder.one(hlo.add.name, total, term)
    assert total is not None
    return total
