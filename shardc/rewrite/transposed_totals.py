"""What is sent of a product and then transposed -> sent of the transposed product, which is one product.

%1 = stablehlo.dot_general %g, %x                    ->    %1 = stablehlo.dot_general %g, %x
%2 = spmd.all_reduce %1                                    %2 = stablehlo.transpose %1, dims = [1, 0]
%3 = stablehlo.transpose %2, dims = [1, 0]                 %3 = spmd.all_reduce %2

The gradient of a weight is computed so in every backward pass of JAX's. Collectives along dimensions go along
others then:

%2 = spmd.all_to_all %1, 0 -> 1                      ->    %2 = stablehlo.transpose %1, dims = [1, 0]
%3 = stablehlo.transpose %2, dims = [1, 0]                 %3 = spmd.all_to_all %2, 1 -> 0
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from shardc.dialects.convert import python_of
from shardc.dialects.locations import locate, location_of
from shardc.dialects.makers import made_by, owner
from shardc.dialects.types import attr_of_type, type_of
from shardc.graph.marks import GLOBAL
from shardc.ops import hlo, spmd

_ALONG: dict[str, tuple[str, ...]] = {
    spmd.all_reduce.name: (),
    spmd.all_gather.name: ("dim",),
    spmd.reduce_scatter.name: ("dim",),
    spmd.all_to_all.name: ("split_dim", "concat_dim"),
}
"""The collectives that may go along other dimensions, with the attributes that say along which they go."""


def total_of_transposed(op: Operation) -> SSAValue | None:
    """What is sent, in the place of what was before; None where a transposition is of something else."""
    if op.name != hlo.transpose.name:
        return None
    sent = _only(op.operands[0], *_ALONG)
    product = None if sent is None else _only(sent.operands[0], hlo.dot_general.name)
    block = op.parent_block()
    if sent is None or product is None or block is None or sent.parent_block() is not block:
        return None
    permutation = op.properties.get("permutation") or op.attributes["permutation"]
    order = cast("tuple[int, ...]", python_of(permutation))
    type = type_of(product.results[0].type)
    moved = op.clone()
    moved.operands[0] = product.results[0]
    turned = attr_of_type(type.with_shape(tuple(type.shape[dim] for dim in order)))
    Rewriter.replace_value_with_new_type(moved.results[0], turned)
    moved.attributes.pop(GLOBAL, None)
    locate(moved, location_of(op.location).named(None))
    made = sent.clone()
    made.operands[0] = moved.results[0]
    for key in _ALONG[sent.name]:
        dim = cast("IntegerAttr[Any]", made.attributes[key])
        made.attributes[key] = IntegerAttr(order.index(dim.value.data), dim.type)
    Rewriter.replace_value_with_new_type(made.results[0], op.results[0].type)
    if GLOBAL in op.attributes:
        made.attributes[GLOBAL] = op.attributes[GLOBAL]
    locate(made, location_of(op.location))
    for new in (moved, made):
        block.insert_op_before(new, sent)
    return made.results[0]


def _only(value: SSAValue, *names: str) -> Operation | None:
    """The operation of one of these names that makes a value, if that has one use."""
    return owner(value) if made_by(value, *names) and value.has_one_use() else None
